"""Who is answered and who is not: Host, Origin, token, bodies, paths; and what the browser is told to forbid."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evoenv.watch.guard import BODY_AT_MOST, Guard, host_of, is_loopback

JSON = "application/json"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8420",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.7",
        "",
        "[::2]:80",
        "0.0.0.0",
    ],
)
def test_a_foreign_host_is_refused(small: Any, host: str) -> None:
    status, _, body = small.ask("/api/runs", host=host)
    assert status == 421
    assert b"small" not in body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST", "[::1]"])
def test_the_names_of_this_machine_are_answered(small: Any, host: str) -> None:
    assert small.ask("/api/runs", host=f"{host}:{small.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/changes"])
def test_a_foreign_origin_is_refused(small: Any, origin: str, path: str) -> None:
    assert small.ask(path, origin=origin)[0] == 403


def test_the_own_origin_is_answered(small: Any) -> None:
    assert small.ask("/api/runs", origin=f"http://127.0.0.1:{small.port}")[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_calls_cross_site_is_refused(small: Any, site: str) -> None:
    assert small.ask("/api/runs", sec_fetch_site=site)[0] == 403
    assert small.ask("/", sec_fetch_site=site)[0] == 200, "a link from elsewhere may open the page"


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/", 401),
        ({}, "/api/runs", 401),
        ({}, "/app.js", 401),
        ({}, "/?token=wrong", 401),
        ({}, "/?token=", 401),
        ({"authorization": "Bearer wrong"}, "/api/runs", 401),
        ({"cookie": "evoenv-watch-0=secret-token"}, "/api/runs", 401),
        ({"cookie": "=;;;\x01"}, "/api/runs", 401),
        ({"authorization": "Bearer secret-token"}, "/api/runs", 200),
        ({}, "/?token=secret-token", 200),
    ],
)
def test_a_server_with_a_token_wants_it(
    small_run: Path, serve: Callable[..., Any], headers: dict[str, str], path: str, status: int
) -> None:
    with serve(small_run, token="secret-token") as served:
        assert served.ask(path, **headers)[0] == status


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read(
    small_run: Path, serve: Callable[..., Any]
) -> None:
    with serve(small_run, token="secret-token") as served:
        _, headers, _ = served.ask("/?token=secret-token")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert served.ask("/api/runs", cookie=cookie.partition(";")[0])[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/../server.py",
        "/app.js/../../server.py",
        "/app.js%00",
        "//etc/passwd",
        "/api/../run.sqlite",
        "/run.sqlite",
        "/config.toml",
    ],
)
def test_no_file_can_be_named(small: Any, path: str) -> None:
    assert small.ask(path)[0] in (404, 405)


@pytest.mark.parametrize("name", ["..", "../small", "/etc", ".", "small/../small", "%00", "other", "C:\\", "é" * 200])
def test_no_run_outside_the_directory_can_be_named(small: Any, name: str) -> None:
    from urllib.parse import quote

    status, _, body = small.ask(f"/api/overview?run={quote(name)}")
    assert status == 400
    assert "no run called" in json.loads(body)["error"]


def test_a_link_that_leads_outside_is_not_followed(tmp_path: Path, small_run: Path, serve: Callable[..., Any]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(small_run)
    with serve(folder, wait=True) as served:
        assert served.document("runs")["runs"] == []


def test_a_large_body_is_refused_by_its_length_and_while_it_is_read(small: Any) -> None:
    large = b'{"answer": "' + b"a" * (BODY_AT_MOST + 1) + b'"}'
    assert small.ask("/api/play", method="POST", body=large, content_type=JSON)[0] == 413
    chunk = b"8000\r\n" + b"a" * 0x8000 + b"\r\n"
    body = chunk * 3 + b"0\r\n\r\n"
    assert small.ask("/api/play", method="POST", body=body, content_type=JSON, transfer_encoding="chunked")[0] == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_another_page_cannot_play(small: Any, kind: str) -> None:
    assert small.ask("/api/play", method="POST", body=b"{}", content_type=kind)[0] == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(small: Any, method: str) -> None:
    assert small.ask("/api/runs", method=method)[0] == 405


def test_a_long_address_is_refused(small: Any) -> None:
    assert small.ask("/api/candidates?text=" + "a" * 9000)[0] == 414


@pytest.mark.parametrize("path", ["/", "/api/runs", "/app.js", "/nothing", "/api/overview?run=no"])
def test_every_answer_forbids_what_the_page_does_not_need(small: Any, path: str) -> None:
    _, headers, _ = small.ask(path)
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_an_open_address_still_refuses_names_that_it_does_not_know() -> None:
    async def app(scope: object, receive: object, send: object) -> None: ...

    guard = Guard(app, host="0.0.0.0", port=80, token="t")
    assert guard._is_ours("10.1.2.3")
    assert guard._is_ours("fe80::1")
    assert not guard._is_ours("rebound.example")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost:8420", "localhost"),
        ("LocalHost", "localhost"),
        ("[::1]:8420", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("a.b:", "a.b"),
        ("", ""),
    ],
)
def test_the_name_is_read_out_of_the_host_header(header: str, name: str) -> None:
    assert host_of(header) == name


@pytest.mark.parametrize(
    ("host", "yes"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("example", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, yes: bool) -> None:
    assert is_loopback(host) is yes
