"""A real browser for the tests of pages: Chromium without a window, driven by selenium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
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
