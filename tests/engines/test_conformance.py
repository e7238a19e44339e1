"""Every shipped engine passes the one suite of all engines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conformance import CHECKS, Bench, Check
from subjects import ENDPOINT, LOCAL, SCRIPTED, scripted_answer

from evoenv.engines.scripted import ScriptedPolicy
from evoenv.errors import EvoEnvError, PolicyError
from evoenv.ports import Policy
from evoenv.records import Request, Sample

SLOW = ("a_killed_process_leaves_its_checkpoints_whole",)

each_check = pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=check.__name__, marks=[pytest.mark.slow] * (check.__name__ in SLOW)) for check in CHECKS],
)
# Its server loads a model in a process of its own.
served = pytest.param(ENDPOINT, id="endpoint", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=[LOCAL, served, SCRIPTED], ids=["local", None, "scripted"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    opened = Bench(request.param, tmp_path_factory.mktemp("engine"))
    yield opened
    opened.close()


@each_check
def test_engine(bench: Bench, check: Check) -> None:
    check(bench)


# --------------------------------------------------------------------------- the suite itself: what it would notice


class Twice(ScriptedPolicy):
    def sampling(self) -> Any:
        session = super().sampling()
        collect = session.collect
        session.collect = lambda timeout=None: [sample for sample in collect(timeout) for _ in range(2)]
        return session


class Unversioned(ScriptedPolicy):
    def answer(self, request: Request, index: int) -> Sample:
        return dataclasses.replace(super().answer(request, index), version=0)


class Generous(ScriptedPolicy):
    """Rollouts for everybody."""

    def answer(self, request: Request, index: int) -> Sample:
        return super().answer(dataclasses.replace(request, trains=True), index)


class Talkative(ScriptedPolicy):
    """Knows neither limits nor stop strings."""

    def answer(self, request: Request, index: int) -> Sample:
        return super().answer(dataclasses.replace(request, stop=(), max_tokens=10_000), index)


class Moody(ScriptedPolicy):
    """What it says depends on how much it has said."""

    def answer(self, request: Request, index: int) -> Sample:
        sample = super().answer(request, index)
        return dataclasses.replace(sample, text=f"{self._calls['sample']} {sample.text}")


class Careless(ScriptedPolicy):
    def check(self, requests: Sequence[Request]) -> None:
        pass


class OneAtATime(ScriptedPolicy):
    def sampling(self) -> Any:
        session = super().sampling()
        submit = session.submit

        def once(requests: Sequence[Request]) -> None:
            if session._pending:
                raise PolicyError("busy")
            submit(requests)

        session.submit = once
        return session


class Unstoppable(ScriptedPolicy):
    def sampling(self) -> Any:
        session = super().sampling()
        session.close = lambda: None
        return session


class Hoarder(ScriptedPolicy):
    def drop(self, reference: str) -> None:
        pass


class Forgetful(ScriptedPolicy):
    def load(self, reference: str) -> None:
        step = self.step
        super().load(reference)
        self.step = step


class Drifting(ScriptedPolicy):
    """Updates are never twice the same, and it says otherwise."""

    def answer(self, request: Request, index: int) -> Sample:
        sample = super().answer(request, index)
        return dataclasses.replace(sample, text=f"{len(self.groups) if self.step > 1 else 0} {sample.text}")


@pytest.mark.parametrize(
    ("engine", "notices"),
    [
        (Twice, "every_sample_arrives_once"),
        (Unversioned, "samples_say_which_version_they_are_of"),
        (Generous, "rollouts_are_given_only_for_what_trains"),
        (Talkative, "stop_strings_end_the_text_before_them"),
        (Talkative, "answers_keep_within_their_limit"),
        (Moody, "samples_depend_on_seed_and_index_and_on_nothing_else"),
        (Careless, "senseless_requests_are_refused_by_name_before_any_work"),
        (OneAtATime, "requests_may_be_submitted_while_others_run"),
        (Unstoppable, "closing_a_session_gives_up_the_rest"),
        (Hoarder, "a_dropped_checkpoint_is_gone"),
        (Forgetful, "a_checkpoint_brings_the_policy_back"),
        (Drifting, "replayed_updates_give_the_same_weights"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_the_suite_notices(engine: type[ScriptedPolicy], notices: str, tmp_path: Path) -> None:
    @contextmanager
    def open_broken(directory: Path) -> Iterator[Policy]:
        yield engine(scripted_answer, checkpoints=directory / "checkpoints")

    (check,) = [check for check in CHECKS if check.__name__ == notices]
    check(Bench(SCRIPTED, tmp_path / "sound"))
    with pytest.raises((AssertionError, EvoEnvError)):
        check(Bench(dataclasses.replace(SCRIPTED, open=open_broken), tmp_path / "broken"))
