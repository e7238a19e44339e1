"""Options that `export`, `import` and `pool` share."""

from __future__ import annotations

import argparse


def add_trust_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust", action="store_true", help="believe the verdicts stamped on a packed pool instead of validating again"
    )
    parser.add_argument(
        "--allow-module",
        action="append",
        default=[],
        metavar="NAME",
        help="let environments import this module too (trusted code only); may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument(
        "--allow-degraded",
        action="store_true",
        help="run even if the kernel's isolation is incomplete (trusted code only)",
    )
