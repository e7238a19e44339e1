"""A real browser for the tests of pages: Chromium without a window, driven by selenium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-dev-shm-usage --disable-sync --force-prefers-reduced-motion "
    "--window-size=1200,900"
)
PATIENCE = 60
"""Seconds for what takes a blink: the tests beside these keep all cores busy."""
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="no Chromium with its driver: apt-get install chromium chromium-driver"
    ),
]


def chromium(profile: Path) -> Iterator[Any]:
    """Open a browser with a profile of its own; it ends with the fixture that yields from this."""
    from selenium import webdriver  # here: the tests that need no browser run without selenium

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(110)
    driver.get("about:blank")  # the first page of a fresh profile takes longest
    yield driver
    driver.quit()


class Page:
    """A tab that knows how to wait."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser = browser
        self.address = address.partition("#")[0]
        browser.get("about:blank")
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(address)

    def go(self, place: str) -> None:
        self.browser.execute_script("location.hash = arguments[0]", place)

    def find(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements("css selector", selector)  # type: ignore[no-any-return]

    def wait(self, condition: Callable[[], Any], what: str = "") -> Any:
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        ignored = [StaleElementReferenceException]
        return WebDriverWait(self.browser, PATIENCE, 0.1, ignored).until(lambda _: condition(), what)

    def wait_for(self, selector: str) -> Any:
        return self.wait(lambda: (self.all(selector) or [None])[0], f"no {selector}")

    def click_when_enabled(self, selector: str) -> None:
        """Click a button once the page has drawn what was typed: a click on a button that is still off is lost."""
        self.wait(lambda: self.find(selector).is_enabled(), f"{selector} stays off")
        self.find(selector).click()

    def type_over(self, selector: str, text: str) -> None:
        """Put a text in place of what a field holds, as a person does: `clear` tells the page nothing, and what it
        draws a moment later would bring the old text back."""
        from selenium.webdriver.common.keys import Keys

        def typed() -> bool:
            field = self.find(selector)
            if field.get_property("value") != text:
                field.send_keys(Keys.CONTROL, "a")
                field.send_keys(text)
            return bool(field.get_property("value") == text)

        self.wait(typed, f"{selector} does not take {text!r}")

    def text(self, selector: str = "main") -> str:
        return str(self.find(selector).text)

    def choose(self, selector: str, value: str) -> None:
        def values() -> list[str | None]:
            return [option.get_property("value") for option in self.all(f"{selector} option")]

        self.wait(lambda: value in values(), f"no {value} in {selector}")
        from selenium.webdriver.support.ui import Select

        Select(self.find(selector)).select_by_index(values().index(value))

    def rows(self) -> list[str]:
        return [str(row.get_attribute("data-id")) for row in self.all(".rows .row[data-id]")]

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]

    def requested(self) -> set[str]:
        """Addresses that were asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}


def count_of(page: Page) -> int:
    words = page.text(".title-row p").split()
    return int(words[0].replace(",", "")) if words else -1
