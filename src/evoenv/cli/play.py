"""`evoenv play NAME|FILE`: show an instance; score an answer."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rich.panel import Panel
from rich.text import Text

from evoenv.assembly import open_sandbox
from evoenv.cli.common import (
    add_allow_module,
    add_environment_options,
    add_json_option,
    console,
    parse_parameters,
    print_json,
    visible,
)
from evoenv.environment.answers import extract_answer
from evoenv.environment.files import find_controller, read_controller, read_source, short
from evoenv.environment.seeds import SEED_NAMES, seed_source
from evoenv.errors import InputError
from evoenv.exchange.checking import allowed_modules


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument(
        "environment", metavar="NAME|FILE", help=f"a seed ({', '.join(SEED_NAMES)}) or an environment file"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--difficulty", type=int, default=1, metavar="LEVEL")
    parser.add_argument(
        "--answer", metavar="TEXT", help="score this answer (bare, or a whole response with <answer>…</answer>)"
    )
    add_allow_module(parser, "the environment")
    add_json_option(parser)
    add_environment_options(parser)
    parser.set_defaults(run=run)


def find_environment(name: str) -> tuple[str, str, Path | None]:
    """Return (shown name, source, path) of a seed by its class name, or of a file."""
    for seed in SEED_NAMES:
        if name.lower().replace("_", "").replace("-", "") == seed.lower():
            return seed, seed_source(seed), None
    path = Path(name)
    if not path.suffix and not os.path.lexists(name):  # unlike Path.exists(), at ease with any name
        raise InputError(f"no seed is called {short(name)!r}; expected a file or one of {', '.join(SEED_NAMES)}")
    source, problem = read_source(path)
    if problem is not None:
        raise InputError(f"{short(path)}: {problem.message}; {problem.hint}")
    return name, source, path


def run(arguments: argparse.Namespace) -> int:
    if arguments.difficulty < 0:
        raise InputError(f"--difficulty is {arguments.difficulty}; expected a level of 0 or more")
    if not 0 <= arguments.seed < 2**63:
        raise InputError(f"--seed is {arguments.seed}; expected 0 ≤ seed < 2^63")
    name, source, path = find_environment(arguments.environment)
    controller = read_controller(arguments.controller or (find_controller(path) if path else None))
    modules = allowed_modules(arguments.allow_module)
    with open_sandbox(allow_degraded=arguments.allow_degraded, modules=modules) as sandbox:
        worker = sandbox.open(source, controller=controller, parameters=parse_parameters(arguments.parameters))
        if worker.failure is not None:
            raise InputError(f"{name}: {worker.failure.message}; `evoenv validate` says more")
        instance = worker.instances([arguments.seed], arguments.difficulty)[0]
        if instance is None:
            raise InputError(f"{name}: {worker.failures[0].message}; `evoenv validate` says more")
        document: dict[str, Any] = {
            "environment": worker.description.get("class", name),
            "seed": arguments.seed,
            "difficulty": arguments.difficulty,
            "prompt": instance.prompt,
            "reference": shown(instance.reference),
        }
        if arguments.answer is not None:
            text = extract_answer(arguments.answer)
            text = arguments.answer.strip() if text is None else text
            score = worker.score([(arguments.seed, arguments.difficulty, text)])[0]
            document["score"] = score.value if text else 0.0
            document["format_ok"] = bool(text)
            if score.failure:
                raise InputError(f"{name}: the scorer failed: {score.failure}")
        worker.close()
    if arguments.json:
        print_json(document)
    else:
        show(document)
    return 0


def shown(encoded: Any) -> Any:
    """Return an encoded value as plain JSON: tags dropped, tuples and sets as lists."""
    if isinstance(encoded, list):
        return [shown(item) for item in encoded]
    if isinstance(encoded, dict):
        if "~" in encoded:
            if encoded["~"] in ("dict", "Counter", "OrderedDict", "defaultdict"):
                return {str(shown(key)): shown(item) for key, item in encoded["v"]}
            return shown(encoded["v"])
        return {key: shown(item) for key, item in encoded.items()}
    return encoded


def show(document: dict[str, Any]) -> None:
    screen = console()
    title = f"{document['environment']}, seed {document['seed']}, difficulty {document['difficulty']}"
    screen.print(Panel(Text(visible(document["prompt"])), title=Text(visible(title)), title_align="left"))
    screen.print(Text.assemble(("reference  ", "dim"), visible(str(document["reference"]))))
    if "score" in document:
        style = "bold green" if document["score"] >= 1 else "yellow" if document["score"] > 0 else "bold red"
        screen.print(Text.assemble(("score      ", "dim"), (f"{document['score']:g}", style)))
