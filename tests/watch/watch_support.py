"""A real server in front of runs, and a client that can say anything to it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from evoenv.watch.folder import RunFolder
from evoenv.watch.playing import Allowance, Player
from evoenv.watch.server import Dashboard, settings


class Served:
    """A server in a thread, and a client that can say anything to it."""

    def __init__(self, dashboard: Dashboard, port: int) -> None:
        self.dashboard = dashboard
        self.port = port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body. Headers are given with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.putrequest(method, path, skip_host="host" in given)
            if body is not None and "transfer-encoding" not in given:
                given.setdefault("content-length", str(len(body)))
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def document(self, path: str) -> Any:
        status, _, body = self.ask(f"/api/{path}")
        assert status == 200, body
        return json.loads(body)

    def play(self, **wanted: Any) -> tuple[int, Any]:
        body = json.dumps(wanted).encode()
        status, _, answer = self.ask("/api/play", method="POST", body=body, content_type="application/json")
        return status, json.loads(answer)


@contextmanager
def serving(
    directory: Path, *, token: str | None = None, wait: bool = False, allowance: Allowance | None = None
) -> Iterator[Served]:
    """Serve a directory as `evoenv watch` does, on a free port."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    dashboard = Dashboard(RunFolder(directory, wait=wait), Player(allowance=allowance))
    server = uvicorn.Server(settings(dashboard, listening, token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    dashboard.ending = lambda: server.should_exit
    thread.start()
    try:
        yield Served(dashboard, port)
    finally:
        server.should_exit = True
        thread.join(30)
        dashboard.player.close()
