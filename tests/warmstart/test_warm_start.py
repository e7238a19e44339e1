"""A warm start learns, stops and goes on bit for bit, writes a model that loads, and refuses bad input early."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evoenv.cli import main
from evoenv.corpus import Author, solving_program
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.errors import ConfigError, InputError, StoreError
from evoenv.evaluation.environments import SuiteEnvironment
from evoenv.prompts.texts import fenced
from evoenv.records import Request, environment_id
from evoenv.sandbox.host import Sandbox
from evoenv.stages.recomputing import prepare_recomputing
from evoenv.warmstart.recipe import Recipe, load_recipe, read_recipe

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'evoenv[local]'")

from evoenv.models.resolve import load_model, load_tokenizer, resolve_device  # noqa: E402
from evoenv.warmstart.encoding import batches, encode_pair  # noqa: E402
from evoenv.warmstart.nano import build_model, learn_tokenizer  # noqa: E402
from evoenv.warmstart.pairs import CorpusPairs  # noqa: E402
from evoenv.warmstart.process import (  # noqa: E402
    Progress,
    Stopped,
    begin,
    warm_start,
    warm_start_in_stages,
)

pytestmark = pytest.mark.model
NONSENSE = "def solve(values):\n    return -1"

SMALL = [
    "shape.vocabulary=600", "shape.hidden_size=64", "shape.intermediate_size=128", "shape.layers=2", "shape.heads=4",
    "shape.kv_heads=2", "data.programs=30", "learn.tokens=24000", "learn.batch_tokens=1500",
    "learn.learning_rate=0.01", "checks.pairs=4",
    "checks.every_tokens=12000", "checks.candidates=0", "checks.problems=0", "checks.reviews=0", "checks.programs=0",
    "then=[]",
]  # fmt: skip


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return load_recipe("nano", SMALL)


@pytest.fixture(scope="module")
def source(recipe: Recipe) -> CorpusPairs:
    return CorpusPairs(recipe.data, recipe.seed)


@pytest.fixture(scope="module")
def finished(recipe: Recipe, source: CorpusPairs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    begin(directory, recipe, "new", "corpus")
    assert warm_start(directory, recipe, "new", source) is not None
    return directory


def test_digits_stand_alone_and_any_text_survives(source: CorpusPairs) -> None:
    tokenizer = learn_tokenizer(source.sources(), 600)
    text = "x = 12034\n        naïve → 名前 7.5\t\r\n"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text
    pieces = [tokenizer.decode([token]) for token in ids]
    assert all(len(piece) == 1 for piece in pieces if piece.strip().isdigit())
    assert len(tokenizer) <= 600


def test_the_tokenizer_and_the_weights_depend_on_the_seed_alone(source: CorpusPairs) -> None:
    first, second = (learn_tokenizer(source.sources(), 600) for _ in range(2))
    assert first.get_vocab() == second.get_vocab()
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    before = torch.random.get_rng_state()
    models = [build_model(first, shape, seed) for seed in (1, 1, 2)]
    assert torch.equal(before, torch.random.get_rng_state())
    weights = [model.get_input_embeddings().weight for model in models]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_packed_rows_cover_prompt_and_response(recipe: Recipe, source: CorpusPairs, finished: Path) -> None:
    tokenizer = load_tokenizer(finished / "model")
    row = encode_pair(source.pair_of("solver", 0), tokenizer, recipe.data)
    assert row is not None
    assert tokenizer.decode(row.response_ids[:-1]) == source.pair_of("solver", 0).response
    assert row.response_ids[-1] == tokenizer.eos_token_id
    learnt = encode_pair(source.pair_of("generator", 0), tokenizer, recipe.data)
    assert learnt is not None
    assert len(learnt.prompt_ids) == 1, "a generator's examples are learnt as well"
    first = next(batches(source, tokenizer, recipe.data, 3000, 0))
    rest = next(batches(source, tokenizer, recipe.data, 3000, first.next_index))
    assert first.tokens >= 3000
    assert rest.rows[0] != first.rows[0]


def test_the_loss_falls_and_the_model_loads_like_any_other(finished: Path) -> None:
    record = json.loads((finished / "warm-start.json").read_text())
    losses = [loss for _, loss, _ in record["losses"]]
    assert losses[-1] < losses[0] - 0.8
    checks = [check["held_out_loss"]["solver"] for check in record["checks"]]
    assert checks[-1] < checks[0]
    assert record["finished"] is True
    assert record["data"]["programs"] == 30
    model = load_model(finished / "model", resolve_device("cpu"), "float32")
    assert model.config.model_type == "llama"


def test_a_stopped_warm_start_goes_on_bit_for_bit(
    recipe: Recipe, source: CorpusPairs, finished: Path, tmp_path: Path
) -> None:
    stop = threading.Event()

    def watch(told: Progress) -> None:
        if told.tokens > 8000:
            stop.set()

    begin(tmp_path, recipe, "new", "corpus")
    assert warm_start(tmp_path, recipe, "new", source, watch=watch, stop=stop) is None
    assert not (tmp_path / "model").exists()
    assert warm_start(tmp_path, recipe, "new", source) is not None
    whole, resumed = (load_model(path / "model", resolve_device("cpu"), "float32") for path in (finished, tmp_path))
    for (name, one), (_, other) in zip(whole.named_parameters(), resumed.named_parameters(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.long
def test_a_stop_while_measuring_keeps_all_and_measures_again(
    recipe: Recipe, source: CorpusPairs, finished: Path, tmp_path: Path
) -> None:
    measured: list[int] = []

    def interrupted(model: Any, tokenizer: Any, tokens: int) -> dict[str, Any]:
        measured.append(tokens)
        raise Stopped

    def measure(model: Any, tokenizer: Any, tokens: int) -> dict[str, Any]:
        measured.append(tokens)
        return {}

    begin(tmp_path, recipe, "new", "corpus")
    assert warm_start(tmp_path, recipe, "new", source, measure=interrupted) is None
    assert warm_start(tmp_path, recipe, "new", source, measure=interrupted) is None
    record = warm_start(tmp_path, recipe, "new", source, measure=measure)
    assert record is not None
    (first, again, once_more, last) = measured
    assert first == again == once_more >= 12_000
    assert last >= 24_000
    assert [one["tokens"] for one in record["checks"]] == [first, last]
    whole = json.loads((finished / "warm-start.json").read_text())
    assert record["losses"] == whole["losses"]


def test_a_model_that_was_being_written_is_written_again(
    recipe: Recipe, source: CorpusPairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = msgspec.structs.replace(recipe, then=({"learn": {"tokens": 3000}},))
    begin(tmp_path, staged, "new", "corpus")
    with monkeypatch.context() as broken:
        # The disk is full when the first stage's tokenizer is to be written, after its weights.
        def fails(*arguments: Any, **settings: Any) -> None:
            raise OSError(28, "No space left on device")

        from transformers import PreTrainedTokenizerBase

        written = PreTrainedTokenizerBase.save_pretrained
        broken.setattr(
            PreTrainedTokenizerBase,
            "save_pretrained",
            lambda self, place, *rest, **settings: (
                fails() if ".model" in str(place) else written(self, place, *rest, **settings)
            ),
        )
        with pytest.raises(StoreError, match="No space left"):
            warm_start_in_stages(tmp_path, staged, "new", lambda number: (source, None))
    assert not (tmp_path / "stage-1" / "model").exists()
    assert warm_start_in_stages(tmp_path, staged, "new", lambda number: (source, None)) is not None
    assert (tmp_path / "model" / "tokenizer.json").is_file()
    assert not list(tmp_path.glob("**/.*.part"))


def test_lora_leaves_the_base_alone_and_merges_at_the_end(
    recipe: Recipe, source: CorpusPairs, finished: Path, tmp_path: Path
) -> None:
    lora = load_recipe("nano", [*SMALL, "learn.lora_rank=4", "learn.tokens=9000", "learn.dtype=float32"])
    begin(tmp_path, lora, str(finished / "model"), "corpus")
    assert warm_start(tmp_path, lora, str(finished / "model"), source) is not None
    assert (tmp_path / "model" / "adapter" / "adapter_model.safetensors").is_file()
    base, merged = (load_model(path / "model", resolve_device("cpu"), "float32") for path in (finished, tmp_path))
    assert torch.equal(base.get_input_embeddings().weight, merged.get_input_embeddings().weight)
    names = [name for name, _ in base.named_parameters() if "q_proj" in name]
    assert not torch.equal(base.get_parameter(names[0]), merged.get_parameter(names[0]))


def test_a_tokenizer_of_another_model_is_refused_before_work_starts(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = load_tokenizer(finished / "model")
    small = build_model(tokenizer, {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}, 0)
    small.resize_token_embeddings(100)
    small.save_pretrained(tmp_path / "mixed")
    tokenizer.save_pretrained(tmp_path / "mixed")
    output = tmp_path / "warm"
    assert main(["warm-start", "--model", str(tmp_path / "mixed"), "--corpus", "-o", str(output)]) == 2
    assert "do not belong together" in capsys.readouterr().err
    assert not output.exists()


# --------------------------------------------------------------------------- the command line


def test_misuse_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases: list[tuple[list[str], str]] = [
        (["-o", str(tmp_path / "a"), "--corpus"], "--model is missing"),
        (["-o", str(tmp_path / "a"), "--model", "new"], "--corpus, or --from-run"),
        (["-o", str(tmp_path / "a"), "--resume"], "no warm start"),
        (["-o", str(tmp_path / "a"), "--model", "new", "--corpus", "--recipe", "none"], "no recipe 'none'"),
        (["-o", str(tmp_path / "a"), "--model", "new", "--from-run", str(tmp_path / "gone")], "use --corpus with it"),
        (["-o", str(tmp_path / "a"), "--model", "tiny-test", "--from-run", str(tmp_path / "gone")], "gone"),
        (["-o", str(tmp_path / "a"), "--resume", "--recipe", "nano"], "keeps its model, data and recipe"),
    ]
    for arguments, expected in cases:
        assert main(["warm-start", *arguments]) == 2, arguments
        said = capsys.readouterr().err
        assert expected in said
        assert "Traceback" not in said
    assert main(["warm-start", "-o", str(tmp_path / "a"), "--model", "nowhere/to-be-found", "--corpus"]) == 1
    assert "'nowhere/to-be-found' was not found" in capsys.readouterr().err
    assert not (tmp_path / "a").exists(), "the corrected command must not be told that a warm start is there"


def test_a_stop_is_heard_while_programs_are_composed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # So many programs that composing them would outlast the time by far.
    settings = [f"--set={setting}" for setting in [*SMALL, "data.programs=5000"]]
    directory = tmp_path / "warm"
    arguments = ["--recipe", "nano", "--model", "new", "--corpus", "-o", str(directory), "--minutes", "0.002"]
    assert main(["warm-start", *arguments, *settings]) == 0, "the time was asked for"
    assert "--resume" in capsys.readouterr().err
    assert (directory / "recipe.json").is_file()
    assert not (directory / "start").exists(), "nothing is made of data that is not complete"


def test_a_directory_in_use_is_not_overwritten(
    finished: Path, recipe: Recipe, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="--resume"):
        begin(finished, recipe, "new", "corpus")
    assert main(["warm-start", "--model", "nowhere/to-be-found", "--corpus", "-o", str(finished)]) == 2
    assert "already holds a warm start" in capsys.readouterr().err


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def test_abilities_are_measured_in_every_role(finished: Path, source: CorpusPairs, sandbox: Sandbox) -> None:
    from evoenv.engines.local.policy import LocalPolicy
    from evoenv.warmstart.abilities import Abilities

    few = load_recipe(
        "nano",
        [
            *SMALL, "data.reviewer=0.01", "checks.candidates=4", "checks.problems=8", "checks.reviews=4",
            "checks.generator_tokens=40", "checks.solver_tokens=20", "data.programmer=0.01", "checks.programs=3",
            "checks.programmer_tokens=20",
        ],
    )  # fmt: skip
    model = load_model(finished / "model", resolve_device("cpu"), "float32")
    policy = LocalPolicy(model, load_tokenizer(finished / "model"))
    found: dict[str, Any] = Abilities(few, source, sandbox).measure(policy)
    assert sum(found["generator"]["layers"].values()) == found["generator"]["candidates"] == 4
    assert found["solver"]["corpus:basic"]["problems"] == 8
    assert 0 <= found["reviewer"]["accuracy"] <= 1
    assert found["programmer"]["corpus:basic"]["programs"] == 3


def test_the_programmer_s_ability_is_the_share_of_programs_that_are_right_on_all_instances(sandbox: Sandbox) -> None:
    from evoenv.warmstart.abilities import Abilities

    programs = [Author(3, "basic").compose(number) for number in range(4)]
    entries = [SuiteEnvironment(environment_id(item.source), item.source) for item in programs]
    known: dict[str, str] = {}
    for item, entry in zip(programs[:3], entries, strict=False):
        with sandbox.open(item.source) as worker:
            asked = prepare_recomputing(worker, entry.id, (0, 1), 2, "values", 0)
        assert asked is not None
        known[asked.examples[0].prompt] = solving_program(item)

    def write(request: Request, index: int) -> str:
        """Write the right program for three of the environments, and nonsense for the last."""
        text = request.messages[-1].content
        return fenced(next((code for prompt, code in known.items() if prompt in text), NONSENSE), "python")

    recipe = load_recipe("nano", [*SMALL, "checks.programmer_tokens=1000"])  # a scripted policy has a token per letter
    policy = ScriptedPolicy(write)
    measured = Abilities(recipe, CorpusPairs(recipe.data, 0), sandbox).programmer(policy, recipe.checks, entries)
    assert (measured["accuracy"], measured["programs"], measured["no_program"]) == (0.75, 4, 0.0)
    assert measured["instances"] == 0.75


def test_stages_follow_one_another_and_are_not_repeated(tmp_path: Path) -> None:
    tree = tmp_path / "two.toml"
    settings = "\n".join(SMALL[:-6])
    sections: dict[str, list[str]] = {}
    for line in settings.split("\n"):
        section, _, rest = line.partition(".")
        sections.setdefault(section, []).append(rest)
    tree.write_text(
        "\n".join(f"[{name}]\n" + "\n".join(lines) for name, lines in sections.items())
        + "\n[[then]]\ndata = { generator = 0.0, first = 1000 }\nlearn = { tokens = 4000 }\n"
    )
    staged = load_recipe(str(tree), ["learn.tokens=6000"])
    first, second = staged.stages()
    assert (first.data.generator, second.data.generator, second.learn.tokens) == (0.45, 0.0, 4000)
    assert second.shape == first.shape
    asked: list[int] = []

    def prepare(number: int) -> tuple[CorpusPairs, None]:
        asked.append(number)
        return CorpusPairs((first, second)[number].data, 0), None

    directory = tmp_path / "out"
    begin(directory, staged, "new", "corpus")
    record = warm_start_in_stages(directory, staged, "new", prepare)
    assert record is not None
    assert record["progress"]["next_index"] > 1000
    assert len(json.loads((directory / "warm-start.json").read_text())["stages"]) == 2
    assert (directory / "model" / "config.json").is_file()
    assert warm_start_in_stages(directory, staged, "new", prepare) is not None
    assert asked == [0, 1]
    with pytest.raises(ConfigError, match="sections of a recipe"):
        read_recipe({"then": [{"dat": {}}]}).stages()
