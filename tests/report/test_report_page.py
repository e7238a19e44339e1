"""The page: one file, no request, and text that stays text whatever a candidate wrote."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_support import ATTACKS

from evoenv.prompts.review import ScoredAnswer, review_messages
from evoenv.records import Instance
from evoenv.report.page import safe_json
from evoenv.report.reading import TEXT_CUT, collect, cut, read_evidence, read_run
from evoenv.report.write import write_report
from evoenv.store.store import Store


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
        None,
    ]
    for attack in ATTACKS[:5]:
        assert attack not in hostile_page


def test_hostile_text_arrives_as_it_was_written(hostile_page: str):
    data = json.loads(Outline(hostile_page).inside["script"][0])
    names = {row[1] for row in data["entries"]}
    assert set(ATTACKS) <= names
    responses = [detail.get("response", "") for detail in data["details"].values()]
    assert all(any(attack in text for text in responses) for attack in ATTACKS)


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
    links = [attributes["href"] for tag, attributes in outline.elements if "href" in attributes]
    assert links
    assert all(link is not None and link.startswith("#") for link in links)
    assert not re.findall(r"url\(|@import|https?://", outline.inside["style"][0] + outline.inside["script"][1])


def test_the_script_never_makes_markup_out_of_text():
    script = (resources.files("evoenv.report") / "assets" / "report.js").read_text(encoding="utf-8")
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|DOMParser", script)


def test_a_spreadsheet_gets_no_formula(hostile: Path, tmp_path: Path):
    write_report(hostile, tmp_path, pictures=False)
    with (tmp_path / "candidates.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert not [cell for cell in cells if cell[:1] in ("=", "@", "+")]


def test_admitted_environments_come_with_their_distance_to_the_seeds_and_their_tags(small_run: Path, tmp_path: Path):
    page = write_report(small_run, tmp_path, pictures=False).page.read_text(encoding="utf-8")
    assert "highest rewards step d_seed tags pass rate reward" in " ".join(re.sub("<[^>]*>", " ", page).split())
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


def test_a_budget_keeps_some_of_every_fate(small_run: Path):
    with Store.read(small_run) as store:
        data = read_run(store)
        everything = collect(store, data)
        some = collect(store, data, budget=everything.size // 3)
        nothing = collect(store, data, budget=0)
    assert everything.left_out == 0
    assert 0 < some.size < everything.size // 2
    assert some.left_out == len(data.entries) - len(some.by_entry)
    states = {entry.id: entry.state for entry in data.entries}
    assert {states[name] for name in some.by_entry} == set(states.values())
    assert nothing.left_out == len(data.entries)


def test_what_is_left_out_is_said(small_run: Path, tmp_path: Path):
    page = write_report(small_run, tmp_path, text_budget=2000, pictures=False).page.read_text(encoding="utf-8")
    assert re.search(r"sources and texts are embedded for \d+ of 70 entries", page)


def test_long_texts_are_cut_and_say_so():
    assert cut("short") == "short"
    text = cut("x" * (TEXT_CUT + 1))
    assert text.startswith("x" * TEXT_CUT + "\n…")
    assert "4,001 characters in all" in text


def test_instances_and_probes_are_read_back_out_of_the_review_prompt():
    instance = Instance(7, 2, "Add 1 | 2.\n```\nfenced\n```", {"d": [["a", 3], ["b", "x | y"]]}, 3)
    probes = [ScoredAnswer("the reference", "3", 1.0), ScoredAnswer("changed: plus-one", "it's 4 -> 5", 0.25)]
    (message,) = review_messages("class A: pass\n## Instance 1 (seed 9, difficulty 9)\n", [instance, instance], probes)
    instances, found = read_evidence(message.content)
    assert [(seed, level, prompt) for seed, level, prompt, _ in instances] == [("7", 2, instance.prompt)] * 2
    assert instances[0][3][-1] == ["reference a", "3", "NO"]
    assert found == [["the reference", "'3'", 1.0], ["changed: plus-one", '"it\'s 4 -> 5"', 0.25]]


@pytest.mark.parametrize("text", ["", "no such thing", "\n## What the scorer gave to some answers\n"])
def test_other_words_give_no_evidence(text):
    assert read_evidence(text) == ([], [])
