"""The command line: one thin module per command. Heavy parts load when a command needs them."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from evoenv.cli.common import visible
from evoenv.errors import EvoEnvError

NOT_WRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
COMMANDS = (
    "train",
    "synth",
    "validate",
    "play",
    "envs",
    "compare",
    "eval",
    "audit_review",
    "report",
    "export",
    "import_",
    "pool",
    "warm_start",
    "doctor",
)


def build_parser() -> argparse.ArgumentParser:
    from evoenv import __version__

    parser = argparse.ArgumentParser(
        prog="evoenv",
        description="Verifiable environment synthesis: a language model writes the Python environments that train it.",
    )
    parser.add_argument("--version", action="version", version=f"evoenv {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"evoenv.cli.{name}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Errors made on purpose are one line on stderr; 2 means misuse, 130 Ctrl-C."""
    prepare_output()
    # Python warns of odd literals in whatever it parses; in a candidate's source they are no news for the user.
    warnings.filterwarnings("ignore", category=SyntaxWarning)
    try:
        try:
            arguments = build_parser().parse_args(argv)
            return int(arguments.run(arguments))
        finally:
            sys.stdout.flush()  # here, where a failure can still be reported, not at the interpreter's exit
    except EvoEnvError as error:
        complain(visible(str(error)))
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader (`head`, a closed pager) has seen enough.
        give_up(sys.stdout)
        return 0
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        give_up(sys.stdout)
        complain(f"cannot write the output: {visible(str(error))}; make room, or write to another place")
        return 1


def prepare_output() -> None:
    """Streams that are there and take any text: a closed one swallows it, a narrow encoding gets escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the process's life
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def complain(text: str) -> None:
    try:
        print(f"evoenv: {text}", file=sys.stderr, flush=True)
    except OSError:  # nobody is left to be told
        give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Keep the interpreter from complaining at exit about what could not be written."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
