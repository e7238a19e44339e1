"""The page in a real browser: live, filtered, walked, played; from a server and from a file; attacked, and narrow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_support import ATTACKS, add_candidate, begin, large_run
from watch_support import serving

from evoenv.store.store import Store
from tests.browser import MARKS, Page, chromium, count_of

pytestmark = MARKS
pytest.importorskip("selenium", reason="selenium is not installed: pip install 'evoenv[dev]'")

from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from chromium(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of twenty candidates, embedded, with every fate."""
    directory = tmp_path_factory.mktemp("browsed") / "run"
    large_run(directory, 3, 20)
    rng = np.random.default_rng(0)
    with Store.open(directory) as store:
        ids = [record.id for record in store.environments()]
        store.add_vectors({identity: tuple(rng.normal(size=(2, 8)).astype(np.float32)) for identity in ids})  # type: ignore[misc]
    return directory


@pytest.fixture(scope="module")
def served(run: Path) -> Iterator[Any]:
    with serving(run) as server:
        yield server


VIEWS = ("overview", "candidates", "environments", "rollouts", "map", "configuration")


def test_every_view_opens_without_an_error_and_asks_nobody_else(browser: Any, served: Any) -> None:
    page = Page(browser, served.address)
    row = served.document("candidates?fate=admitted")["rows"][0]
    group = served.document("groups?role=solver")["rows"][0]
    places = [
        *((f"#/{view}", "h1") for view in VIEWS),
        (f"#/candidate/{row['id']}", ".diff tr"),
        (f"#/environment/{row['environment']}", ".lineage a"),
        (f"#/rollout/{group['id']}", ".reply mark"),
    ]
    for place, sign in places:
        page.go(place)
        page.wait_for(sign)
    assert page.errors() == []
    assert {
        address for address in page.requested() if not address.startswith((page.address, "data:", "about:"))
    } == set()


def test_candidates_are_filtered_searched_and_opened_by_the_keyboard(browser: Any, served: Any) -> None:
    page = Page(browser, f"{served.address}#/candidates")
    page.wait(lambda: count_of(page) == 60)
    admitted = served.document("candidates?fate=admitted")["total"]
    page.choose("#filter-fate", "admitted")
    page.wait(lambda: count_of(page) == admitted and len(page.rows()) == admitted)
    page.choose("#filter-fate", "")
    page.find("#filter-text").send_keys("count33")
    page.wait(lambda: count_of(page) == 1 and len(page.rows()) == 1)
    assert "text=count33" in browser.current_url
    page.find(".filters button").click()
    page.wait(lambda: count_of(page) == 60 and len(page.rows()) > 10)
    newest = page.rows()
    first = page.find(".rows a.open[tabindex='0']")
    first.send_keys(Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.END)
    oldest = served.document("candidates?limit=1")["rows"][0]["id"]
    page.wait(lambda: oldest in page.rows())
    assert newest[0] not in page.rows(), "only what is in sight exists"
    page.wait(lambda: browser.switch_to.active_element.get_attribute("data-index") == "59")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait_for("#source .code-line")
    assert oldest in browser.current_url


def test_a_refused_candidate_has_its_finding_and_an_admitted_one_its_neighbour(browser: Any, served: Any) -> None:
    rows = served.document("candidates?limit=100")["rows"]
    refused = next(row for row in rows if row["codes"])
    page = Page(browser, f"{served.address}#/candidate/{refused['id']}")
    assert refused["codes"][0] in page.wait_for("#findings").text
    admitted = next(row for row in rows if row["state"] == "pool")
    page.go(f"#/candidate/{admitted['id']}")
    page.wait_for(".diff .plus")
    assert page.all(".py-kw")
    assert "R = Q" in page.text("#reward")


def test_lineage_is_walked_and_an_environment_played(browser: Any, served: Any) -> None:
    child = next(row for row in served.document("environments")["environments"] if not row["original"])
    page = Page(browser, f"{served.address}#/environment/{child['id']}")
    parents = served.document(f"environment?id={child['id']}")["parents"]
    original = next((item for item in parents if item["original"]), None)
    page.wait_for(".node.parent")
    if original is None:  # its parents were written in this run; walk to a seed by the list
        page.go("#/environments?which=original")
        page.wait_for("table.plain td a").click()
    else:
        page.find(f".node.parent[data-id='{original['id']}']").click()
    page.wait(lambda: "an original" in page.text(".lead"))
    page.find("#play-draw").click()
    prompt = page.wait_for(".play .text").text
    assert prompt
    page.type_over("#play-answer", "certainly not")
    page.click_when_enabled("#play-score")
    page.wait(lambda: "✗ 0.00" in page.text("#play-result"))
    for button in page.all(".play button"):
        if "reference" in button.text:
            button.click()
    answer = json.loads(page.wait_for(".play .answer + .text").text)
    page.type_over("#play-answer", " ".join(map(str, answer)) if isinstance(answer, list) else str(answer))
    page.click_when_enabled("#play-score")
    page.wait(lambda: "✓ 1.00" in page.text("#play-result"), f"the reference {answer!r} is not scored as right")


def test_the_map_is_coloured_played_and_leads_to_its_points(browser: Any, served: Any) -> None:
    page = Page(browser, f"{served.address}#/map")
    page.wait_for(".map canvas")
    total = count_of(page)
    assert total == len(served.document("map")["points"]) > 10
    page.choose("#map-by", "step")
    page.wait(lambda: "step" in page.text(".legend"))
    page.choose("#map-view", "code")
    page.find("#map-play").click()
    page.wait(lambda: count_of(page) < total)
    page.wait(lambda: count_of(page) == total)
    point = served.document("map")["points"][0]
    browser.execute_script(
        """
        const canvas = document.querySelector('.map canvas'), box = canvas.getBoundingClientRect(), pad = 18;
        const x = pad + (arguments[0] + 1) / 2 * (box.width - 2 * pad);
        const y = pad + (1 - arguments[1]) / 2 * (box.height - 2 * pad);
        const at = {clientX: box.left + x, clientY: box.top + y, bubbles: true};
        canvas.dispatchEvent(new MouseEvent('mousemove', at));
        """,
        *point["code"],
    )
    page.wait_for(".tip strong")


def test_hostile_texts_are_text(browser: Any, hostile: Path) -> None:
    with serving(hostile) as server:
        page = Page(browser, server.address)
        places = ["#/overview", "#/candidates", "#/environments", "#/map", "#/configuration", "#/rollouts"]
        places += [f"#/candidate/{row['id']}" for row in server.document("candidates")["rows"]]
        places += [f"#/environment/{row['id']}" for row in server.document("environments")["environments"][-5:]]
        places += [f"#/rollout/{row['id']}" for row in server.document("groups")["rows"][:6]]
        for place in places:
            page.go(place)
            page.wait_for("h1")
            page.wait(lambda: "Reading the run" not in page.text())
        page.go("#/candidates")
        page.wait_for(".rows .row[data-id]")
        assert ATTACKS[0] in page.text()
        page.go(f"#/candidate/{server.document('candidates')['rows'][7]['id']}")
        page.wait(lambda: "⟨202E⟩" in page.text())
        assert browser.execute_script("return window.pwned") is None
        assert page.all("main img, main script, main svg[onload], main iframe") == []
        assert page.errors() == []


def test_a_response_of_megabytes_is_cut_and_shown_as_a_whole_on_request(browser: Any, tmp_path: Path) -> None:
    with begin(tmp_path / "run") as store:
        name = add_candidate(store, 1, 0, source=None, response="<b>x</b>\x1b[31m\n" * 400_000)
    with serving(tmp_path / "run") as server:
        page = Page(browser, f"{server.address}#/candidate/{name}")
        button = page.wait_for("#response .cut button")
        assert "5,600,000" in button.text
        button.click()
        page.wait(
            lambda: browser.execute_script("return document.querySelector('#response pre').textContent.length") > 5e6
        )
        assert page.all("#response pre b") == []


def test_candidates_appear_while_somebody_writes_and_a_lost_server_is_said(browser: Any, tmp_path: Path) -> None:
    with begin(tmp_path / "run") as store:
        with serving(tmp_path / "run") as server:
            page = Page(browser, f"{server.address}#/candidates")
            page.wait(lambda: count_of(page) == 0)
            for index in range(3):
                add_candidate(store, 1, index, source=f"x = {index}", response="x")
            page.wait(lambda: count_of(page) == 3 and len(page.rows()) == 3)
            assert page.rows() == ["s00001.g000.c02", "s00001.g000.c01", "s00001.g000.c00"]
        page.wait(lambda: "connection is lost" in page.text(".connection"))
        assert len(page.rows()) == 3, "what was read stays"


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(browser: Any, served: Any, view: str) -> None:
    browser.set_window_size(500, 900)
    try:
        page = Page(browser, f"{served.address}#/{view}")
        page.wait_for(".row[data-id], .grid, .map, .settings, table.plain td")
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        browser.set_window_size(1200, 900)


def test_light_and_dark_are_remembered(browser: Any, served: Any) -> None:
    page = Page(browser, served.address)

    def ground() -> str:
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    page.wait_for("#theme").click()
    page.wait(lambda: browser.execute_script("return document.documentElement.dataset.theme") == "light")
    light = ground()
    page.find("#theme").click()
    page.wait(lambda: browser.execute_script("return document.documentElement.dataset.theme") == "dark")
    assert ground() != light
    page = Page(browser, served.address)
    page.wait(lambda: browser.execute_script("return document.documentElement.dataset.theme") == "dark")
    page.wait_for("#theme").click()


def test_several_runs_are_laid_over_each_other(browser: Any, tmp_path: Path) -> None:
    names = ("one", "two, three", "four")
    for seed, name in enumerate(names):
        large_run(tmp_path / "runs" / name, 2, 6, seed=seed)
    with serving(tmp_path / "runs") as server:
        page = Page(browser, server.address)
        page.choose("#run", "one")
        page.wait(lambda: page.text("h1") == "one")
        page.choose("#with", "two, three")
        page.choose("#with", "four")
        page.wait(lambda: all(f"training score, {name}" in page.text() for name in names))
        page.wait(lambda: len(page.all(".side-by-side tbody tr")) == 3)
        page.find(".chip").click()
        page.wait(lambda: "training score, two, three" not in page.text() and len(page.all(".chip")) == 1)
        assert page.errors() == []


# --------------------------------------------------------------------------- a real training process


@pytest.mark.long
@pytest.mark.model
@pytest.mark.sandbox
def test_a_real_training_process_is_watched_and_what_it_wrote_is_played(browser: Any, tmp_path: Path) -> None:
    """`nano` trains two steps: its candidates appear while it trains, and one that it admits is played."""
    directory = tmp_path / "run"
    command = [sys.executable, "-m", "evoenv", "train", "--preset", "nano", "--steps", "2", "--plain"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    training = subprocess.Popen(
        [*command, "--run", str(directory)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines: list[str] = []
    assert training.stderr is not None
    reading = threading.Thread(target=lambda: lines.extend(training.stderr or ()), daemon=True)
    reading.start()
    try:
        with serving(directory, wait=True) as server:
            page = Page(browser, server.address)
            seen: list[int] = []

            def candidates() -> int:
                page.go("#/candidates")
                page.wait_for(".title-row p")
                return count_of(page)

            def more(than: int) -> bool:
                assert training.poll() in (None, 0), lines
                return candidates() > than

            wait = WebDriverWait(browser, 600, 0.5, [StaleElementReferenceException])
            wait.until(lambda _: more(0))
            seen.append(candidates())
            assert training.poll() is None, "candidates are seen while it trains"
            page.go("#/overview")
            page.wait(lambda: page.all(".pulse.on"))
            wait.until(lambda _: server.document("overview")["environments"]["total"] > 10)
            assert training.wait(600) == 0, lines
            page.wait(lambda: "finished" in page.text(".now"))
            generated = [row for row in server.document("environments")["environments"] if not row["original"]]
            page.go(f"#/environment/{generated[0]['id']}")
            page.wait_for("#play-draw").click()
            page.wait_for(".play .answer")
            page.find("#play-answer").send_keys("0")
            page.click_when_enabled("#play-score")
            page.wait(lambda: ".00" in page.text("#play-result"))
            assert page.errors() == []
    finally:
        if training.poll() is None:
            training.send_signal(signal.SIGKILL)
        training.wait()
