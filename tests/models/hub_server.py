"""The part of a model hub's HTTP interface that a download uses, on loopback, for one repository.

python hub_server.py OWNER/NAME DIRECTORY [--lie FILE]      prints its port; states a wrong digest for FILE
"""

from __future__ import annotations

import argparse
import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    repository: str
    directory: Path
    lie: str | None

    def log_message(self, *_: object) -> None: ...

    def listing(self) -> dict[str, Any]:
        siblings = []
        for path in sorted(self.directory.iterdir()):
            entry: dict[str, Any] = {"rfilename": path.name, "size": path.stat().st_size, "blobId": "b" * 40}
            if path.suffix == ".safetensors":
                digest = "0" * 64 if path.name == self.lie else hashlib.sha256(path.read_bytes()).hexdigest()
                entry["lfs"] = {"sha256": digest, "size": path.stat().st_size, "pointerSize": 134}
            siblings.append(entry)
        return {"_id": "1", "id": self.repository, "sha": COMMIT, "siblings": siblings}

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        if path.startswith(f"/api/models/{self.repository}"):
            tree = path.startswith(f"/api/models/{self.repository}/tree")
            entries = [
                {"type": "file", "path": file["rfilename"], "size": file["size"], "oid": "b" * 40}
                for file in self.listing()["siblings"]
            ]
            self.send(200, json.dumps(entries if tree else self.listing()).encode(), {}, body)
            return
        file = self.directory / path.rpartition("/")[2]
        if not path.startswith(f"/{self.repository}/resolve/") or not file.is_file():
            self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)
            return
        content = file.read_bytes()
        etag = hashlib.sha256(content).hexdigest()
        self.send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, body)

    def send(self, status: int, content: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("repository")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--lie")
    arguments = parser.parse_args()
    Handler.repository, Handler.directory, Handler.lie = arguments.repository, arguments.directory, arguments.lie
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
