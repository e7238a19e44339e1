"""`evoenv audit-review`: how far the reviewer and the mechanical checks agree with labels; the paper's table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import add_allow_degraded, add_json_option, console, print_json, visible
from evoenv.cli.eval_view import ProgressBar
from evoenv.config import Config
from evoenv.environment.sets import RunPool, parse_set
from evoenv.errors import InputError
from evoenv.evaluation.subject import Subject, model_subject, run_subject
from evoenv.review_audit.audit import audit, audit_config, results_path, reviews_of
from evoenv.review_audit.judge import (
    Labels,
    ask_judge,
    audit_recorded,
    candidates_at_top,
    labels_path,
    votes_json,
)
from evoenv.review_audit.labels import LabelledSet, read_set
from evoenv.review_audit.tables import DEPLOYED, Audit, TableRow, table_text

VOTES = 3
NO_REVIEWS = (
    "The run has no verdicts of its own on these candidates (review.enabled is false?); --run DIR asks its policy now."
)


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
    who.add_argument(
        "--kind", choices=["reading", "recomputing", "both"],
        help="read the source, write programs from the prompts alone and run them, or both (review.kind: reading)",
    )  # fmt: skip
    who.add_argument("--reviews", type=int, metavar="K", help="reviews of each environment (review.reviews: 3)")
    who.add_argument("--preset", metavar="P", help="settings of a shipped configuration: nano, laptop, …")
    who.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="a.b=v",
        help="one setting, as review.max_tokens=2048; may be repeated",
    )  # fmt: skip
    judge = parser.add_argument_group("labels by a second model, on a run's candidates at L5")
    judge.add_argument(
        "--labels-by", metavar="M",
        help="a model whose votes label the candidates; --base-url is then its server. The reviewer that is audited "
        "is the run's own, by the verdicts that it gave, or --run DIR, asked anew",
    )  # fmt: skip
    judge.add_argument(
        "--votes", type=int, metavar="K", help="votes on each candidate, of which the majority counts (3)"
    )
    parser.add_argument(
        "--count", type=int, metavar="N",
        help="N of each label, drawn (all; 40 of the corpus); with --labels-by N candidates",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the draw, of instances and of reviews (0)")
    parser.add_argument(
        "--results", type=Path, metavar="FILE",
        help="where verdicts are kept, and continued from; with --labels-by the votes",
    )  # fmt: skip
    add_json_option(parser)
    add_allow_degraded(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    check(arguments)
    if arguments.labels_by is not None:
        return run_judged(arguments)
    labelled = read_set(arguments.labels, count=arguments.count, seed=arguments.seed)
    if arguments.mechanical_only:
        return run_audit(arguments, labelled, None, None)
    own = [] if arguments.reviews is None else [f"review.reviews={arguments.reviews}"]
    own += [] if arguments.kind is None else [f"review.kind={arguments.kind}"]
    config = audit_config(arguments.run_directory, arguments.preset, [*arguments.overrides, *own])
    if config.review.reviews < 1:
        raise InputError(f"review.reviews is {config.review.reviews}; expected 1 or more")
    return run_audit(arguments, labelled, config, reviewer(arguments, config))


def check(arguments: argparse.Namespace) -> None:
    if arguments.labels_by is not None:
        check_judged(arguments)
        return
    if arguments.votes is not None:
        raise InputError("--votes are those of a judge; name it with --labels-by M")
    named = arguments.run_directory is not None or arguments.model is not None or arguments.preset is not None
    asked = arguments.base_url or arguments.reviews is not None or arguments.kind is not None
    if arguments.mechanical_only and (named or asked):
        raise InputError(
            "--mechanical-only asks no reviewer; leave out --model, --base-url, --run, --preset, --reviews, --kind"
        )
    if not arguments.mechanical_only and not named:
        raise InputError("audit-review needs --model M or --run DIR (who reviews?), or --mechanical-only")
    if arguments.run_directory is not None and arguments.model is not None:
        raise InputError("--model and --run exclude each other; which of them is to review?")
    if arguments.run_directory is not None and arguments.preset is not None:
        raise InputError("a run brings its own settings; leave --preset out, and use --set for what should differ")
    if arguments.checkpoint is not None and arguments.run_directory is None:
        raise InputError("--checkpoint is a step of a run; give --run DIR with it")


def check_judged(arguments: argparse.Namespace) -> None:
    if arguments.kind is not None:
        raise InputError("--labels-by audits reading alone; leave out --kind")
    if arguments.model is not None or arguments.preset is not None or arguments.mechanical_only:
        raise InputError(
            "with --labels-by the run's own reviewer is audited, or --run DIR; leave out --model, --preset, "
            "--mechanical-only"
        )
    if arguments.reviews is not None and arguments.run_directory is None:
        raise InputError(
            "--reviews asks a reviewer; name it with --run DIR, or leave it out: the run's verdicts are there"
        )
    if arguments.checkpoint is not None and arguments.run_directory is None:
        raise InputError("--checkpoint is a step of a run; give --run DIR with it")
    for flag in ("votes", "count"):
        if getattr(arguments, flag) is not None and getattr(arguments, flag) < 1:
            raise InputError(f"--{flag} is {getattr(arguments, flag)}; expected 1 or more")
    if not isinstance(parse_set(arguments.labels, where="labels"), RunPool):
        raise InputError(f"--labels-by labels the candidates of a run; {arguments.labels!r} is none")


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


def run_judged(arguments: argparse.Namespace) -> int:
    """Have a second model label the candidates, then audit the reviewer against its labels."""
    require_packages("numpy")
    named = parse_set(arguments.labels, where="labels")
    assert isinstance(named, RunPool)
    screen = console(stderr=True)
    candidates = candidates_at_top(named.directory, count=arguments.count, seed=arguments.seed)
    # The judge has room for whole environments, whatever the run's own reviewer has.
    config = audit_config(overrides=[*arguments.overrides, f"review.reviews={arguments.votes or VOTES}"])
    judge = model_subject(arguments.labels_by, arguments.base_url, arguments.overrides)
    path = arguments.results or labels_path(named.directory, arguments.labels_by)
    options = {"seed": arguments.seed, "allow_degraded": arguments.allow_degraded}

    def bar(what: str) -> ProgressBar:
        return ProgressBar(screen, what)

    try:
        with driving.logged(screen):
            reviews: Path | None = None
            labels = ask_judge(arguments.labels, candidates, config, judge, path, progress=bar, **options)
            if arguments.run_directory is None:
                audited, who = audit_recorded(labels, candidates), "the run's own verdicts"
            else:
                own = [] if arguments.reviews is None else [f"review.reviews={arguments.reviews}"]
                settings = audit_config(arguments.run_directory, None, [*arguments.overrides, *own])
                subject = run_subject(arguments.run_directory, arguments.checkpoint, arguments.overrides)
                reviews = results_path(labels.labelled, subject)
                audited = audit(labels.labelled, settings, subject, reviews, progress=bar, **options)
                who = subject.label
    except KeyboardInterrupt:
        screen.print(
            f"stopped; the votes so far are in {path}, and the same command continues", markup=False, soft_wrap=True
        )
        return driving.INTERRUPTED
    if arguments.json:
        facts = {"by": arguments.labels_by, "votes_each": config.review.reviews, "file": str(path),
                 "candidates": len(candidates), "undecided": list(labels.undecided), "unparsed": labels.unparsed,
                 "votes": votes_json(labels)}  # fmt: skip
        own_file = {} if reviews is None else {"results": str(reviews)}
        print_json({"model": who, "labels": facts, **own_file, **audited.to_json()})
    else:
        show_judged(audited, labels, who, arguments.labels_by, path, reviews)
    return 0


def show_judged(audited: Audit, labels: Labels, who: str, judge: str, path: Path, reviews: Path | None) -> None:
    screen = console()
    items = audited.labelled.items
    sound = sum(not item.buggy for item in items)
    unlike = len(labels.labelled.items) - len(items)
    title = f"{len(labels.votes)} candidates at L5 of {audited.labelled.name}, labelled by {judge}"
    screen.print(Text(visible(title), "bold"), soft_wrap=True)
    screen.print(
        Text(
            visible(
                f"{sound} sound, {len(items) - sound} buggy; left out: {len(labels.undecided)} without a majority of "
                f"votes, {unlike} that were never reviewed. Reviewer: {who}"
            )
        ),
        soft_wrap=True,
    )
    rows = [row for row in audited.rows if row.checks == "review"]
    screen.print(_agreement_table([*rows, *audited.baselines]))
    if not rows:
        screen.print(Text(NO_REVIEWS, "dim"), soft_wrap=True)
    screen.print(Text(visible(f"every vote: {path}"), "dim"), soft_wrap=True)
    if reviews is not None:
        screen.print(Text(visible(f"every review: {reviews}"), "dim"), soft_wrap=True)


def _agreement_table(rows: Sequence[TableRow]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("checks", "rule"):
        table.add_column(column, no_wrap=True)
    for column in ("acc.", "prec.", "recall", "F1", "(TP, FP, TN, FN)", "unparsed"):
        table.add_column(column, justify="right", no_wrap=True)
    for cells in table_text(rows):
        table.add_row(*cells)
    return table


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
    reviews = reviews_of(config)
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
    programs = max((len(item.shares) for item in audited.recomputations.values()), default=0)
    counts = [f"{reviews} reviews"] * bool(reviews) + [f"{programs} programs"] * bool(audited.recomputations)
    reviewed = f"; {' and '.join(counts)} each by {label}" if label is not None else ""
    screen.print(Text(visible(title + reviewed), "bold"), soft_wrap=True)
    screen.print(_agreement_table([*audited.rows, *audited.baselines]))
    kinds = Table(box=None, header_style="bright_black", pad_edge=False)
    kinds.add_column("refused, by kind of defect", no_wrap=True)
    columns: dict[str, list[int | None]] = {
        "of": [row.count for row in audited.kinds],
        "L1-L5": [row.mechanical for row in audited.kinds],
        "review": [row.review for row in audited.kinds],
        "both": [row.both for row in audited.kinds],
        "recomputing": [row.recomputation for row in audited.kinds],
    }
    measured = {name: values for name, values in columns.items() if None not in values}
    for column in measured:
        kinds.add_column(column, justify="right")
    for row, numbers in zip(audited.kinds, zip(*measured.values(), strict=True), strict=True):
        kinds.add_row(Text(visible(row.kind)), *map(str, numbers))
    screen.print()
    screen.print(kinds)
    for name, cost in audited.costs.items():
        each = (cost.prompt + cost.sampled) / len(items)
        text = f"{name}: {cost.sampled:,} tokens sampled, {cost.prompt:,} of prompts; {each:,.0f} per environment"
        screen.print(Text(text, "dim"), soft_wrap=True)
    if audited.recomputations:
        rule = "Recomputing by kind: not confirmed. Its last column counts what is unconfirmed."
        screen.print(Text(rule, "dim"), soft_wrap=True)
    if reviews:
        rule = f"Reviews by kind: {DEPLOYED}. An unparsed verdict (none, cut off, or prompt too long) is a reject."
        screen.print(Text(rule, "dim"), soft_wrap=True)
    screen.print(Text(f"every verdict: {visible(str(results))}", "dim"), soft_wrap=True)
