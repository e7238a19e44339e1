"""What every engine must do when it learns: update, save and load checkpoints, drop them, and outlive a kill."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from conformance_tools import Bench, Subject, agree, ask, batch_of, check, fingerprint, refused

from evoenv.errors import EvoEnvError, PolicyError
from evoenv.objective import Batch

PROGRAM = Path(__file__).with_name("conformance.py")


@check
def what_cannot_learn_says_so(bench: Bench) -> None:
    policy = bench.policy
    if policy.trainable:
        return
    for action in (lambda: policy.update(Batch((), (), {})), policy.save, lambda: policy.load("step-00001")):
        with refused(PolicyError, "cannot"):
            action()
    assert list(policy.saved()) == []


@check
def an_update_gives_finite_metrics_and_counts_even_if_empty(bench: Bench) -> None:
    policy = bench.policy
    if not policy.trainable:
        return
    before = policy.version
    for batch in (batch_of(policy), Batch((), (), {})):
        metrics = policy.update(batch)
        assert metrics
        assert all("/" in name and math.isfinite(value) for name, value in metrics.items())
    assert policy.version == before + 2


@check
def an_update_ends_the_sessions_that_are_under_way(bench: Bench) -> None:
    policy = bench.policy
    if not policy.trainable:
        return
    batch = batch_of(policy)
    with policy.sampling() as session:
        session.submit([ask("short", max_tokens=1), ask("long", count=2, max_tokens=200)])
        session.collect()
        policy.update(batch)
        with refused(PolicyError):
            list(session)
    assert len(list(policy.sample([ask("r")]))) == 1


@check
def a_checkpoint_brings_the_policy_back(bench: Bench) -> None:
    policy = bench.policy
    if not policy.trainable:
        return
    policy.update(batch_of(policy, seed=1))
    reference = policy.save()
    assert policy.save() == reference, "the same version again replaces the checkpoint"
    assert list(policy.saved()).count(reference) == 1
    version, said = policy.version, fingerprint(policy)
    policy.update(batch_of(policy, seed=2))
    other = policy.save()
    assert other != reference
    assert list(policy.saved())[-2:] == [reference, other], "oldest first"
    policy.load(reference)
    assert policy.version == version
    if bench.subject.deterministic:
        assert agree(bench.subject, fingerprint(policy), said)
    policy = bench.reopen()
    assert list(policy.saved())[-2:] == [reference, other]
    policy.load(reference)
    assert policy.version == version
    if bench.subject.deterministic:
        assert agree(bench.subject, fingerprint(policy), said)


@check
def replayed_updates_give_the_same_weights(bench: Bench) -> None:
    policy = bench.policy
    if not (policy.trainable and policy.exact_replay):
        return
    reference = policy.save()
    batches = [batch_of(policy, seed=seed) for seed in (3, 4)]
    outcomes = []
    for _ in range(2):
        policy.load(reference)
        for batch in batches:
            policy.update(batch)
        outcomes.append(fingerprint(policy))
    assert outcomes[0] == outcomes[1]


@check
def a_killed_process_leaves_its_checkpoints_whole(bench: Bench) -> None:
    if not bench.policy.trainable:
        return
    bench.close()
    program = [sys.executable, str(PROGRAM), bench.subject.name, str(bench.directory), "--child"]
    child = subprocess.run(program, capture_output=True, text=True, check=False)
    assert child.returncode == -signal.SIGKILL, child.stderr[-3000:]
    left: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    policy = bench.policy
    assert left["reference"] in policy.saved()
    policy.load(left["reference"])
    assert policy.version == left["version"]
    if bench.subject.deterministic:
        assert agree(bench.subject, fingerprint(policy), left["said"])
    policy.update(batch_of(policy))


def die_after_saving(subject: Subject, directory: Path) -> None:
    """Save, tell, learn on, and be killed without a warning: in a process of its own."""
    with subject.open(directory) as policy:
        policy.update(batch_of(policy, seed=5))
        told = {"reference": policy.save(), "version": policy.version, "said": fingerprint(policy)}
        print(json.dumps(told), flush=True)
        policy.update(batch_of(policy, seed=6))
        os.kill(os.getpid(), signal.SIGKILL)


@check
def a_dropped_checkpoint_is_gone(bench: Bench) -> None:
    policy = bench.policy
    if not policy.trainable:
        return
    kept = policy.save()
    policy.update(batch_of(policy))
    dropped = policy.save()
    policy.drop(dropped)
    policy.drop(dropped)
    assert dropped not in policy.saved()
    assert kept in policy.saved()
    with refused(EvoEnvError):
        policy.load(dropped)
    policy.load(kept)


@check
def references_that_are_none_are_refused(bench: Bench) -> None:
    policy = bench.policy
    if not policy.trainable:
        return
    for nonsense in ("step-99999", "../checkpoints", "", "/etc"):
        with refused(EvoEnvError):
            policy.load(nonsense)
    assert len(list(policy.sample([ask("r")]))) == 1


@check
def closing_the_policy_twice_is_harmless(bench: Bench) -> None:
    bench.policy.close()
    bench.policy.close()
    bench.close()
