"""`evoenv watch`: a run in the browser, live while it trains. It only reads."""

from __future__ import annotations

import argparse
import secrets
import socket
import webbrowser
from contextlib import suppress
from pathlib import Path

from evoenv.cli.common import console, visible
from evoenv.errors import InputError
from evoenv.report.write import write_page
from evoenv.watch.folder import RunFolder
from evoenv.watch.guard import is_loopback
from evoenv.watch.playing import Player
from evoenv.watch.server import PORT, Dashboard, listen, serve
from evoenv.wording import plural

DEFAULT = Path("runs")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show runs in the browser, live while they train. Only reads them: a training process on the same directory is "
        "neither slowed down nor locked. A folder shows all runs below it, side by side."
    )
    parser.add_argument(
        "directory", type=Path, nargs="?", metavar="RUN|DIR", help="a run, or a folder of runs (default: runs)"
    )
    parser.add_argument("--port", type=int, metavar="N", help=f"the port (default: the first free one from {PORT} on)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on (default: this machine alone); any other needs the token that is then printed",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        help="write the page of one run as an HTML file that needs no server, and end",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument("--wait", action="store_true", help="start even if there is no run yet")
    parser.add_argument(
        "--allow-degraded",
        action="store_true",
        help="play environments even where the kernel's isolation is incomplete (trusted code only)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.port is not None and not 0 <= arguments.port <= 65535:
        raise InputError(f"--port is {arguments.port}; expected 0 to 65535")
    if arguments.write is not None:
        return write(arguments.directory or DEFAULT, arguments.write)
    folder = RunFolder(arguments.directory or DEFAULT, wait=arguments.wait)
    listening = listen(arguments.host, arguments.port)
    host, port = listening.getsockname()[:2]
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    address = f"http://{reachable(host)}:{port}/" + (f"?token={token}" if token else "")
    screen = console()
    screen.print(f"watching {visible(str(folder.directory))}: {address}", markup=False, soft_wrap=True)
    note = "Ctrl-C ends the page, not the run"
    if token:
        note = f"whoever has this address sees the runs and may run their environments in the sandbox. {note}"
    screen.print(note, markup=False, soft_wrap=True, style="dim")
    if arguments.open:
        webbrowser.open(address)
    with suppress(KeyboardInterrupt):
        serve(Dashboard(folder, Player(allow_degraded=arguments.allow_degraded)), listening, token)
    return 0


def write(directory: Path, path: Path) -> int:
    """Write the page of a run, and say what it carries."""
    _, run_directory = RunFolder(directory).find(None)
    size, candidates, with_texts = write_page(run_directory, path)
    left_out = candidates - with_texts
    console().print(
        f"page: {visible(str(path))} ({size / 1e6:.1f} MB; {plural(candidates, 'candidate')}"
        + (f", {left_out:,} of them without their texts" if left_out else "")
        + ")",
        soft_wrap=True,
        markup=False,
    )
    return 0


def reachable(host: str) -> str:
    """Write the host of an address as a browser does; the machine's name if all its addresses are listened on."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
