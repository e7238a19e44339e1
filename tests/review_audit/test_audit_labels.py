from __future__ import annotations

import json
from pathlib import Path

import pytest

from evoenv.config import load_config, to_mapping
from evoenv.corpus import FAULTS, Author, break_program
from evoenv.errors import InputError
from evoenv.records import Candidate, Message, Request, Sample
from evoenv.review_audit.labels import read_set
from evoenv.store.store import RequestRecord, Store

TOML = """
[[environment]]
file = "a.py"
label = "sound"

[[environment]]
file = "b.py"
label = "buggy"
kind = "off-by-one"
note = "Counts one too many."
mine = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("class A: ...\n")
    (tmp_path / "b.py").write_text("class B: ...\n")
    (tmp_path / "labels.toml").write_text(TOML)
    return tmp_path


def test_a_folder_is_read_with_its_labels_in_toml_or_json(folder: Path) -> None:
    found = read_set(str(folder))
    assert [(item.name, item.buggy, item.kind) for item in found.items] == [
        ("a.py", False, ""),
        ("b.py", True, "off-by-one"),
    ]
    assert found.items[1].source == "class B: ...\n"
    assert found.labels == {"a.py": False, "b.py": True}
    assert read_set(str(folder / "labels.toml")).items == found.items
    (folder / "labels.toml").unlink()
    (folder / "labels.json").write_text(
        json.dumps(
            [
                {"file": "a.py", "label": "sound"},
                {"file": "b.py", "label": "buggy", "kind": "off-by-one", "note": "Counts one too many."},
            ]
        )
    )
    assert read_set(str(folder)).items == found.items


def test_the_digest_follows_sources_and_labels(folder: Path) -> None:
    before = read_set(str(folder)).digest
    assert read_set(str(folder)).digest == before
    (folder / "a.py").write_text("class A: pass\n")
    changed = read_set(str(folder)).digest
    (folder / "labels.toml").write_text(TOML.replace('"sound"', '"buggy"'))
    assert len({before, changed, read_set(str(folder)).digest}) == 3


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("[[environment]]\nfile = 'a.py'\nlabel = 'fine'\n", "labels.toml cannot be read: Invalid enum value 'fine'"),
        ("[[environment]]\nlabel = 'sound'\n", "missing required field `file`"),
        ("environment = 3\n", "Expected `array`, got `int`"),
        ("[[other]]\n", "has no 'environment'"),
        ("[[environment]\n", "cannot be read"),
        ("environment = []\n", "labels no environment"),
        (TOML.replace("b.py", "c.py"), "names c.py: cannot read"),
        (TOML.replace("b.py", "a.py"), "labels a.py 2 times"),
    ],
)
def test_bad_labels_are_one_clear_line(folder: Path, labels: str, message: str) -> None:
    (folder / "labels.toml").write_text(labels)
    with pytest.raises(InputError) as caught:
        read_set(str(folder))
    assert message in str(caught.value)


def test_what_is_no_set_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder 'shiped'; give 'shipped', 'corpus'"):
        read_set("shiped")
    (folder / "labels.toml").unlink()
    with pytest.raises(InputError, match=r"neither labels\.toml nor labels\.json"):
        read_set(str(folder))
    with pytest.raises(InputError, match="no folder"):
        read_set("x\0y")
    with pytest.raises(InputError, match="File name too long"):
        read_set("x" * 5000)
    with pytest.raises(InputError, match="is 0; expected 1 or more"):
        read_set("corpus", count=0)


def test_a_source_that_is_no_text_is_named(folder: Path) -> None:
    (folder / "b.py").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"names b\.py: byte 0 is not UTF-8"):
        read_set(str(folder))
    (folder / "b.py").write_text("x" * 3_000_000)
    with pytest.raises(InputError, match="3,000,000 bytes; the limit is"):
        read_set(str(folder))


def test_a_count_draws_as_many_of_each_label_by_seed() -> None:
    whole = read_set("shipped")
    some = read_set("shipped", count=7, seed=1)
    assert sorted(item.buggy for item in some.items) == [False] * 7 + [True] * 7
    assert set(some.items) <= set(whole.items)
    assert some == read_set("shipped", count=7, seed=1)
    assert some != read_set("shipped", count=7, seed=2)
    assert read_set("shipped", count=1000).items == whole.items


def test_the_corpus_gives_both_labels_with_every_fault_in_its_turn(thorough: bool) -> None:
    count = 25 if thorough else 8
    found = read_set("corpus", count=count, seed=3)
    assert found == read_set("corpus", count=count, seed=3)
    assert len({item.name for item in found.items}) == 2 * count
    sound = [item for item in found.items if not item.buggy]
    buggy = [item for item in found.items if item.buggy]
    assert (len(sound), len(buggy)) == (count, count)
    assert len({item.kind for item in buggy}) == min(count, len(FAULTS))
    assert all(item.note for item in buggy)
    assert not {item.source for item in sound} & {item.source for item in buggy}


def run_with(directory: Path, sources: list[str | None]) -> str:
    """A run of one finished step whose candidates are these."""
    request = Request("s00001.g000", "generator", (Message("user", "write"),), count=len(sources))
    with Store.create(directory, to_mapping(load_config()), {}) as store:
        store.add_requests(1, [RequestRecord(request, "generate")])
        for index, source in enumerate(sources):
            store.add_sample(1, Sample(request.id, index, source or "nothing"))
            store.add_candidates([Candidate(1, 0, index, source or "nothing", source)])
        with store.stage(1, "rotated"):
            pass
    return str(directory)


def test_candidates_of_a_run_are_labelled_by_what_they_ask_and_compute(tmp_path: Path) -> None:
    first, second = (Author(0, "basic").compose(index) for index in (0, 1))
    spoiled = break_program(first, "asks-other-quantity", 0)
    assert spoiled is not None
    unknown = "class Other: ..."
    found = read_set(run_with(tmp_path, [first.source, None, spoiled.source, unknown, first.source, second.source]))
    assert [(item.name, item.buggy) for item in found.items] == [
        ("s00001.g000.c00", False), ("s00001.g000.c02", True), ("s00001.g000.c05", False)
    ]  # fmt: skip
    assert found.items[1].source == spoiled.source
    assert found.items[1].kind == "another quantity"
    assert found.items[1].note
    assert not found.items[0].kind


def test_a_run_that_no_oracle_can_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the 2 candidates"):
        read_set(run_with(tmp_path, ["class A: ...", None]))
