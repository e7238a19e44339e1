"""Sandboxes on all nodes of a Ray cluster: the verdicts of the local one, walls checked on each node, lost nodes."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from evoenv.assembly import open_run_sandbox, open_sandbox
from evoenv.config import Config
from evoenv.environment.seeds import seed_sources
from evoenv.errors import ConfigError, SandboxUnavailable
from evoenv.sandbox.host import Sandbox
from evoenv.sandbox.outcomes import Failed, Ok
from evoenv.sandbox.pool import Job, WorkerPool
from evoenv.validation.validate import validate

if TYPE_CHECKING:
    from evoenv.engines.verl.sandboxes import RaySandbox

SPIN = "while True: pass"
SPINNING = """
class Spinning(VerifiableEnvironment):
    prompt_template = "Say {n}."

    def _generate(self, seed, difficulty):
        while seed == 13:
            pass
        return {"n": seed}, seed

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        return y

    def scorer(self, y, z, a):
        return 1.0 if y == str(a) else 0.0
"""


def open_without_filter_on(node_id: str) -> Sandbox:
    """Open a sandbox, on one node without its main wall."""
    import ray

    return Sandbox(without=("seccomp",) if ray.get_runtime_context().get_node_id() == node_id else ())


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Config]:
    from ray_nodes import two_nodes
    from verl_subject import nano_config

    with two_nodes(tmp_path_factory.mktemp("ray")) as nodes:
        yield nano_config(f"engine.ray_address={nodes.address}", "engine.nodes=2", "engine.sandbox_nodes=all")


@pytest.fixture(scope="module")
def both(config: Config) -> Iterator[tuple[RaySandbox, Sandbox]]:
    """The sandbox of two nodes, and one of this process."""
    with open_run_sandbox(config) as remote, open_sandbox(config) as local:
        yield remote, local  # type: ignore[misc]


def verdict(report: Any) -> Any:
    return dataclasses.replace(report, seconds=0.0, cpu_seconds=0.0)


def test_all_nodes_check_their_walls_and_offer_their_cpus(both: tuple[RaySandbox, Sandbox]) -> None:
    remote, local = both
    assert remote.workers == 8, "two nodes of eight CPUs, of which a device keeps four"
    assert remote.layers == local.layers
    assert "seccomp" in " ".join(remote.layers)


def test_a_validation_on_another_node_gives_the_same_verdict(both: tuple[RaySandbox, Sandbox]) -> None:
    remote, local = both
    source = next(iter(seed_sources().values()))
    for text in (source, source.replace("return", "return None #", 1), SPIN):
        work = partial(validate, text)
        assert verdict(remote.near(work)) == verdict(local.near(work))


def test_instances_and_scores_are_those_of_the_local_workers(both: tuple[RaySandbox, Sandbox]) -> None:
    remote, local = both
    sources = list(seed_sources().values())[:3]
    with WorkerPool(remote) as there, WorkerPool(local) as here:
        for source in sources:
            instances = here.instances(source, range(4), 0)
            assert there.instances(source, range(4), 0) == instances
            items = [(seed, 0, answer) for seed in range(4) for answer in ("1", "nonsense", "")]
            assert there.score(source, items) == here.score(source, items)
        jobs = [Job(source, "instances", [[7, 0], [8, 0]]) for source in sources]
        assert there.run(jobs) == here.run(jobs)
        broken = there.instances("class Broken(", [1], 0)
        assert broken == here.instances("class Broken(", [1], 0) == [None]


def test_a_worker_that_dies_on_a_node_is_told_of_and_replaced(both: tuple[RaySandbox, Sandbox]) -> None:
    remote, local = both
    with remote.open(SPINNING) as there, local.open(SPINNING) as here:
        for worker in (there, here):
            first, killed = worker.call("instances", [[1, 0], [13, 0]], cpu_s=0.2)
            assert isinstance(first, Ok)
            assert isinstance(killed, Failed)
            assert killed.kind == "timeout"
            assert killed.message.startswith("call 2 of 2 (instances)")
        assert there.instances([1], 0) == here.instances([1], 0)
        assert there.restarts == here.restarts == 1
        assert there.cpu_s > 0


def answers(actor: Any) -> bool:
    import ray

    try:
        ray.get(actor.__ray_ready__.remote())
    except ray.exceptions.RayActorError:
        return False
    return True


def test_the_work_of_a_lost_node_is_done_on_another(
    both: tuple[RaySandbox, Sandbox], caplog: pytest.LogCaptureFixture
) -> None:
    import ray

    remote, local = both
    source = next(iter(seed_sources().values()))
    with remote.open(source) as there, local.open(source) as here, caplog.at_level(logging.WARNING, "evoenv"):
        node: Any = there._node  # type: ignore[attr-defined]
        ray.kill(node.actor)
        while answers(node.actor):  # the kill is on its way, and a question may overtake it
            pass
        assert there.instances([1, 2], 0) == here.instances([1, 2], 0)
        assert f"node {node.address} is lost" in caplog.text
        assert "done again on another node" in caplog.text
        assert there._node is not node  # type: ignore[attr-defined]
        assert verdict(remote.near(partial(validate, source))) == verdict(local.near(partial(validate, source)))


def test_a_node_whose_walls_do_not_hold_is_refused_by_its_name(config: Config) -> None:
    import ray

    from evoenv.engines.verl.joining import join_ray
    from evoenv.engines.verl.sandboxes import RaySandbox

    joined = join_ray(config)
    try:
        (*_, weak) = (node for node in ray.nodes() if node["Alive"])
        name = rf"node \S+ \({weak['NodeManagerAddress']}\) cannot confine model-written code: .*seccomp"
        with pytest.raises(SandboxUnavailable, match=rf"{name}.*engine\.sandbox_nodes=driver"):
            RaySandbox(config, partial(open_without_filter_on, weak["NodeID"]))
    finally:
        if joined:
            ray.shutdown()


def test_other_engines_know_no_other_nodes() -> None:
    from evoenv.config import load_config

    with pytest.raises(ConfigError, match=r"engine\.name=verl"):
        open_run_sandbox(load_config(overrides=["engine.sandbox_nodes=all"]))
