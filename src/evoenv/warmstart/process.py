"""A warm start from beginning to end, in a directory of its own.

DIR/recipe.json       what was asked for: recipe, model, data
DIR/start/            the model made from nothing, if there was one
DIR/checkpoint/       the last whole state; `--resume` goes on from here, bit for bit on a CPU
DIR/warm-start.json   the record: losses, held-out losses, abilities, data statistics
DIR/model/            the finished model; loads like any other
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evoenv.durable import recover_directory, whole_directory, write_document
from evoenv.errors import ConfigError, InputError
from evoenv.warmstart.abilities import Stopped
from evoenv.warmstart.encoding import batches, encode_pair
from evoenv.warmstart.learner import SupervisedLearner, rate_at
from evoenv.warmstart.nano import build_model, learn_tokenizer, save_start
from evoenv.warmstart.pairs import ROLES, CorpusPairs, PairSource
from evoenv.warmstart.recipe import Recipe, read_recipe

NEW = "new"
NEW_NEEDS_CORPUS = "a model from nothing learns its tokenizer on the corpus; use --corpus with it"
RECIPE, RECORD, CHECKPOINT, START, MODEL = "recipe.json", "warm-start.json", "checkpoint", "start", "model"
SAVE_SECONDS = 120.0
TOKENIZER_PAIRS = 4000
STAGE_RECORD = ("recipe", "data", "losses", "checks", "seconds", "progress")
"""What the record of a whole recipe keeps of each stage."""


@dataclass
class Progress:
    """What a watcher is told after every step, and once more with what was measured if that was due."""

    tokens: int
    total: int
    loss: float
    tokens_per_second: float
    held_out: dict[str, float] = field(default_factory=dict)
    abilities: dict[str, Any] = field(default_factory=dict)


Watch = Callable[[Progress], None]
Measure = Callable[[Any, Any, int], dict[str, Any]]
"""(model, tokenizer, tokens so far) -> abilities. May raise Stopped."""


def begin(directory: Path, recipe: Recipe, model: str, data: str, modules: Sequence[str] = ()) -> None:
    """Make a new directory that remembers what was asked for."""
    check_free(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"no warm start can be made in {directory}: {error.strerror}; choose another -o") from error
    asked = {"recipe": msgspec.to_builtins(recipe), "model": model, "data": data, "modules": list(modules)}
    write_document(directory / RECIPE, asked)


def check_free(directory: Path) -> None:
    if (directory / RECIPE).exists():
        raise InputError(f"{directory} already holds a warm start; continue it with --resume, or choose another -o")


def begun(directory: Path) -> tuple[Recipe, str, str, list[str]]:
    """Return recipe, model, data and allowed modules of a warm start in `directory`."""
    try:
        asked = json.loads((directory / RECIPE).read_text(encoding="utf-8"))
        modules = [str(name) for name in asked.get("modules", [])]
        return read_recipe(asked["recipe"]), str(asked["model"]), str(asked["data"]), modules
    except FileNotFoundError:
        raise InputError(f"there is no warm start in {directory} to resume; begin it without --resume") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{directory / RECIPE} cannot be read ({error}); begin the warm start anew") from error


def open_model(directory: Path, recipe: Recipe, model: str, source: PairSource) -> tuple[Any, Any]:
    """Open model and tokenizer to begin with: made from nothing for `new`, else resolved as everywhere."""
    from evoenv.models.resolve import load_model, load_tokenizer, resolve_device, resolve_model

    if model == NEW:
        path = directory / START
        if not (path / "config.json").is_file():
            if not isinstance(source, CorpusPairs):
                raise ConfigError(NEW_NEEDS_CORPUS)
            tokenizer = learn_tokenizer(tokenizer_texts(source, recipe), recipe.shape.vocabulary)
            save_start(build_model(tokenizer, recipe.shape.llama(), recipe.seed), tokenizer, path)
    else:
        path = resolve_model(model)
    tokenizer = load_tokenizer(path)
    loaded = load_model(path, resolve_device("auto"), recipe.learn.dtype)
    check_tokenizer(int(loaded.get_input_embeddings().weight.shape[0]), tokenizer, str(path))
    return loaded, tokenizer


def check_model(model: str, data_is_corpus: bool) -> None:
    """Refuse what cannot be taught before anything is made or composed."""
    if model == NEW:
        if not data_is_corpus:
            raise ConfigError(NEW_NEEDS_CORPUS)
        return
    from evoenv.models.resolve import load_tokenizer, resolve_model

    path = resolve_model(model)
    shape = json.loads((path / "config.json").read_text(encoding="utf-8"))
    rows = shape.get("vocab_size") or shape.get("text_config", {}).get("vocab_size")
    if rows:  # else loading the model tells
        check_tokenizer(int(rows), load_tokenizer(path), str(path))


def tokenizer_texts(source: CorpusPairs, recipe: Recipe) -> list[str]:
    """Collect what the tokenizer is learnt on: sources and, so that the fixed words are short too, whole prompts."""
    texts = [source.program(number).source for number in range(recipe.data.programs)]
    for index in range(TOKENIZER_PAIRS):
        pair = source.pair(index)
        texts += [*(message.content for message in pair.messages), pair.response, "user", "assistant", "system"]
    return texts


def check_tokenizer(rows: int, tokenizer: Any, where: str) -> None:
    """Refuse a tokenizer that names tokens beyond the model's embeddings, of which there are `rows`."""
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= rows:
        raise ConfigError(
            f"the tokenizer in {where} has token ids up to {largest}, the model has {rows} embeddings: they do not "
            "belong together; use the tokenizer that the model was trained with"
        )
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"the tokenizer in {where} has no end token, so a response could never end; set eos_token")


def _check_same_data(directory: Path, source: PairSource, record: dict[str, Any]) -> None:
    """Refuse to go on with a run that has gone on itself, or environments that may no longer be used.

    The corpus is composed from a seed and stays what it is.
    """
    known = record.get("data", {})
    if known.get("kind") != "run":
        return
    now = source.describe()
    if changed := [key for key in now if key in known and now[key] != known[key]]:
        raise InputError(
            f"what {directory} learns from has changed since it was begun ({', '.join(changed)}); bring it back as it "
            "was, with the same modules allowed and no further steps, or begin anew in another -o"
        )


def warm_start(
    directory: Path,
    recipe: Recipe,
    model: str,
    source: PairSource,
    *,
    measure: Measure | None = None,
    watch: Watch | None = None,
    stop: threading.Event | None = None,
) -> dict[str, Any] | None:
    """Train to the end and return the record. None if a stop was requested (all is kept, `--resume` continues)."""
    started, tokenizer = open_model(directory, recipe, model, source)
    learner = SupervisedLearner(started, recipe.learn, seed=recipe.seed)
    checkpoint = directory / CHECKPOINT
    record: dict[str, Any] = {"losses": [], "checks": [], "seconds": 0.0}
    recover_directory(checkpoint)
    if checkpoint.exists():
        record = learner.load(checkpoint)
        _check_same_data(directory, source, record)
    else:
        learner.progress["next_index"] = recipe.data.first
        record["data"] = source.describe()
        record["parameters"] = sum(weight.numel() for weight in learner.model.parameters())
    held_out = {
        role: [
            row
            for index in range(1, recipe.checks.pairs + 1)
            if (pair := source.pair_of(role, -index)).role == role  # a role that has none of its own is not measured
            and (row := encode_pair(pair, tokenizer, recipe.data)) is not None
        ]
        for role in ROLES
        if getattr(recipe.data, role) > 0
    }

    def check() -> dict[str, Any]:
        done: dict[str, Any] = {"tokens": learner.progress["tokens"]}
        done["held_out_loss"] = {role: learner.loss(rows) for role, rows in held_out.items() if rows}
        if measure is not None:
            done["abilities"] = measure(learner.model, tokenizer, learner.progress["tokens"])
        record["checks"].append(done)
        return done

    def keep() -> None:
        learner.save(checkpoint, record)
        write_document(directory / RECORD, {**_asked(directory), **record, "progress": learner.progress})

    def check_is_due() -> bool:
        done, last = learner.progress["tokens"], max((earlier["tokens"] for earlier in record["checks"]), default=0)
        every = recipe.checks.every_tokens
        return done > last and (done >= recipe.learn.tokens or done // every > last // every)

    def tell(loss: float, checked: dict[str, Any] | None = None) -> None:
        if watch is not None:
            rate = learner.progress["tokens"] / max(record["seconds"], 1e-9)
            told = Progress(learner.progress["tokens"], recipe.learn.tokens, loss, rate)
            if checked is not None:
                told.held_out, told.abilities = checked["held_out_loss"], checked.get("abilities", {})
            watch(told)

    stream = batches(source, tokenizer, recipe.data, recipe.learn.batch_tokens, learner.progress["next_index"])
    saved = time.monotonic()
    while True:
        if check_is_due():  # also after a stop in the middle of the last one
            keep()
            try:
                checked = check()
            except Stopped:
                return None
            keep()
            saved = time.monotonic()
            tell(record["losses"][-1][1], checked)
        if learner.progress["tokens"] >= recipe.learn.tokens:
            break
        if stop is not None and stop.is_set():
            keep()
            return None
        began = time.monotonic()
        batch = next(stream)
        rate = rate_at(recipe.learn, learner.progress["tokens"])
        loss = learner.step(batch.rows)
        learner.progress["next_index"] = batch.next_index
        learner.progress["skipped"] += batch.skipped
        now = time.monotonic()
        record["losses"].append([learner.progress["tokens"], round(loss, 5), rate])
        record["seconds"] += now - began
        tell(loss)
        if now - saved > SAVE_SECONDS:
            keep()
            saved = now
    learner.write_model(directory / MODEL, tokenizer)
    write_document(directory / RECORD, {**_asked(directory), **record, "progress": learner.progress, "finished": True})
    return record


def warm_start_in_stages(
    directory: Path,
    recipe: Recipe,
    model: str,
    prepare: Callable[[int], tuple[PairSource, Measure | None] | None],
    *,
    watch: Watch | None = None,
    stop: threading.Event | None = None,
) -> dict[str, Any] | None:
    """Run a recipe with all its stages, each in `stage-N/` if there are several; return the record of the last.

    `prepare` gives the data and the measure of a stage by its number from 0, or None if a stop was requested meanwhile;
    it is asked for unfinished stages only.
    """
    stages = recipe.stages()
    if len(stages) == 1:
        if (prepared := prepare(0)) is None:
            return None
        source, measure = prepared
        return warm_start(directory, recipe, model, source, measure=measure, watch=watch, stop=stop)
    records: list[dict[str, Any]] = []
    for number, stage in enumerate(stages, 1):
        stage_directory = directory / f"stage-{number}"
        if not (stage_directory / RECIPE).exists():
            begin(stage_directory, stage, model, _asked(directory)["data"])
        if not (stage_directory / MODEL / "config.json").is_file():
            if (prepared := prepare(number - 1)) is None:
                return None
            source, measure = prepared
            if warm_start(stage_directory, stage, model, source, measure=measure, watch=watch, stop=stop) is None:
                return None
        records.append(json.loads((stage_directory / RECORD).read_text(encoding="utf-8")))
        model = str(stage_directory / MODEL)
    with whole_directory(directory / MODEL) as whole:
        shutil.copytree(model, whole, dirs_exist_ok=True)
    last = records[-1]
    parts = [{key: record[key] for key in STAGE_RECORD} for record in records]
    write_document(
        directory / RECORD, {**_asked(directory), "stages": parts, "parameters": last["parameters"], "finished": True}
    )
    return last


def _asked(directory: Path) -> dict[str, Any]:
    asked: dict[str, Any] = json.loads((directory / RECIPE).read_text(encoding="utf-8"))
    return asked
