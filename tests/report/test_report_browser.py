"""The report in a real browser: the same page as a file; it filters, sorts, asks nobody, runs no attack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_support import ATTACKS

from evoenv.report.write import write_report
from evoenv.store.store import Store
from tests.browser import MARKS, Page, chromium, count_of

pytestmark = MARKS
pytest.importorskip("selenium", reason="selenium is not installed: pip install 'evoenv[dev]'")

VIEWS = ("overview", "candidates", "environments", "rollouts", "map", "configuration")
STANDS = ".row[data-id], .grid .chart, .map canvas, .settings, table.plain td a"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from chromium(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def report(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(small_run, tmp_path_factory.mktemp("report"), pictures=False).page.as_uri()


def is_quiet(page: Page) -> bool:
    """Whether nothing was complained of, and nothing asked for but the file itself."""
    assert page.errors() == []
    assert {address.partition("#")[0] for address in page.requested()} <= {page.address, "about:blank"}
    return True


def test_the_file_offers_every_view_and_makes_no_request(browser: Any, report: str) -> None:
    page = Page(browser, report)
    for view in VIEWS:
        page.go(f"#/{view}")
        page.wait_for(STANDS if view != "map" else "h1")  # nothing of this run was embedded
    page.go("#/candidates")
    page.wait(lambda: count_of(page) == 60)
    page.find("#filter-text").send_keys("number 41.")
    page.wait(lambda: count_of(page) == 1 and len(page.rows()) == 1)
    page.find(".rows a.open").click()
    page.wait_for("#source .code-line")
    page.go("#/environments?which=generated")
    page.wait_for("table.plain td a").click()
    page.wait_for(".lineage a")
    assert "evoenv watch" in page.text("#play")
    assert is_quiet(page)


def test_the_list_filters_by_fate_and_tag_and_sorts(browser: Any, report: str, small_run: Path) -> None:
    with Store.read(small_run) as store:
        generated = [record for record in store.environments() if not record.original]
    tag = next(tag for record in generated for tag in sorted(record.tags))
    page = Page(browser, f"{report}#/candidates")
    page.choose("#filter-fate", "pool")
    page.wait(lambda: count_of(page) == len(page.rows()) == len(generated))
    page.choose("#filter-tag", tag)
    page.wait(lambda: count_of(page) == sum(tag in record.tags for record in generated))
    page.find(".filters button").click()
    page.wait(lambda: count_of(page) == 60)
    page.choose("#filter-sort", "reward")

    def rewards() -> list[float]:
        cells = [row.text.split()[-1] for row in page.all(".rows .row[data-id]")[:10]]
        return [float(text.replace("−", "-")) for text in cells]

    page.wait(lambda: len(rewards()) == 10 and rewards() == sorted(rewards(), reverse=True))
    page.choose("#filter-sort", "oldest")
    page.wait(lambda: page.rows()[:1] == ["s00001.g000.c00"])
    assert is_quiet(page)


def test_the_overview_has_the_run_in_words_and_figures_that_lead_on(browser: Any, report: str) -> None:
    page = Page(browser, report)
    page.wait_for("#lineage .tree circle")
    assert [item.text for item in page.all(".words h3")] == ["Proposed", "Refused", "Admitted", "Solver"]
    titles = [item.text for item in page.all(".chart h3")]
    assert len(titles) == len(set(titles)) == 4 + 8 + 7
    assert "Not measured" in page.text("#overlap")
    assert len(page.all("#tags td")) > 20
    rows = page.find("#rejections .numbers")
    rows.find_element("css selector", "summary").click()
    page.wait(lambda: len(page.all("#rejections tbody tr")) > 3)
    page.find("#lifetimes .span-row").click()
    page.wait_for("#play")
    assert is_quiet(page)


def test_what_is_left_out_is_said(browser: Any, small_run: Path, tmp_path: Path) -> None:
    written = write_report(small_run, tmp_path, text_budget=40_000, pictures=False)
    page = Page(browser, written.page.as_uri())
    page.wait_for(".grid .chart")
    assert "of 60 candidates (some of every fate" in page.text()
    with Store.read(small_run) as store:
        refused = [name for (name,) in store.query("SELECT candidate_id FROM reports WHERE layer = 0 ORDER BY 1")]
    page.go(f"#/candidate/{refused[0]}")
    assert "left out of the file" in page.wait_for(".problem").text
    assert is_quiet(page)


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_but_figures_and_code_scrolls_sideways(browser: Any, report: str, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page = Page(browser, report)
        page.wait_for("#lineage .tree circle")
        candidate = "s00001.g000.c00"
        for place in (*VIEWS, f"candidate/{candidate}"):
            page.go(f"#/{place}")
            page.wait_for(f"{STANDS}, #response" if place != "map" else "h1")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width, place
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


MEASURE = """
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((part) => {
      const value = part / (text.startsWith('color(') ? 1 : 255);
      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!colour.endsWith(', 0)')) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  document.documentElement.dataset.theme = arguments[0];
  const bad = [];
  const texts = 'h1, h2, h3, h4, p, a, dt, dd, small, td, th, summary, button, .py-kw, .py-str, .py-com, .py-num';
  for (const element of document.querySelectorAll(texts)) {
    if (!element.textContent.trim() || !element.getClientRects().length || element.disabled) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  delete document.documentElement.dataset.theme;
  return [...new Set(bad)];
"""


def test_text_has_enough_contrast_in_both_themes(browser: Any, report: str) -> None:
    page = Page(browser, report)
    page.wait_for("#tags td")
    for place, sign in (("overview", "#tags td"), ("candidate/s00001.g000.c00", "#source .code-line"), ("map", "h1")):
        page.go(f"#/{place}")
        page.wait_for(sign)
        assert browser.execute_script(MEASURE, "light") == [], place
        assert browser.execute_script(MEASURE, "dark") == [], place


def test_no_attack_of_a_candidate_runs(browser: Any, hostile: Path, tmp_path: Path) -> None:
    page = Page(browser, write_report(hostile, tmp_path, pictures=False).page.as_uri())
    page.wait_for("#lifetimes .span-row")
    browser.execute_script("for (const item of document.querySelectorAll('details')) item.open = true")
    page.wait(lambda: page.all(".numbers td"))
    assert ATTACKS[0] in page.text()
    page.go("#/candidates")
    page.wait_for(".rows .row[data-id]")
    names = page.rows()
    assert len(names) == 10
    for name in names:
        page.go(f"#/candidate/{name}")
        page.wait(lambda name=name: name in page.text(".lead"))
        browser.execute_script("for (const item of document.querySelectorAll('details')) item.open = true")
    page.go("#/candidate/s00001.g000.c07")
    page.wait(lambda: "⟨202E⟩" in page.text())  # a direction override is shown, not obeyed
    assert "\u202e" not in page.text()
    assert browser.execute_script("return window.pwned") is None
    assert page.all("main img, main script, main iframe, main [onload], main [onerror]") == []
    assert is_quiet(page)
