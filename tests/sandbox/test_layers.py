"""Loud degradation: a missing wall is named, the main one is insisted on, and a claimed one must hold."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from test_lifecycle import wait_until_gone

from evoenv.errors import SandboxError, SandboxUnavailable
from evoenv.sandbox import host, launcher, layers
from evoenv.sandbox.host import Sandbox
from evoenv.sandbox.launcher import Zygote
from evoenv.sandbox.layers import CANARIES, Canary, CanaryResult, layer_is_on


def test_the_layers_that_are_on_are_named(sandbox: Sandbox) -> None:
    assert {"seccomp", "rlimits", "no-new-privs", "capabilities"} <= set(sandbox.layers)
    for name, reason in sandbox.missing.items():
        assert reason, f"{name} is missing without a reason"
        assert name not in sandbox.layers


def test_canaries_attack_every_claimed_layer_and_are_stopped(sandbox: Sandbox) -> None:
    attacked = {result.canary.attack for result in sandbox.canaries}
    claimed = {canary.attack for canary in CANARIES if layer_is_on(canary.layer, sandbox.layers)}
    assert attacked == claimed
    assert all(result.held for result in sandbox.canaries)
    assert len(attacked) >= 8


def test_without_seccomp_the_sandbox_refuses(addition: str) -> None:
    with pytest.raises(SandboxUnavailable, match=r"seccomp.*left off on request.*evoenv doctor"):
        Sandbox(without=("seccomp",))


def test_without_seccomp_it_runs_on_an_explicit_flag_and_says_so(
    addition: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        Sandbox(without=("seccomp",), allow_degraded=True) as degraded,
        degraded.open(addition) as worker,
    ):
        assert worker.score([(1, 0, "x")])[0].failure is None
        assert "seccomp" not in degraded.layers
        assert degraded.missing["seccomp"] == "left off on request"
    assert "DEGRADED SANDBOX" in caplog.text


@pytest.mark.parametrize("layer", ["namespaces", "landlock", "uid", "capabilities"])
def test_other_layers_may_be_missing_but_are_named(layer: str, addition: str) -> None:
    if layer == "uid" and os.getuid() != 0:
        pytest.skip("there is no uid to drop: run the tests as root")
    with Sandbox(without=(layer,)) as sandbox, sandbox.open(addition) as worker:
        assert not layer_is_on(layer, sandbox.layers)
        assert sandbox.missing[layer] == "left off on request"
        assert worker.score([(1, 0, "x")])[0].failure is None


@pytest.mark.parametrize(
    ("lost", "left"),
    [
        ("cgroup", "user,pid,net,mnt,ipc"),
        ("mnt", "user,pid,net,ipc"),
        ("pid", "user,net"),
        ("user", "pid,net,mnt,ipc,uts"),
    ],
)
def test_part_of_the_namespaces_is_better_than_none(sandbox: Sandbox, lost: str, left: str, addition: str) -> None:
    if not layer_is_on("namespaces:cgroup", sandbox.layers) or (lost == "user" and os.getuid() != 0):
        pytest.skip("not all namespaces are to be had: run as root, outside a container that forbids them")
    with Sandbox(without=(f"namespaces:{lost}",)) as partial, partial.open(addition) as worker:
        assert f"namespaces:{left}" in partial.layers
        assert any(lost in name for name in partial.missing)
        assert worker.score([(1, 0, "x")])[0].failure is None
        leader = partial._zygotes[False].pid
    assert wait_until_gone(leader) == set()


def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match="Linux only, this is darwin"):
        Sandbox()


def test_a_layer_that_is_claimed_but_does_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # A zygote without Landlock that says it has it: the canary must see through it.
    honest = Zygote.__init__

    def lying(self: Zygote, *arguments: object) -> None:
        honest(self, *arguments)  # type: ignore[arg-type]
        self.layers = (*self.layers, "landlock")

    monkeypatch.setattr(Zygote, "__init__", lying)
    with pytest.raises(SandboxUnavailable, match=r"'landlock' is on but does not hold.*read_root_directory.*listed /"):
        Sandbox(without=("landlock", "namespaces"))


@pytest.mark.parametrize(
    "canary",
    [
        canary
        for canary in CANARIES
        if canary.layer in ("seccomp", "landlock", "rlimits")
        and canary.attack != "read_the_environment"  # a clean exec leaves nothing to read
    ],
)
def test_each_canary_is_live_without_its_layer(canary: Canary) -> None:
    names = ("seccomp", "landlock", "rlimits", "namespaces", "uid", "capabilities")
    zygote = Zygote(1, names)
    try:
        results = layers._attack(zygote, host.Limits(), [canary])
    finally:
        zygote.close()
    if canary.attack == "raise_a_limit" and os.getuid() != 0:
        assert not results[0].held or "not allowed" in results[0].detail
    else:
        assert not results[0].held, results[0].detail


def test_a_canary_whose_worker_fails_counts_as_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = CanaryResult(CANARIES[0], False, "evidence")
    monkeypatch.setattr(host, "run_canaries", lambda *_: [broken])
    with pytest.raises(SandboxUnavailable, match=r"got through \(evidence\)"):
        Sandbox()


def test_an_interpreter_that_cannot_start_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher.sys, "executable", "/nonexistent/python")
    with pytest.raises(SandboxError, match=r"cannot start the sandbox's interpreter '/nonexistent/python'"):
        Sandbox()


def test_a_zygote_that_fails_to_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "runtime.py"
    broken.write_text("raise RuntimeError('broken on purpose')")
    with pytest.raises(SandboxError, match=r"did not start: RuntimeError: broken on purpose"):
        Sandbox(runtime=broken)


def test_namespaces_are_matched_by_name() -> None:
    assert layer_is_on("namespaces:net", ("uid", "namespaces:user,net"))
    assert not layer_is_on("namespaces:pid", ("uid", "namespaces:user,net"))
    assert layer_is_on("seccomp", ("seccomp",))
    assert not layer_is_on("seccomp", ("landlock",))
