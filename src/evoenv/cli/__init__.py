"""The command line: one thin module per command. Heavy parts load when a command needs them."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from evoenv.errors import EvoEnvError

COMMANDS = ("train", "synth", "validate", "play", "envs", "doctor")


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
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except EvoEnvError as error:
        print(f"evoenv: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("evoenv: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (`head`, a closed pager) has seen enough; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
