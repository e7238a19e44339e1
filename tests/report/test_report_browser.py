"""The page in a real browser: it filters, expands, obeys the keyboard, asks nothing of the network, runs no attack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evoenv.report.write import write_report
from tests.browser import MARKS, PATIENCE, chromium

pytestmark = MARKS
selenium = pytest.importorskip("selenium", reason="selenium is not installed: pip install 'evoenv[dev]'")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from chromium(tmp_path_factory.mktemp("profile"))


class Page:
    def __init__(self, browser: Any, path: Path) -> None:
        self.browser = browser
        browser.get("about:blank")
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(path.as_uri())
        self.path = path

    def find(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements(By.CSS_SELECTOR, selector))

    @property
    def count(self) -> str:
        return str(self.find("#count").text)

    def wait_for_count(self, words: str) -> None:
        WebDriverWait(self.browser, PATIENCE).until(lambda _: self.count == words)

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def requests(self) -> set[str]:
        messages = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return {
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        }

    def is_quiet(self) -> bool:
        """No complaint on the console, and no request but for the file itself."""
        assert self.complaints() == []
        assert {url.partition("#")[0] for url in self.requests()} == {self.path.as_uri()}
        return True


@pytest.fixture
def page(browser: Any, small_run: Path, tmp_path: Path) -> Page:
    return Page(browser, write_report(small_run, tmp_path, pictures=False).page)


def test_the_list_filters_by_text_state_and_tag_and_sorts(page: Page):
    assert page.count == "70 entries"
    assert len(page.all("#list > details")) == 70
    page.find("#query").send_keys("fibonacci")
    page.wait_for_count("1 of 70 entries")
    page.find("#clear").click()
    page.wait_for_count("70 entries")
    Select(page.find("#state")).select_by_value("pool")
    pool = len(page.all("#list > details"))
    assert page.count == f"{pool} of 70 entries"
    assert {item.text for item in page.all("#list .fate")} == {"In the pool"}
    Select(page.find("#tag")).select_by_value("graph")
    assert 0 < len(page.all("#list > details")) < pool
    page.find("#clear").click()
    Select(page.find("#sort")).select_by_value("reward")
    shown = [item.text for item in page.all("#list .fact") if item.text.startswith("R ")]
    values = [float(text[2:].replace("−", "-")) for text in shown]
    assert values == sorted(values, reverse=True)
    assert page.is_quiet()


def test_the_search_looks_into_sources_and_findings(page: Page):
    page.find("#query").send_keys("things number 25.")
    page.wait_for_count("1 of 70 entries")
    assert page.find("#list .title").text.startswith("Count25")
    page.find("#query").clear()
    page.find("#query").send_keys("no such words anywhere")
    page.wait_for_count("0 of 70 entries")
    assert page.is_quiet()


def test_an_environment_expands_to_its_source_and_reward(page: Page):
    Select(page.find("#state")).select_by_value("pool")
    Select(page.find("#sort")).select_by_value("newest")
    holder = page.find("#list > details")
    assert not holder.find_elements(By.CSS_SELECTOR, "pre")  # nothing is built before it is asked for
    holder.find_element(By.CSS_SELECTOR, "summary").click()
    WebDriverWait(page.browser, PATIENCE).until(lambda _: holder.find_elements(By.CSS_SELECTOR, "pre.code"))
    assert "_generate" in holder.find_element(By.CSS_SELECTOR, "pre.code").text
    assert holder.find_element(By.CSS_SELECTOR, "pre.code .k").text == "class"
    assert "reward, R_gen" in holder.text
    parent = holder.find_element(By.CSS_SELECTOR, "button.link")
    name = parent.text
    parent.click()
    opened = page.find("#list > details[open] > summary:focus .title")
    assert opened.text.startswith(name)
    assert page.is_quiet()


def test_the_keyboard_is_enough(page: Page):
    page.find("#query").send_keys("Knapsack" + Keys.ENTER)
    page.wait_for_count("1 of 70 entries")
    page.browser.execute_script("document.querySelector('#list summary').focus()")
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(page.browser, PATIENCE).until(lambda _: page.all("#list > details[open] pre"))
    page.browser.switch_to.active_element.send_keys(Keys.TAB)
    assert page.browser.switch_to.active_element.tag_name in ("button", "pre", "a")
    assert page.is_quiet()


def test_figures_have_tooltips_tables_and_lead_to_the_list(page: Page):
    assert len(page.all("svg.chart")) == 12
    page.browser.execute_script(
        "const bar = document.querySelector('#funnel [data-tip]');"
        "bar.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: 50, clientY: 50}))"
    )
    assert "60 of 60 candidates" in page.find("#tip").text
    holder = page.find("#funnel details.data")
    page.browser.execute_script("arguments[0].open = true", holder)
    WebDriverWait(page.browser, PATIENCE).until(lambda _: len(holder.find_elements(By.CSS_SELECTOR, "tbody tr")) == 9)
    page.browser.execute_script(
        "document.querySelector('#lineage [data-go]').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert page.all("#list > details[open]")
    assert "#env=" in page.browser.current_url
    assert page.is_quiet()


def test_themes_follow_the_system_and_the_button(page: Page):
    def ground() -> str:
        return str(page.browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    def prefer(scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    prefer("light")
    light = ground()
    prefer("dark")
    dark = ground()
    assert light != dark
    page.find("#theme").click()
    assert (page.find("#theme").text, ground()) == ("Theme: light", light)
    page.find("#theme").click()
    assert (page.find("#theme").text, ground()) == ("Theme: dark", dark)
    page.find("#theme").click()
    prefer("light")
    assert page.is_quiet()


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_but_figures_and_code_scrolls_sideways(page: Page, width: int):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.browser.execute_script("document.querySelector('#list > details').open = true")
    WebDriverWait(page.browser, PATIENCE).until(lambda _: page.all("#list > details[open] .body > *"))
    assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.is_quiet()


def test_text_has_enough_contrast_in_both_themes(page: Page):
    measure = """
      const light = (text) => {
        const [r, g, b] = text.match(/[\\d.]+/g).map((part) => {
          const value = part / 255;
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
      document.querySelector('#list > details').open = true;
      const bad = [];
      const texts = 'h1, h2, h3, h4, p, a, dt, dd, small, td, th, summary, button, .c, .s, .k, .n';
      for (const element of document.querySelectorAll(texts)) {
        if (!element.textContent.trim() || !element.getClientRects().length) continue;
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) bad.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
      }
      delete document.documentElement.dataset.theme;
      return [...new Set(bad)];
    """
    assert page.browser.execute_script(measure, "light") == []
    assert page.browser.execute_script(measure, "dark") == []


def test_no_attack_of_a_candidate_runs(browser: Any, hostile: Path, tmp_path: Path):
    page = Page(browser, write_report(hostile, tmp_path, pictures=False).page)
    browser.execute_script("for (const item of document.querySelectorAll('#list > details')) item.open = true")
    WebDriverWait(browser, PATIENCE).until(lambda _: len(page.all("#list .body > .pair")) == 20)
    browser.execute_script("for (const item of document.querySelectorAll('details')) item.open = true")
    assert browser.execute_script("return window.pwned") is None
    assert page.all("#list img, #list script, #list svg, #list [onload], #list [onerror]") == []
    text = page.find("#list").get_attribute("textContent")
    assert "<img src=x onerror='window.pwned = 2'>" in text
    assert "U+202E" in text  # a direction override is shown, not obeyed
    assert "\u202e" not in text
    assert page.is_quiet()
