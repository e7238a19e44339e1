"""What exports hold: distinct instances, answers that score 1, and nothing that the solver should not see."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_support import contents, evoenv, lines, one_line

from evoenv.cli import main
from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.export import FORMATS, Export, slug
from evoenv.exchange.items import Item, Wanted, draw_items
from evoenv.exchange.scorer.loading import load_scorer
from evoenv.exchange.to_datasets import hub_licence, size_category
from evoenv.sandbox.host import Sandbox

pytestmark = pytest.mark.sandbox

TWO = ("--only", "Sorting", "--only", "Fibonacci")
NO_PYARROW = "pyarrow is not installed: pip install 'evoenv[export]'"

FEW = """
import random


class Few(VerifiableEnvironment):
    def _generate(self, seed, difficulty):
        z = random.Random(seed).randrange(5)
        return z, z * z

    def _prompt_generate(self, z):
        return f"Square {z}."

    def _process(self, y):
        return int(y) if y.isdigit() else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
"""


def test_splits_share_no_prompt_and_every_answer_scores(jsonl_export: Path) -> None:
    train, test = lines(jsonl_export / "train.jsonl"), lines(jsonl_export / "test.jsonl")
    assert (len(train), len(test)) == (80, 80)
    prompts = [row["prompt"] for row in train + test]
    assert len(set(prompts)) == len(prompts)
    assert {row["difficulty"] for row in train} == {0, 1, 2, 3}
    scorer = load_scorer(jsonl_export / "scorer")
    items = [
        (row["environment_id"], row["seed"], row["difficulty"], f"<answer>{row['answer']}</answer>") for row in train
    ]
    assert scorer.score_many(items) == [1.0] * len(items)
    for row in train:
        again = scorer.instance(row["environment_id"], row["seed"], row["difficulty"])
        assert (again["prompt"], again["task"]) == (row["prompt"], row["task"])
        assert row["task"] in row["prompt"]
        assert 0 <= row["seed"] < 2**53
        assert json.dumps(scorer.reference(row["environment_id"], row["seed"], row["difficulty"])) == row["reference"]
    scorer.close()


def test_the_same_export_twice_is_the_same_to_the_byte(tmp_path: Path) -> None:
    for name in ("first", "again"):
        evoenv("export", "seeds", "--to", "jsonl", "-o", tmp_path / name, "--instances", "8", *TWO)
    assert contents(tmp_path / "again") == contents(tmp_path / "first")


def test_asking_for_more_training_items_leaves_the_test_split_alone(seeds: list[PoolEntry], sandbox: Sandbox) -> None:
    few = draw_items(seeds[:2], Wanted(4, 4, (0, 1), 0), sandbox)
    more = draw_items(seeds[:2], Wanted(12, 4, (0, 1), 0), sandbox)
    other = draw_items(seeds[:2], Wanted(4, 4, (0, 1), 1), sandbox)
    assert more["test"] == few["test"]
    assert len(more["train"]) == 24
    assert not {item.seed for item in other["test"]} & {item.seed for item in few["test"]}


def test_an_environment_that_runs_out_gives_what_it_has_and_says_so(tmp_path: Path, sandbox: Sandbox) -> None:
    export = Export(
        (PoolEntry(FEW, "Few", "test"),), tmp_path, sandbox, instances=10, test_instances=2, difficulties=(0,)
    )
    drawn = export.items()
    found: list[Item] = drawn["train"] + drawn["test"]
    assert len({item.prompt for item in found}) == len(found) == 5
    assert len(drawn["test"]) == 2
    assert export.notes == ["Few has only 5 distinct instances at these difficulties, 12 were asked for"]


def test_an_environment_without_instances_is_one_line(tmp_path: Path, sandbox: Sandbox) -> None:
    dead = FEW.replace("return z, z * z", "return 1 // 0, 1")
    with pytest.raises(InputError, match="not one instance could be generated"):
        Export((PoolEntry(dead, "Dead", "test"),), tmp_path, sandbox).items()


def test_parquet_holds_the_rows_of_jsonl(jsonl_export: Path, tmp_path: Path) -> None:
    pyarrow_parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pyarrow is not installed: pip install 'evoenv[export]'"
    )
    evoenv("export", "seeds", "--to", "parquet", "-o", tmp_path / "out", "--instances", "8", *TWO)
    for split in ("train", "test"):
        table = pyarrow_parquet.read_table(tmp_path / "out" / f"{split}.parquet")
        rows = lines(jsonl_export / f"{split}.jsonl")
        assert table.to_pylist() == [row for row in rows if row["name"] in TWO]


def test_verl_rows_have_verls_columns_and_no_answer_in_the_prompt(tmp_path: Path) -> None:
    pyarrow_parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pyarrow is not installed: pip install 'evoenv[export]'"
    )
    evoenv("export", "seeds", "--to", "verl", "-o", tmp_path / "out", "--instances", "4", "--only", "Fibonacci")
    (row, *_) = pyarrow_parquet.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    assert set(row) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert row["data_source"] == "evoenv/Fibonacci"
    assert [message["role"] for message in row["prompt"]] == ["user"]
    assert row["extra_info"].keys() == {"index", "split", "environment_id", "seed", "difficulty"}


def test_trl_rows_hold_no_answers(tmp_path: Path) -> None:
    evoenv("export", "seeds", "--to", "trl", "-o", tmp_path / "out", "--instances", "4", "--only", "Sorting")
    rows = lines(tmp_path / "out" / "train.jsonl")
    assert {key for row in rows for key in row} == {"prompt", "environment_id", "seed", "difficulty", "name"}


def test_a_card_names_every_environment_with_its_licence(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason=NO_PYARROW)
    evoenv("export", "seeds", "--to", "datasets", "-o", tmp_path / "My Data!", "--instances", "4", *TWO)
    card = (tmp_path / "My Data!" / "README.md").read_text()
    assert "pretty_name: my-data\nlicense: apache-2.0\n" in card
    assert card.count("| Apache-2.0 | evoenv seed |") == 2


def test_the_hubs_classes() -> None:
    entry = PoolEntry("x", "X", "here")
    assert hub_licence([entry]) == "unknown"
    assert hub_licence([entry, replace(entry, licence="MIT")]) == "other"
    assert hub_licence([replace(entry, licence="MIT")] * 2) == "mit"
    assert hub_licence([replace(entry, licence="see LICENSE")]) == "other"
    assert [size_category(count) for count in (999, 1_000, 10_000, 2_000_000)] == [
        "n<1K", "1K<n<10K", "10K<n<100K", "1M<n<10M",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_run_is_exported_while_it_may_still_be_written(run_directory: Path, tmp_path: Path) -> None:
    from evoenv.store.store import Store

    with Store.open(run_directory):  # the writer holds its lock
        said = json.loads(evoenv("export", run_directory, "--to", "jsonl", "-o", tmp_path / "all", "--json"))
    names = [one["name"] for one in said["environments"]]
    assert names[:2] == ["FirstSeed", "SecondSeed"]
    assert len(names) > 2
    evoenv("export", run_directory, "--to", "jsonl", "-o", tmp_path / "new", "--without-originals", "--instances", "4")
    made = {row["name"] for row in lines(tmp_path / "new" / "train.jsonl")}
    assert made == set(names) - {"FirstSeed", "SecondSeed"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--instances", "0"), "--instances is 0; expected 1 or more"),
        (("--test-instances", "-1"), "--test-instances is -1"),
        (("--difficulties", "3-1"), "the lower one of a range first"),
        (("--difficulties", "easy"), "expected levels of 0 or more"),
        (("--only", "Nobody"), "has no environment 'Nobody'"),
        (("--without-originals",), "has no environment to export"),
    ],
)
def test_misuse_is_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    command = ("export", "seeds", "--to", "jsonl", "-o", tmp_path / "out", *arguments)
    assert said in one_line(evoenv(*command, expect=2))
    assert not (tmp_path / "out").exists()


def test_what_did_not_pass_is_not_exported(tmp_path: Path) -> None:
    (tmp_path / "few.py").write_text(FEW)
    said = one_line(evoenv("export", tmp_path / "few.py", "--to", "jsonl", "-o", tmp_path / "out", expect=2))
    assert "Few did not pass validation (L4." in said
    assert not (tmp_path / "out").exists()


def test_names_are_read_as_they_are_meant() -> None:
    assert [slug(text) for text in ("My Run!", "2026-run", "ünï", "---")] == [
        "my-run",
        "evoenv-2026-run",
        "n",
        "evoenv",
    ]


def test_every_format_is_offered_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    offered = capsys.readouterr().out
    assert [name for name, kind in FORMATS.items() if name not in offered or not kind.about] == []
