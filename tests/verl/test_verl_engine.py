"""The verl engine passes the suite of all engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conformance import CHECKS, Bench, Check


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    from verl_subject import VERL

    opened = Bench(VERL, tmp_path_factory.mktemp("engine"))
    yield opened
    opened.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_engine(bench: Bench, check: Check) -> None:
    check(bench)


def test_servers_are_made_for_the_longest_request_of_any_role() -> None:
    from verl_subject import nano_config

    from evoenv.engines.verl.settings import longest_request, longest_sequence

    lengths = [f"{role}.max_prompt_tokens=500" for role in ("generator", "solver")]
    lengths += ["generator.max_tokens=300", "solver.max_tokens=200", "review.max_prompt_tokens=900"]
    lengths += ["review.max_tokens=400", "review.program_max_tokens=700"]
    unread = nano_config(*lengths, "review.enabled=false")
    assert longest_request(unread) == (500, 300)
    assert longest_request(nano_config(*lengths, "review.enabled=true", "review.kind=reading")) == (900, 400)
    assert longest_request(nano_config(*lengths, "review.enabled=true", "review.kind=recomputing")) == (900, 700)
    assert longest_sequence(unread) == 800
