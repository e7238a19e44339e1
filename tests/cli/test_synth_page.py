"""The commands of docs/synth.md, in their order, against a real server; and what a synthesised pool is good for."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from test_train_synth import SETTINGS, serving, stats

from evoenv.cli import main
from evoenv.store.store import Store

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

PAGE = Path(__file__).parents[2] / "docs" / "synth.md"


@pytest.mark.parametrize("calibration", [(), ("--no-calibration",)], ids=["calibrated", "uncalibrated"])
def test_the_commands_of_the_page_build_a_pool_that_can_be_reported_and_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, calibration: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    block = re.search(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    with serving() as server:
        for line in block[1].splitlines():
            first, *rest = shlex.split(line.replace("http://localhost:8000", server))
            assert first == "evoenv"
            # a small novelty embedder and small batches; a resumed run keeps what it began with
            begins = rest[0] == "synth" and "--resume" not in rest
            assert main([*rest, *SETTINGS, *calibration] if begins else rest) == 0, line
            shown = capsys.readouterr().out
            assert ("Nothing was asked" in shown) is ("--dry-run" in rest)
            assert (stats(server)["asked"] == 0) is ("--dry-run" in rest)
    assert "Fresh" in shown  # the pool's list has what the model wrote
    with Store.read(tmp_path / "pool") as store:
        assert store.count_candidates() == 12
    assert main(["report", "pool"]) == 0
    assert (tmp_path / "pool" / "report").is_dir()
    assert main(["export", "pool", "--to", "jsonl", "-o", "data", "--without-originals", "--instances", "2"]) == 0
    assert (tmp_path / "data" / "train.jsonl").read_text().count("\n") >= 2
