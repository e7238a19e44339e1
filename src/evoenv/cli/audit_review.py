"""`evoenv audit-review`: how far the reviewer and the mechanical checks agree with labels; the paper's table."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table
from rich.text import Text

from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import console, print_json, visible
from evoenv.cli.eval_view import ProgressBar
from evoenv.config import Config
from evoenv.errors import InputError
from evoenv.evaluation.subject import Subject, model_subject, run_subject
from evoenv.review_audit.audit import audit, audit_config, results_path
from evoenv.review_audit.labels import LabelledSet, read_set
from evoenv.review_audit.tables import DEPLOYED, Audit, table_text


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Review labelled environments, run L1 to L5 on them, and print accuracy, precision, recall, F1 and "
        "confusion of both, alone and together; the positive class is 'buggy'. Verdicts are kept one by one; the same "
        "command continues what was stopped."
    )
    parser.add_argument(
        "labels", metavar="LABELS",
        help="shipped (a set of EvoEnv's own), corpus (programs of the procedural author, sound and broken), a run "
        "(its candidates, labelled by the consistency oracle), or a folder of environments with labels.toml or "
        "labels.json",
    )  # fmt: skip
    who = parser.add_argument_group("the reviewer")
    who.add_argument("--model", metavar="M", help="name, hub id or directory")
    who.add_argument("--base-url", metavar="U", help="the OpenAI-compatible server that has the model")
    who.add_argument("--run", dest="run_directory", type=Path, metavar="DIR", help="a run: its newest checkpoint")
    who.add_argument("--checkpoint", type=int, metavar="STEP", help="of the run, another step; 0: before training")
    who.add_argument("--mechanical-only", action="store_true", help="L1 to L5 alone; no model is needed")
    who.add_argument("--reviews", type=int, metavar="K", help="reviews of each environment (review.reviews: 3)")
    who.add_argument("--preset", metavar="P", help="settings of a shipped configuration: nano, laptop, …")
    who.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="a.b=v",
        help="one setting, as review.max_tokens=2048; may be repeated",
    )  # fmt: skip
    parser.add_argument("--count", type=int, metavar="N", help="N of each label, drawn (all; 40 of the corpus)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw, of instances and of reviews (0)")
    parser.add_argument("--results", type=Path, metavar="FILE", help="where verdicts are kept, and continued from")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument(
        "--allow-degraded", action="store_true",
        help="run even if the kernel's isolation is incomplete (trusted code only)",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    check(arguments)
    labelled = read_set(arguments.labels, count=arguments.count, seed=arguments.seed)
    if arguments.mechanical_only:
        return run_audit(arguments, labelled, None, None)
    own = [] if arguments.reviews is None else [f"review.reviews={arguments.reviews}"]
    config = audit_config(arguments.run_directory, arguments.preset, [*arguments.overrides, *own])
    if config.review.reviews < 1:
        raise InputError(f"review.reviews is {config.review.reviews}; expected 1 or more")
    return run_audit(arguments, labelled, config, reviewer(arguments, config))


def check(arguments: argparse.Namespace) -> None:
    named = arguments.run_directory is not None or arguments.model is not None or arguments.preset is not None
    if arguments.mechanical_only and (named or arguments.base_url or arguments.reviews is not None):
        raise InputError(
            "--mechanical-only asks no reviewer; leave out --model, --base-url, --run, --preset, --reviews"
        )
    if not arguments.mechanical_only and not named:
        raise InputError("audit-review needs --model M or --run DIR (who reviews?), or --mechanical-only")
    if arguments.run_directory is not None and arguments.model is not None:
        raise InputError("--model and --run exclude each other; which of them is to review?")
    if arguments.run_directory is not None and arguments.preset is not None:
        raise InputError("a run brings its own settings; leave --preset out, and use --set for what should differ")
    if arguments.checkpoint is not None and arguments.run_directory is None:
        raise InputError("--checkpoint is a step of a run; give --run DIR with it")


def reviewer(arguments: argparse.Namespace, config: Config) -> Subject:
    require_packages("numpy")
    if arguments.run_directory is not None:
        if arguments.base_url:
            raise InputError("--base-url goes with --model; a run brings its own model")
        return run_subject(arguments.run_directory, arguments.checkpoint, arguments.overrides)
    overrides = [*_model_settings(config), *arguments.overrides]
    return model_subject(arguments.model or config.model.name, arguments.base_url, overrides)


def _model_settings(config: Config) -> list[str]:
    """Return what a preset says about the model itself, as settings."""
    return [
        f"model.dtype={config.model.dtype}",
        f"model.device={config.model.device}",
        f"model.sample_batch_tokens={config.model.sample_batch_tokens}",
    ]


def run_audit(
    arguments: argparse.Namespace, labelled: LabelledSet, config: Config | None, subject: Subject | None
) -> int:
    screen = console(stderr=True)
    results = arguments.results or results_path(labelled, subject)
    try:
        with driving.logged(screen):
            audited = audit(
                labelled, config, subject, results,
                seed=arguments.seed, progress=lambda what: ProgressBar(screen, what),
                allow_degraded=arguments.allow_degraded,
            )  # fmt: skip
    except KeyboardInterrupt:
        screen.print(
            f"stopped; the verdicts so far are in {results}, and the same command continues",
            markup=False, soft_wrap=True,
        )  # fmt: skip
        return driving.INTERRUPTED
    reviews = config.review.reviews if config is not None else 0
    label = subject.label if subject is not None else None
    if arguments.json:
        print_json({"model": label, "reviews": reviews, "results": str(results), **audited.to_json()})
    else:
        show(audited, label, reviews, results)
    return 0


def show(audited: Audit, label: str | None, reviews: int, results: Path) -> None:
    screen = console()
    items = audited.labelled.items
    sound = sum(not item.buggy for item in items)
    title = f"{audited.labelled.name}: {sound} sound, {len(items) - sound} buggy"
    reviewed = f"; {reviews} reviews each by {label}" if label is not None else ""
    screen.print(Text(visible(title + reviewed), "bold"), soft_wrap=True)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("checks", "rule"):
        table.add_column(column, no_wrap=True)
    for column in ("acc.", "prec.", "recall", "F1", "(TP, FP, TN, FN)", "unparsed"):
        table.add_column(column, justify="right", no_wrap=True)
    for cells in table_text(audited.rows):
        table.add_row(*cells)
    screen.print(table)
    kinds = Table(box=None, header_style="bright_black", pad_edge=False)
    kinds.add_column("refused, by kind of defect", no_wrap=True)
    columns = ("of", "L1-L5", *(("review", "both") if label is not None else ()))
    for column in columns:
        kinds.add_column(column, justify="right")
    for row in audited.kinds:
        counts = (row.count, row.mechanical, row.review, row.both)[: len(columns)]
        kinds.add_row(Text(visible(row.kind)), *map(str, counts))
    screen.print()
    screen.print(kinds)
    if label is not None:
        rule = f"Reviews by kind: {DEPLOYED}. An unparsed verdict (none, cut off, or prompt too long) is a reject."
        screen.print(Text(rule, "dim"), soft_wrap=True)
    screen.print(Text(f"every verdict: {visible(str(results))}", "dim"), soft_wrap=True)
