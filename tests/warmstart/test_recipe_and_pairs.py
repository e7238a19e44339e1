"""Recipes are typed; pairs are pure functions of an index, as the loop would ask them."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from evoenv.admission.review import parse_verdict
from evoenv.config import ReviewConfig
from evoenv.corpus import HELD_OUT, read_environment, solving_program
from evoenv.corpus.compose.screen import load
from evoenv.environment.answers import extract_answer, extract_source
from evoenv.errors import ConfigError, InputError
from evoenv.prompts.recompute import shown_names
from evoenv.prompts.texts import fenced
from evoenv.records import Instance
from evoenv.sandbox.guest import codec
from evoenv.stages.recomputing import Recomputing, answer_text, program_of
from evoenv.warmstart.learner import rate_at
from evoenv.warmstart.pairs import ROLES, CorpusPairs, draw_role, solve_program, withheld, write_program
from evoenv.warmstart.recipe import DataRecipe, LearningRecipe, load_recipe, recipe_names


def test_every_shipped_recipe_loads() -> None:
    assert recipe_names() == ["laptop", "nano"]
    for name in recipe_names():
        assert load_recipe(name).learn.tokens > 0


def test_overrides_win_and_unknown_keys_are_refused() -> None:
    assert load_recipe("nano", ["learn.tokens=12", "seed=3"]).learn.tokens == 12
    with pytest.raises(ConfigError, match="tokenz"):
        load_recipe("nano", ["learn.tokenz=12"])
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        load_recipe("nano", ["learn.tokens"])


@pytest.mark.parametrize(
    "override",
    [
        "data.generator=-1", "data.difficulties=[]", "learn.batch_tokens=0", "data.withhold=1.0",
        "data.solver_abroad=1.5", "data.longer=2", "learn.dtype=float8", "data.few_shot=-1", "data.few_shot=6000",
        "data.first=-100", "data.worked=2", "shape.heads=0", "shape.heads=3", "shape.layers=0", "checks.every_tokens=0",
        "checks.problems=3", "checks.candidates=-1", "checks.solver_tokens=0", "data.programmer=-0.1",
        "data.programmer_longer=-1",
        "checks.programs=-1", "checks.programmer_tokens=0", "learn.learning_rate=0", "learn.warmup=1.5",
        "learn.lora_rank=-1",
    ],
)  # fmt: skip
def test_impossible_values_are_refused(override: str) -> None:
    with pytest.raises(ConfigError):
        load_recipe("nano", [override])


def test_reviewer_pairs_say_nothing_of_held_out_families() -> None:
    # pairs 98, 107 and 158 did: the fault "asks for something else" took the words from any family
    pairs = CorpusPairs(DataRecipe(families="basic", programs=60), 0)
    for index in (98, 107, 158):
        pair = pairs.pair_of("reviewer", index)
        text = " ".join([*(message.content for message in pair.messages), pair.response])
        assert [name for name in ("longest-span", "mirror-sums", "divisor-sum") if name in text] == []


def test_a_missing_or_broken_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nano"):
        load_recipe(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("seed = ")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_recipe(str(tmp_path / "bad.toml"))


def test_the_rate_rises_then_falls_along_half_a_cosine() -> None:
    recipe = LearningRecipe(tokens=1000, learning_rate=1.0, warmup=0.1, final_rate=0.2)
    assert rate_at(recipe, 50) == pytest.approx(0.5)
    assert rate_at(recipe, 100) == pytest.approx(1.0)
    # half-way down: 0.2 + 0.8 · (1 + cos(π/2)) / 2
    assert rate_at(recipe, 550) == pytest.approx(0.6)
    assert rate_at(recipe, 325) == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2)
    assert rate_at(recipe, 1000) == rate_at(recipe, 5000) == pytest.approx(0.2)


@pytest.fixture(scope="module")
def pairs() -> CorpusPairs:
    return CorpusPairs(DataRecipe(programs=40), seed=5)


def test_the_same_index_gives_the_same_pair(pairs: CorpusPairs) -> None:
    again = CorpusPairs(DataRecipe(programs=40), seed=5)
    assert [pairs.pair(index) for index in (7, 3, -2)] == [again.pair(index) for index in (7, 3, -2)]
    assert pairs.pair(1) != CorpusPairs(DataRecipe(programs=40), seed=6).pair(1)


def test_generator_pairs_show_one_program_and_ask_for_another(pairs: CorpusPairs) -> None:
    shown = set(pairs.sources())
    for index in range(20):
        pair = pairs.pair_of("generator", index)
        target = extract_source(pair.response)
        assert target is not None
        assert target.strip() in {source.strip() for source in shown}
        assert target.strip() not in pair.messages[0].content


def test_solver_pairs_are_right_by_the_program_s_own_scorer(pairs: CorpusPairs) -> None:
    """Find the instance behind each prompt again, and let its own program judge the response."""
    recipe = DataRecipe(programs=40, difficulties=(0,))
    for number in range(12):
        program = pairs.program(number)
        environment = load(program.source)
        rng = random.Random(number)
        expected = random.Random(number)
        z, a = environment._generate(expected.randrange(1 << 31), 0)
        pair = solve_program(program, rng, recipe)
        assert environment._prompt_generate(z) in pair.messages[0].content
        answer = extract_answer(pair.response)
        assert answer is not None
        assert environment.scorer(answer, z, a) == 1.0


def test_programmer_pairs_ask_as_a_recomputation_does_and_their_programs_are_right(pairs: CorpusPairs) -> None:
    """Find the instances behind each prompt again, ask for them as the loop would, and run the program on others."""
    for number in range(12):
        program = pairs.program(number)
        environment = load(program.source)
        pair = write_program(program, random.Random(number), DataRecipe(difficulties=(0,)))
        expected = random.Random(number)
        seeds = []
        for _ in range(2):
            seeds.append(expected.randrange(1 << 31))
            expected.choice((0,))
        instances = []
        for seed in seeds:
            z, a = environment._generate(seed, 0)
            instances.append(Instance(seed, 0, environment._prompt_generate(z), codec.encode(z), codec.encode(a)))
        asked = Recomputing(tuple(instances), (), "values", shown_names(instances))
        config = ReviewConfig(program_prompt="short")
        assert pair.messages == asked.request("any", config, 0).messages
        names: dict[str, Any] = {}
        exec(program_of(pair.response, "stop") or "", names)
        z, a = environment._generate(99, 1)
        answer = names["solve"](json.loads(json.dumps(z)))
        assert environment.scorer(answer_text(answer) or "", z, a) == 1.0


def test_a_recipe_without_programmer_pairs_draws_the_roles_that_it_always_drew() -> None:
    recipe = DataRecipe(generator=0.4, solver=0.5, reviewer=0.1)
    drawn = [draw_role(random.Random(seed), recipe) for seed in range(200)]
    shares = ["generator", "solver", "reviewer"], [0.4, 0.5, 0.1]
    assert drawn == [random.Random(seed).choices(*shares)[0] for seed in range(200)]


def test_review_pairs_are_half_sound_and_half_broken_and_the_oracle_agrees(pairs: CorpusPairs) -> None:
    verdicts = []
    for index in range(60):
        pair = pairs.pair_of("reviewer", index)
        verdict = parse_verdict(pair.response)
        source = extract_source(pair.messages[0].content)
        assert source is not None
        if verdict == "accept":
            assert read_environment(source).consistent is True
        verdicts.append(verdict)
    assert 15 <= verdicts.count("reject") <= 45
    assert set(verdicts) == {"accept", "reject"}


def test_no_held_out_family_is_ever_shown(pairs: CorpusPairs) -> None:
    assert not {pairs.program(number).family for number in (*range(40), *range(-40, 0))} & HELD_OUT


def test_what_is_kept_for_measuring_is_not_among_what_is_shown(pairs: CorpusPairs) -> None:
    shown = {source.strip() for source in pairs.sources()}
    fresh = [extract_source(pairs.pair_of("generator", -index).response) for index in range(1, 30)]
    assert sum(str(source).strip() in shown for source in fresh) <= 3, "a few simple programs may recur by chance"


def test_roles_come_in_the_shares_of_the_recipe() -> None:
    pairs = CorpusPairs(DataRecipe(programs=10, generator=0.0, solver=1.0, reviewer=0.0), seed=0)
    assert {pairs.pair(index).role for index in range(30)} == {"solver"}
    mixed = CorpusPairs(DataRecipe(programs=10, generator=0.4, solver=0.3, reviewer=0.1, programmer=0.2), seed=0)
    roles = [mixed.pair(index).role for index in range(120)]
    assert {role: roles.count(role) > 0 for role in ROLES} == dict.fromkeys(ROLES, True)
    assert roles.count("generator") > roles.count("reviewer")


@pytest.mark.long
def test_withheld_combinations_are_never_shown_in_any_role_and_no_family_is_lost() -> None:
    share = 0.65
    recipe = DataRecipe(families="basic", programs=400, withhold=share, solver_abroad=0.5, solver=1.0)
    pairs = CorpusPairs(recipe, seed=0)
    every = [pairs.author.compose(number) for number in range(400)]
    shown = [pairs.program(number) for number in range(400)]
    assert 0.2 < sum(withheld(program, share) for program in every) / len(every) < 0.5
    assert not any(withheld(program, share) for program in shown)
    assert not any(withheld(pairs.program(number, pairs.abroad), share) for number in range(40))
    assert [len(program.steps) for program in shown] == [len(program.steps) for program in every]
    assert {program.family for program in shown} == {program.family for program in every}
    # What is withheld is a matter of the parts alone, so any seed's author leaves out the same.
    other = CorpusPairs(recipe, seed=9)
    combinations = {tuple(part.name for part in program.parts) for program in every if withheld(program, share)}
    assert not combinations & {tuple(part.name for part in other.program(n).parts) for n in range(200)}


def test_withholding_everything_is_refused_instead_of_searching_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evoenv.warmstart.pairs.WITHHELD_TRIES", 40)
    pairs = CorpusPairs(DataRecipe(families="basic", programs=8, withhold=0.9999), seed=0)
    with pytest.raises(InputError, match=r"data\.withhold is 0\.9999"):
        [pairs.program(number) for number in range(8)]


def test_the_generator_may_be_shown_programs_of_several_steps_in_place_of_short_ones() -> None:
    plain, longer = (
        CorpusPairs(DataRecipe(families="paired", programs=80, longer=share), seed=2) for share in (0.0, 1.0)
    )
    steps = {plain.program(number).source.strip(): len(plain.program(number).steps) for number in range(80)}

    def shown(pairs: CorpusPairs) -> list[int]:
        texts = [pairs.pair_of("generator", index).response for index in range(40)]
        return [steps[(extract_source(text) or "").strip()] for text in texts]

    assert 1 in shown(plain)
    assert min(shown(longer)) == 2
    assert [plain.pair_of("solver", index) for index in range(5)] == [longer.pair_of("solver", i) for i in range(5)]


def test_the_programmer_may_be_shown_programs_of_several_steps_in_place_of_short_ones() -> None:
    shares = {"solver": 0.5, "programmer": 0.5}
    plain, longer = (
        CorpusPairs(DataRecipe(families="paired", programs=80, programmer_longer=share, **shares), seed=2)
        for share in (0.0, 1.0)
    )
    programs = [plain.program(number) for number in range(80)]
    steps = {fenced(solving_program(program), "python"): len(program.steps) for program in programs}

    def shown(pairs: CorpusPairs) -> list[int]:
        return [steps[pairs.pair_of("programmer", index).response] for index in range(40)]

    assert 1 in shown(plain)
    assert min(shown(longer)) == 2
    for role in ("generator", "solver"):
        assert [plain.pair_of(role, i) for i in range(5)] == [longer.pair_of(role, i) for i in range(5)]


def test_the_solver_may_go_abroad_while_the_generator_stays() -> None:
    recipe = DataRecipe(families="basic", programs=60, solver_abroad=0.5)
    pairs = CorpusPairs(recipe, seed=1)
    prompts = [pairs.pair_of("solver", index).messages[-1].content for index in range(40)]
    home = CorpusPairs(DataRecipe(families="basic", programs=60), seed=1)
    kept = [home.pair_of("solver", index).messages[-1].content for index in range(40)]
    assert 5 < sum(a != b for a, b in zip(prompts, kept, strict=True)) <= 40
    assert [pairs.pair_of("generator", n) for n in range(5)] == [home.pair_of("generator", n) for n in range(5)]
