"""The server behind the page: documents as JSON, changes as server-sent events, answers scored on request.

It only reads runs. Work is done in threads, so that a long search holds up neither events nor other requests.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from evoenv.errors import EvoEnvError, InputError, SandboxError, StoreError
from evoenv.runs.candidates import CandidateQuery
from evoenv.runs.groups import GroupQuery, GroupRole
from evoenv.watch.bundle import asset
from evoenv.watch.documents import Document, encode
from evoenv.watch.folder import RunFolder, stamp
from evoenv.watch.guard import Guard
from evoenv.watch.playing import Player, TooOften
from evoenv.watch.reader import Missing, Reader

LOOK_EVERY_S = 1.0
"""How often a connected page is told of changes."""
SIGN_OF_LIFE_S = 15.0
"""A silent connection is kept open by a comment this often."""
MOST_LISTENERS = 64
PORT = 8420
PORTS_TRIED = 20
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/app.css": ("app.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
"""All files that are served, by path; nothing on disk can be asked for by its name."""

log = logging.getLogger(__name__)


class Dashboard:
    """The application: reads runs through a `Reader`, plays through a `Player`."""

    def __init__(self, folder: RunFolder, player: Player) -> None:
        self.folder = folder
        self.reader = Reader(folder)
        self.player = player
        self.ending: Callable[[], bool] = lambda: False
        """Says when streams of events must end, because the server is to stop."""
        self._listeners = 0
        self._files = {path: (asset(name), kind) for path, (name, kind) in FILES.items()}

    def app(self) -> Starlette:
        """Build the routes, without the guard."""
        documents: dict[str, Callable[[Arguments], Document]] = {
            "runs": lambda _: self.reader.runs(),
            "overview": lambda given: self.reader.overview(given.run),
            "candidates": self._candidates,
            "candidate": lambda given: self.reader.candidate(given.run, given.needed("id"), whole=given.whole),
            "environments": lambda given: self.reader.environments(given.run),
            "environment": lambda given: self.reader.environment(given.run, given.needed("id"), whole=given.whole),
            "groups": self._groups,
            "group": lambda given: self.reader.group(given.run, given.needed("id"), whole=given.whole),
            "map": lambda given: self.reader.landscape(given.run),
            "configuration": lambda given: self.reader.configuration(given.run),
            "events": lambda given: self.reader.events(given.run, given.number("before")),
        }
        return Starlette(
            routes=[
                *(Route(path, self._file, methods=["GET"]) for path in self._files),
                *(Route(f"/api/{name}", _get(make), methods=["GET"]) for name, make in documents.items()),
                Route("/api/changes", self._changes, methods=["GET"]),
                Route("/api/play", self._play, methods=["POST"]),
            ]
        )

    def warm_up(self) -> None:
        """Read the newest run once, so that the first page of a large one need not wait for it."""
        with suppress(EvoEnvError, OSError, sqlite3.Error):
            self.reader.overview(None)

    async def _file(self, request: Request) -> Response:
        content, kind = self._files[request.url.path]
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    def _candidates(self, given: Arguments) -> Document:
        query = CandidateQuery(
            step=given.number("step"),
            fate=given.text("fate"),
            layer=given.number("layer"),
            code=given.text("code"),
            tag=given.text("tag"),
            text=given.text("text"),
        )
        offset, limit = given.number("offset") or 0, given.number("limit") or 100
        return self.reader.candidates(given.run, query, order=given.text("sort"), offset=offset, limit=limit)

    def _groups(self, given: Arguments) -> Document:
        role = given.text("role")
        if role not in (None, "solver", "generator"):
            raise InputError(f"the role is {role!r}; expected solver or generator")
        query = GroupQuery(cast("GroupRole | None", role), given.number("step"), given.text("subject"))
        offset, limit = given.number("offset") or 0, given.number("limit") or 100
        return self.reader.groups(given.run, query, offset=offset, limit=limit)

    # ----------------------------------------------------------------- play

    async def _play(self, request: Request) -> Response:
        body = await request.body()

        def play() -> Document:
            try:
                wanted = json.loads(body)
            except ValueError as error:
                raise InputError("the body is not JSON") from error
            if not isinstance(wanted, dict):
                raise InputError("the body is not a JSON object")
            run, environment = wanted.get("run"), wanted.get("environment")
            seed, difficulty, answer = wanted.get("seed"), wanted.get("difficulty"), wanted.get("answer")
            if not isinstance(environment, str) or not (run is None or isinstance(run, str)):
                raise InputError("expected `environment`, and `run` if it is not the newest, as text")
            if isinstance(seed, str) and seed.isascii() and seed.isdigit() and len(seed) < 20:
                seed = int(seed)
            if type(seed) is not int or type(difficulty) is not int:
                raise InputError("expected `seed` (as a number or its digits) and `difficulty` as whole numbers")
            if not (answer is None or isinstance(answer, str)):
                raise InputError("expected `answer` as text")
            source, config = self.reader.source(run, environment)
            return self.player.play(source, config, seed, difficulty, answer)

        return await _answer(play)

    # ----------------------------------------------------------------- changes

    async def _changes(self, request: Request) -> Response:
        if self._listeners >= MOST_LISTENERS:
            return _json({"error": "too many pages are open; close some"}, 503)
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _stream(self) -> AsyncIterator[str]:
        """Tell which runs have changed since the last look; the first event names all of them."""
        self._listeners += 1
        try:
            known: dict[str, str] | None = None
            silent = 0.0
            yield "retry: 2000\n\n"
            while not self.ending():
                stamps = await run_in_threadpool(self._stamps)
                changed = [name for name, value in stamps.items() if known is None or known.get(name) != value]
                gone = [name for name in known or {} if name not in stamps]
                silent += LOOK_EVERY_S
                if changed or gone or known is None:
                    yield f"event: change\ndata: {encode({'changed': changed, 'gone': gone})}\n\n"
                    silent = 0.0
                elif silent >= SIGN_OF_LIFE_S:
                    yield ": nothing new\n\n"
                    silent = 0.0
                known = stamps
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            self._listeners -= 1

    def _stamps(self) -> dict[str, str]:
        return {name: stamp(path) for name, path in self.folder.runs().items()}


# --------------------------------------------------------------------------- requests and answers


class Arguments:
    """What a request asks for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def text(self, name: str) -> str | None:
        """Return a text; None if it is not given or empty."""
        return self._given.get(name) or None

    def needed(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise InputError(f"`{name}` is missing")
        return value

    def number(self, name: str) -> int | None:
        """Return a whole number from 0 on; None if it is not given."""
        value = self.text(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit()) or len(value) > 15:
            raise InputError(f"`{name}` is {value[:50]!r}; expected a whole number of 0 or more")
        return int(value)

    @property
    def run(self) -> str | None:
        return self.text("run")

    @property
    def whole(self) -> bool:
        """Whether long texts are wanted as a whole."""
        return self.text("whole") == "1"


def _get(make: Callable[[Arguments], Document]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return await _answer(lambda: make(Arguments(request.query_params)))

    return endpoint


async def _answer(make: Callable[[], Document]) -> Response:
    """Make a document in a thread and send it; errors become a status with one sentence."""
    try:
        return Response(await run_in_threadpool(lambda: encode(make())), media_type="application/json")
    except TooOften as error:
        answer = _json({"error": str(error)}, 429)
        answer.headers["retry-after"] = f"{error.seconds:.0f}"
        return answer
    except Missing as error:
        return _json({"error": str(error)}, 404)
    except InputError as error:
        return _json({"error": str(error)}, 400)
    except (StoreError, SandboxError) as error:
        return _json({"error": str(error)}, 503)
    except EvoEnvError as error:
        return _json({"error": str(error)}, 400)
    except Exception as error:  # a damaged database may fail anywhere: in zlib, in JSON, in a missing row
        log.warning("a request could not be answered", exc_info=True)
        return _json({"error": f"the run cannot be read ({type(error).__name__}: {error}); it may be damaged"}, 503)


def _json(document: Document, status: int) -> Response:
    return Response(encode(document), status_code=status, media_type="application/json")


# --------------------------------------------------------------------------- listening


def listen(host: str, port: int | None) -> socket.socket:
    """Take a port: the given one, or the first free one from PORT on."""
    reason: OSError | None = None
    for number in [port] if port is not None else range(PORT, PORT + PORTS_TRIED):
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return socket.create_server((host, number), family=family)
        except (OSError, OverflowError) as error:
            reason = error if isinstance(error, OSError) else OSError(str(error))
            if not isinstance(error, OSError) or isinstance(error, socket.gaierror):
                break
    taken = f"port {port}" if port is not None else f"ports {PORT} to {PORT + PORTS_TRIED - 1}"
    raise InputError(
        f"cannot listen on {host}, {taken}: {(reason.strerror if reason else None) or reason}; choose another with "
        "--port, or --port 0 for any that is free"
    )


def settings(dashboard: Dashboard, listening: socket.socket, token: str | None) -> uvicorn.Config:
    """Configure the server: behind the guard, and without a log of addresses, which may hold the token."""
    host, port = listening.getsockname()[:2]
    return uvicorn.Config(
        Guard(dashboard.app(), host=host, port=port, token=token),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
        ws="none",
    )


def serve(dashboard: Dashboard, listening: socket.socket, token: str | None) -> None:
    """Answer until Ctrl-C."""
    server = uvicorn.Server(settings(dashboard, listening, token))
    dashboard.ending = lambda: bool(server.should_exit)
    threading.Thread(target=dashboard.warm_up, daemon=True).start()
    try:
        server.run(sockets=[listening])
    finally:
        dashboard.player.close()
