"""The zoo: broken environments with the finding they must produce, and sound ones that must reach L5.

Each file of `tests/zoo` says on its first line what is expected of it: a finding's code, or `sound`. Every file goes
through the real sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evoenv.records import ValidationReport
from evoenv.sandbox.host import Limits, Sandbox
from evoenv.validation.codes import CODES
from evoenv.validation.l1_source import MAX_SOURCE_BYTES
from evoenv.validation.validate import validate

ZOO = Path(__file__).parents[1] / "zoo"
SOUND = sorted((ZOO / "sound").glob("*.py"))
BROKEN = sorted((ZOO / "broken").glob("*.py"))
WAITS_FOR_A_LIMIT = ("L2.too-slow", "L5.scorer-slow")
DEAR = ("rlve_value_without_answer", "lazy_chain_overflow", "any_for_all")  # seconds each
NOT_A_SOURCE = {
    "L1.not-text",  # bytes that never become a source: the command line's tests have them
    "L1.too-large",  # made below: a quarter of a megabyte does not belong into the repository
}

pytestmark = pytest.mark.sandbox

Judge = Callable[[Path], ValidationReport]


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def expectation(path: Path) -> str:
    first = path.read_text().partition("\n")[0]
    assert first.startswith("# expect: "), f"{name_of(path)} does not begin with '# expect: '"
    return first.removeprefix("# expect: ").strip()


def as_parameters(paths: list[Path], quick: set[Path]) -> list[object]:
    return [pytest.param(path, id=path.stem, marks=[] if path in quick else [pytest.mark.slow]) for path in paths]


def quick_specimens() -> set[Path]:
    """One for each finding; those that have to hang until their limit are for the long run."""
    first = {expectation(path): path for path in reversed(BROKEN) if path.stem not in DEAR}
    return {path for code, path in first.items() if code not in WAITS_FOR_A_LIMIT}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    # Whoever must hang may do so briefly; the others get the default, which a busy machine needs.
    with Sandbox() as patient, Sandbox(limits=Limits(cpu_s=0.5)) as brisk:
        yield lambda path: validate(path.read_text(), brisk if expectation(path) in WAITS_FOR_A_LIMIT else patient)


def describe(report: ValidationReport) -> str:
    findings = [f"{one.code}: {one.message}" for one in report.findings]
    return "\n".join([f"layer {report.layer}, {report.seconds:.2f} s", *findings])


@pytest.mark.parametrize("path", as_parameters(BROKEN, quick_specimens()))
def test_broken_environment_gets_its_finding(path: Path, judge: Judge) -> None:
    report = judge(path)
    assert expectation(path) in {one.code for one in report.findings}, describe(report)
    assert report.layer < 5, describe(report)
    assert all(one.message and one.hint for one in report.findings), describe(report)


@pytest.mark.parametrize("path", as_parameters(SOUND, set(SOUND[::12])))
def test_sound_environment_reaches_the_top_layer(path: Path, judge: Judge) -> None:
    report = judge(path)
    assert report.layer == 5, describe(report)
    assert not report.findings, describe(report)


def test_every_code_that_a_source_can_earn_has_a_specimen() -> None:
    shown = {expectation(path) for path in BROKEN}
    assert not shown - CODES.keys(), f"codes that do not exist: {sorted(shown - CODES.keys())}"
    missing = CODES.keys() - shown - NOT_A_SOURCE
    assert not missing, f"codes without a broken environment in tests/zoo/broken: {sorted(missing)}"


def test_zoo_is_large_and_labelled() -> None:
    assert len(BROKEN) >= 55
    assert len(SOUND) >= 40
    assert {expectation(path) for path in SOUND} == {"sound"}
    for path in BROKEN:
        second = path.read_text().splitlines()[1]
        assert second.startswith("# "), f"{name_of(path)}: the second line must say what is wrong"
        assert second.rstrip().endswith((".", "?")), f"{name_of(path)}: the second line must be a sentence"


def test_source_that_stores_its_data_is_too_large() -> None:
    with Sandbox() as sandbox:
        table = ", ".join(map(str, range(MAX_SOURCE_BYTES // 4)))
        report = validate(f"TABLE = [{table}]\n" + SOUND[0].read_text(), sandbox)
    assert report.layer == 0
    assert [one.code for one in report.findings] == ["L1.too-large"]
