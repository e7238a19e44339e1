"""The table of codes, its page, and the code agree."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import evoenv.validation
from evoenv.validation.codes import CODES, finding

ROOT = Path(__file__).parents[2]
SOURCES = Path(evoenv.validation.__file__).parent


def used_codes() -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.glob("*.py") if path.name != "codes.py")
    text += (ROOT / "src/evoenv/environment/files.py").read_text(encoding="utf-8")
    literal = set(re.findall(r'"(L[1-5]\.[a-z-]+)"', text))
    return literal | {f"L3.{part}-unstable" for part in ("instance", "prompt", "answer")}  # built in one f-string


def test_every_code_that_is_used_is_in_the_table_and_no_other_is() -> None:
    assert used_codes() == set(CODES)


def test_the_page_shows_the_table_as_it_is() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "make_findings.py"))["page"]()
    assert (ROOT / "docs" / "findings.md").read_text(encoding="utf-8") == page, "run: python docs/make_findings.py"


def test_a_finding_carries_its_layer_and_hint() -> None:
    one = finding("L3.prompt-unstable", "seen")
    assert (one.layer, one.message) == (3, "seen")
    assert one.hint == CODES["L3.prompt-unstable"][1]
