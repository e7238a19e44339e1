"""Run an `evoenv` command on the verl engine without a GPU, in the environment that `./test verl` makes.

    .venv-verl/bin/python tests/verl/on_cpu.py train --preset nano --steps 3 --run runs/verl
    .venv-verl/bin/python tests/verl/on_cpu.py doctor

The command gets `engine.name=verl` and the settings of the CPU platform; what you `--set` yourself wins.
"""

from __future__ import annotations

import sys

import cpu_platform


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    cpu_platform.prepare()
    from evoenv.cli import main as evoenv

    command, *rest = arguments
    if "--resume" in rest:  # its settings are in the run
        return evoenv(arguments)
    engine = ["--engine", "verl"] if command == "doctor" else []
    settings = [part for setting in cpu_platform.OVERRIDES for part in ("--set", setting)]
    return evoenv([command, *engine, *settings, *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
