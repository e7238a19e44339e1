"""`evoenv audit-overlap`: how far the prompts of a pool overlap with benchmarks; the closest pairs side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evoenv.assembly import open_embedder
from evoenv.cli.common import (
    add_allow_degraded,
    add_json_option,
    console,
    parse_levels,
    print_json,
    progress_bar,
    visible,
)
from evoenv.config import load_config
from evoenv.durable import write_bytes
from evoenv.environment.sets import RunPool, parse_set
from evoenv.errors import InputError
from evoenv.evaluation import find_suite
from evoenv.evaluation.naming import results_name
from evoenv.overlap.audit import compare, render_pool, results_folder, suite_texts
from evoenv.overlap.page import TITLES, count_rows, page
from evoenv.overlap.results import FOLDER, Overlap, Pair, write_overlap
from evoenv.store.store import Store

SHOWN_TEXT = 700
"""Characters of a text that the terminal shows."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Render the environments of a run (all that were ever in its pool) and compare the prompts with the problems "
        "of benchmarks, by n-grams of words and by embeddings. Writes a page with the closest pairs and a JSON "
        "document; the run's report draws the figures."
    )
    parser.add_argument(
        "pool", metavar="RUN", help="a run, or other environments: seeds, corpus:SPLIT, a file, a folder"
    )
    parser.add_argument(
        "--suite", action="append", required=True, metavar="S", dest="suites",
        help="what `evoenv eval --suite` takes: math:FILE.jsonl, FILE.jsonl, seeds, a folder, …; may be repeated",
    )  # fmt: skip
    parser.add_argument("--active", action="store_true", help="of a run the active pool alone")
    parser.add_argument(
        "--difficulties", metavar="0,1,2", help="levels of the prompts (the one that the run trains on, or 0,1,2)"
    )
    parser.add_argument("--instances", type=int, default=4, metavar="N", help="of each environment and level (4)")
    parser.add_argument("--ngram", type=int, default=8, metavar="N", help="words in a run (8)")
    parser.add_argument("--pairs", type=int, default=10, metavar="N", help="closest pairs by each measure (10)")
    parser.add_argument("--embedder", metavar="M", help="the text encoder (the run's: all-MiniLM-L6-v2)")
    parser.add_argument("--limit", type=int, metavar="N", help="of a file, the first N problems")
    parser.add_argument("--seed", type=int, default=0, help="of the instances (0)")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help=f"where to write (RUN/{FOLDER})")
    add_json_option(parser)
    add_allow_degraded(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    for flag in ("instances", "ngram", "pairs"):
        if getattr(arguments, flag) < 1:
            raise InputError(f"--{flag} is {getattr(arguments, flag)}; expected 1 or more")
    settings = _settings(arguments.pool)
    if arguments.embedder:
        settings.setdefault("novelty", {})["embedder"] = arguments.embedder
    config = load_config(settings)
    levels = parse_levels(arguments.difficulties) if arguments.difficulties else _trained_levels(settings)
    # The suites first: a file that cannot be read is said before anything is rendered.
    suites = [
        find_suite(
            text, difficulties=levels, instances=arguments.instances, seed=arguments.seed, limit=arguments.limit,
            allow_degraded=arguments.allow_degraded, grades=False,
        )
        for text in arguments.suites
    ]  # fmt: skip
    pool = render_pool(
        arguments.pool, difficulties=levels, instances=arguments.instances, seed=arguments.seed,
        active=arguments.active, allow_degraded=arguments.allow_degraded,
    )  # fmt: skip
    embedder = open_embedder(config)
    folder = results_folder(arguments.pool, arguments.output, FOLDER)
    documents: list[dict[str, Any]] = []
    for text, suite in zip(arguments.suites, suites, strict=True):
        problems = suite_texts(suite, allow_degraded=arguments.allow_degraded)
        with progress_bar("embedding", quiet=arguments.json) as progress:
            overlap = compare(
                pool, text, problems, embedder, embedder_name=config.novelty.embedder, n=arguments.ngram,
                pairs=arguments.pairs, progress=progress,
            )  # fmt: skip
        document = folder / f"{results_name(text)}.json"
        write_overlap(document, overlap)
        write_bytes(document.with_suffix(".html"), page(overlap).encode("utf-8", "backslashreplace"))
        documents.append(
            {
                "suite": text,
                "counts": overlap.counts(),
                "document": str(document),
                "page": str(document.with_suffix(".html")),
            }
        )
        if not arguments.json:
            show(overlap, document, console())
    if arguments.json:
        print_json({"pool": arguments.pool, "suites": documents})
    return 0


def _settings(pool: str) -> dict[str, Any]:
    """Return the settings of the run, or none if the pool is of another kind."""
    named = parse_set(pool, where="pool")
    if not isinstance(named, RunPool):
        return {}
    with Store.read(named.directory) as store:
        config: dict[str, Any] = store.meta("config")
    return config


def _trained_levels(settings: dict[str, Any]) -> tuple[int, ...]:
    solver = settings.get("solver", {})
    if solver.get("difficulty_rule") == "fixed":
        return (int(solver["difficulty"]),)
    return (0, 1, 2)


def show(overlap: Overlap, document: Path, screen: Console) -> None:
    """Print the counts and the closest pairs, problem and prompt side by side."""
    title = f"{overlap.suite}: {len(overlap.matches):,} problems against {overlap.prompts:,} prompts of {overlap.pool}"
    screen.print(Text(visible(title), "bold"), soft_wrap=True)
    rows = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for words, value in count_rows(overlap):
        rows.add_row(words, value)
    screen.print(rows)
    for by, words in TITLES.items():
        found = [pair for pair in overlap.pairs if pair.by == by]
        screen.print(Text(f"\n{words}" + ("" if found else ": no prompt shares a run of words"), "bold"))
        for pair in found:
            _show_pair(pair, screen)
    page_path = document.with_suffix(".html")
    screen.print(Text(visible(f"\npage: {page_path}; every problem: {document}"), "dim"), soft_wrap=True)


def _show_pair(pair: Pair, screen: Console) -> None:
    title = f"n-grams {pair.ngram:.0%}, cosine {pair.cosine:.2f}"
    if pair.shared:
        title += f'; longest shared run: "{pair.shared[:120]}"'
    screen.print(Text(visible(title), "dim"), soft_wrap=True)
    sides = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), expand=True)
    sides.add_column(Text(visible(pair.problem)), ratio=1, overflow="fold")
    origin = ", original" if pair.original else ""
    sides.add_column(
        Text(visible(f"{pair.name} (seed {pair.seed}, level {pair.difficulty}{origin})")), ratio=1, overflow="fold"
    )
    sides.add_row(*(Text(visible(text[:SHOWN_TEXT])) for text in (pair.problem_text, pair.prompt_text)))
    screen.print(sides)
