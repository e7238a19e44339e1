"""The command line: one thin module per command, loaded when it is chosen. Only `evoenv.__main__` imports it."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import json
import os
import sqlite3
import sys
import warnings
import zlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any, TextIO

from evoenv import __version__
from evoenv.cli.common import visible
from evoenv.errors import EvoEnvError, InputError

NOT_WRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("evoenv.cli.train", "the whole loop: a model writes, checks and solves its own environments"),
    "synth": ("evoenv.cli.synth", "a verified pool from any OpenAI-compatible model, without training"),
    "validate": ("evoenv.cli.validate", "check environment files, layers L1 to L5"),
    "play": ("evoenv.cli.play", "show an instance; score an answer"),
    "envs": ("evoenv.cli.envs", "list environments"),
    "compare": ("evoenv.cli.compare", "curricula side by side: same model, compute and seeds; one table and figures"),
    "eval": ("evoenv.cli.eval", "accuracy with confidence intervals, on environments or benchmark files"),
    "audit": ("evoenv.cli.audit", "verdicts with evidence that can be replayed, on somebody else's environments"),
    "audit-review": ("evoenv.cli.audit_review", "how well the reviewer tells sound environments from buggy ones"),
    "audit-overlap": ("evoenv.cli.audit_overlap", "how far a pool's prompts overlap with benchmarks, pair by pair"),
    "watch": ("evoenv.cli.watch", "runs in the browser, live while they train; only reads"),
    "report": ("evoenv.cli.report", "figures and one self-contained HTML file of a run"),
    "export": ("evoenv.cli.export", "write a pool for another project: verl, TRL, verifiers, data sets, …"),
    "import": (
        "evoenv.cli.import_",
        "take environments in: RLVE-Gym, reasoning-gym, packed pools, any folder of environment files",
    ),
    "pool": ("evoenv.cli.pool", "pack a run's pool into a plain directory, or unpack one"),
    "warm-start": ("evoenv.cli.warm_start", "teach a weak model both roles, from the corpus or from a pool"),
    "doctor": ("evoenv.cli.doctor", "check this machine"),
}
"""Name -> module and one line of help. A module is loaded when its command is chosen."""

EXTRAS = {"evoenv.cli.watch": "watch"}
"""Commands that need an extra of their own."""


class CommandParser(argparse.ArgumentParser):
    """Gets its description and options from the command's module, once it has something to parse."""

    module: str | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.module is not None:
            module, self.module = self.module, None
            load_command(module).configure(self)
        return super().parse_known_args(args, namespace)


def load_command(module: str) -> ModuleType:
    """Import a command's module. A package that is not installed is said in words."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "evoenv":
            raise
        extras = EXTRAS.get(module, "local,endpoint")
        raise InputError(
            f"{error.name} not found; install what {'this command' if module in EXTRAS else 'a run'} needs: "
            f"pip install 'evoenv[{extras}]'"
        ) from error


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evoenv",
        description="Verifiable environment synthesis: a language model writes the Python environments that train it.",
    )
    parser.add_argument("--version", action="version", version=f"evoenv {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=CommandParser)
    for name, (module, text) in COMMANDS.items():
        commands.add_parser(name, help=text).module = module
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
    except (zlib.error, sqlite3.Error, json.JSONDecodeError) as error:
        reason = f"{type(error).__name__}: {visible(str(error))}"
        complain(f"something that was kept cannot be read ({reason}); is the run damaged? Try a copy of it")
        return 1
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
    """Make sure that streams are there and take any text: a closed one swallows it, a narrow encoding gets escapes."""
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
