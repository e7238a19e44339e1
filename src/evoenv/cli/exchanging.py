"""Options that `export`, `import` and `pool` share."""

from __future__ import annotations

import argparse

from evoenv.cli.common import add_allow_degraded, add_allow_module, add_json_option


def add_trust_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust", action="store_true", help="believe the verdicts stamped on a packed pool instead of validating again"
    )
    add_allow_module(parser)
    add_json_option(parser)
    add_allow_degraded(parser)
