"""The page: one file, no request, and text that stays text whatever a candidate wrote."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_support import ATTACKS, add_candidate, begin

from evoenv.prompts.review import ScoredAnswer, review_messages
from evoenv.records import Instance
from evoenv.report.page import Texts, safe_json
from evoenv.report.write import write_report
from evoenv.watch.documents import TEXT_AT_MOST
from evoenv.watch.evidence import evidence_document


class Outline(HTMLParser):
    """Elements with their attributes, and the text inside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open = tag if tag in self.inside else ""
        if self.open:
            self.inside[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = ""

    def handle_data(self, data: str) -> None:
        if self.open:
            self.inside[self.open][-1] += data


@pytest.fixture(scope="module")
def hostile_page(hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(hostile, tmp_path_factory.mktemp("report"), pictures=False).page.read_text(encoding="utf-8")


def test_hostile_text_makes_no_element_and_no_attribute(hostile_page: str):
    outline = Outline(hostile_page)
    tags = {tag for tag, _ in outline.elements}
    assert not tags & {"img", "iframe", "object", "embed", "link", "base", "audio", "video", "image"}
    names = {name for _, attributes in outline.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("style", "src", "srcset")]
    assert [attributes.get("type") for tag, attributes in outline.elements if tag == "script"] == [
        "application/json",
        "module",
    ]
    for attack in ATTACKS[:5]:
        assert attack not in hostile_page


def data_of(page: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Outline(page).inside["script"][0])
    return data


def test_hostile_text_arrives_as_it_was_written(hostile_page: str):
    data = data_of(hostile_page)
    assert {row["name"] for row in data["candidates"]} == set(ATTACKS)
    responses = [document["response"] for document in data["candidate"].values()]
    texts = [data["texts"][clip["ref"]] if "ref" in clip else clip["text"] for clip in responses]
    assert all(any(attack in text for text in texts) for attack in ATTACKS)


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_data_never_ends_its_block_and_comes_back_equal(value):
    text = safe_json(value)
    assert not set(text) & set("<>&\u2028\u2029")
    text.encode("utf-8")
    assert json.loads(text) == value


def test_lone_surrogates_can_be_written():
    assert json.loads(safe_json("a\ud800b")) == "a\ud800b"
    safe_json("a\ud800b").encode("utf-8")


def test_the_policy_names_the_one_script_and_the_one_style(hostile_page: str):
    outline = Outline(hostile_page)
    policy = next(
        attributes["content"] or ""
        for tag, attributes in outline.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for kind, text in (("script-src", outline.inside["script"][1]), ("style-src", outline.inside["style"][0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def test_nothing_is_asked_of_the_network(hostile_page: str):
    outline = Outline(hostile_page)
    assert not [attributes for _, attributes in outline.elements if "href" in attributes or "src" in attributes]
    assert not re.findall(r"url\(|@import|https?://", outline.inside["style"][0])


def test_a_spreadsheet_gets_no_formula(hostile: Path, tmp_path: Path):
    write_report(hostile, tmp_path, pictures=False)
    with (tmp_path / "candidates.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert not [cell for cell in cells if cell[:1] in ("=", "@", "+")]


def test_admitted_environments_come_with_their_distance_to_the_seeds_and_their_tags(small_run: Path, tmp_path: Path):
    page = write_report(small_run, tmp_path, pictures=False).page.read_text(encoding="utf-8")
    paragraphs = {
        paragraph["title"]: paragraph["rows"] for paragraph in data_of(page)["documents"]["audit"]["paragraphs"]
    }
    assert paragraphs["Admitted"][0] == ["highest rewards", "step", "d_seed", "tags", "pass rate", "reward"]
    with (tmp_path / "candidates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seeds = [set(row["tags"].split()) for row in rows if row["original"] == "1"]
    admitted = [row for row in rows if row["original"] == "0" and row["state"] in ("pool", "retired")]
    assert seeds
    assert admitted
    for row in admitted:
        tags = set(row["tags"].split())
        nearest = min(1 - len(tags & seed) / len(tags | seed) for seed in seeds)
        assert float(row["d_seed"]) == pytest.approx(nearest, abs=1e-4)
        assert int(row["tag_count"]) == len(tags)


# --------------------------------------------------------------------------- what is embedded


def test_a_budget_keeps_some_of_every_fate(small_run: Path, tmp_path: Path):
    whole = write_report(small_run, tmp_path, pictures=False)
    everything = data_of(whole.page.read_text(encoding="utf-8"))
    assert whole.embedded == whole.entries == 70
    assert len(everything["candidate"]) == everything["totals"]["candidate"] == 60
    fates = {row["id"]: row["state"] for row in everything["candidates"]}
    some = write_report(small_run, tmp_path, text_budget=150_000, pictures=False)
    embedded = data_of(some.page.read_text(encoding="utf-8"))
    assert 0 < len(embedded["candidate"]) < 60
    assert some.embedded < 70
    assert {fates[name] for name in embedded["candidate"]} == set(fates.values())
    assert len(embedded["candidates"]) == 60, "the list is whole"
    nothing = write_report(small_run, tmp_path, text_budget=0, pictures=False)
    assert nothing.embedded == 0
    assert nothing.size < some.size < whole.size


def test_a_text_that_many_have_is_stored_once():
    texts = Texts()
    long, short = {"text": "x" * 300, "length": 300}, {"text": "y", "length": 1}
    assert texts.share({"a": [long, long], "b": short}) == {"a": [{"ref": 0, "length": 300}] * 2, "b": short}
    texts.share({"text": "z" * 300, "length": 900})
    texts.forget(1)
    assert texts.kept == ["x" * 300]
    assert texts.share({"text": "z" * 300, "length": 900}) == {"ref": 1, "length": 900}


def test_long_texts_are_cut_and_keep_their_length(tmp_path: Path):
    with begin(tmp_path / "run") as store:
        name = add_candidate(store, 1, 0, source=None, response="x" * (TEXT_AT_MOST + 1))
    data = data_of(write_report(tmp_path / "run", pictures=False).page.read_text(encoding="utf-8"))
    clip = data["candidate"][name]["response"]
    assert clip["length"] == TEXT_AT_MOST + 1
    assert data["texts"][clip["ref"]] == "x" * TEXT_AT_MOST


def test_instances_and_probes_are_read_back_out_of_the_review_prompt():
    instance = Instance(7, 2, "Add 1 | 2.\n```\nfenced\n```", {"d": [["a", 3], ["b", "x | y"]]}, 3)
    probes = [ScoredAnswer("the reference", "3", 1.0), ScoredAnswer("changed: plus-one", "it's 4 -> 5", 0.25)]
    (message,) = review_messages("class A: pass\n## Instance 1 (seed 9, difficulty 9)\n", [instance, instance], probes)
    evidence = evidence_document(message.content)
    shown = [(item["seed"], item["difficulty"], item["prompt"]["text"]) for item in evidence["instances"]]
    assert shown == [("7", 2, instance.prompt)] * 2
    assert evidence["instances"][0]["values"][-1] == ["reference a", "3", "NO"]
    assert evidence["probes"] == [["the reference", "'3'", 1.0], ["changed: plus-one", '"it\'s 4 -> 5"', 0.25]]


def test_a_candidate_cannot_pose_as_what_the_reviewer_saw():
    instance = Instance(7, 2, "Say it.", {"s": "5 | yes\rreference a | 42 | yes"}, 3)
    probes = [ScoredAnswer("the reference", "3", 1.0)]
    (honest,) = review_messages("class A: pass", [instance], probes)
    copied = honest.content[honest.content.index("## Instance") : honest.content.index("\n## What the scorer")]
    (forged,) = review_messages(f"class A: pass\n{copied}\n", [instance], probes)
    for message in (honest, forged):
        (found,) = evidence_document(message.content)["instances"]
        assert [row[0] for row in found["values"]] == ["z['s']", "reference a"]


@pytest.mark.parametrize("text", ["", "no such thing", "\n## What the scorer gave to some answers\n"])
def test_other_words_give_no_evidence(text):
    assert evidence_document(text) == {"instances": [], "probes": []}
