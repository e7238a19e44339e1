"""What a warm start is made of: one typed tree <-> TOML, like a run's configuration.

Shipped recipes stand in `recipes/`; `--recipe` takes one of their names or a file, `--set a.b=v` changes single keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError
from evoenv.sections import Section, parse_value

RecipeRole = Literal["generator", "solver", "reviewer", "programmer"]
"""The programmer is the reviewer that recomputes (`review.kind`): its pairs, and what it can do, are counted apart."""
INSTANCES = 4
"""Problems of one environment that the solver is measured on."""


class ShapeRecipe(Section, frozen=True):
    """The model that is made if `--model new` asks for one."""

    vocabulary: int = 2048
    hidden_size: int = 256
    intermediate_size: int = 768
    layers: int = 8
    heads: int = 8
    kv_heads: int = 4
    context: int = 4096

    def __post_init__(self) -> None:
        if min(self.vocabulary, self.hidden_size, self.intermediate_size, self.layers, self.kv_heads, self.context) < 1:
            raise ValueError("shape: expected sizes and counts of 1 or more")
        if self.heads < 1 or self.hidden_size % self.heads or self.heads % self.kv_heads:
            raise ValueError(
                f"shape.heads is {self.heads}; expected a divisor of shape.hidden_size ({self.hidden_size}) and a "
                f"multiple of shape.kv_heads ({self.kv_heads})"
            )

    def llama(self) -> dict[str, int]:
        """Return the shape under the names that transformers uses."""
        return {
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.hidden_size // self.heads,
            "max_position_embeddings": self.context,
        }


class DataRecipe(Section, frozen=True):
    families: Literal["train", "basic", "paired"] = "train"
    """`basic`: only the families that a model of a few million weights can learn in an hour; `paired`: those and the
    ones that ask in one sentence for two steps."""
    programs: int = 3000
    """Corpus programs that are ever shown: what is not among them is for the generator to find."""
    withhold: float = 0.0
    """Share of the combinations of parts that are never shown, in any role: they are left for the generator to find."""
    generator: float = 0.45
    """Share of pairs: a prompt with examples, and the source of another environment."""
    longer: float = 0.0
    """Share of the generator's single-step programs in whose place one of several steps is shown."""
    solver: float = 0.51
    """Share of pairs: an instance, and its answer."""
    solver_abroad: float = 0.0
    """Share of the solver's and the programmer's instances that come from all train families if `families` are
    fewer."""
    reviewer: float = 0.04
    """Share of pairs: a review prompt, and the verdict on a sound or a broken environment."""
    programmer: float = 0.0
    """Share of pairs: the prompts of two instances with their values, and the program that solves them."""
    programmer_longer: float = 0.0
    """Share of the programmer's single-step programs in whose place one of several steps is shown."""
    first: int = 0
    """The number of the first pair: a later stage begins far from an earlier one's, to see other instances."""
    few_shot: int = 1
    prompt: Literal["full", "short"] = "short"
    difficulties: tuple[int, ...] = (0, 0, 0, 1, 1, 2)
    """Levels of the solver's instances, drawn evenly: repeat one to make it more frequent."""
    worked: float = 1.0
    """Share of solver answers that show their steps, if the steps are known."""
    restate: bool = False
    """Worked answers begin with what was given."""
    learn_prompts: tuple[RecipeRole, ...] = ()
    """Roles whose prompts are learnt as well: for a model made from nothing, examples are data like any other."""
    max_tokens: int = 2048
    """Longer pairs are left out."""

    def __post_init__(self) -> None:
        shares = (self.generator, self.solver, self.reviewer, self.programmer)
        if min(shares) < 0 or sum(shares) <= 0:
            raise ValueError(
                f"data.generator, solver, reviewer and programmer are {shares}; expected shares, one above 0"
            )
        parts = (self.solver_abroad, self.longer, self.programmer_longer)
        if not (0 <= self.withhold < 1 and 0 <= min(parts) <= max(parts) <= 1):
            raise ValueError(
                f"got data.withhold={self.withhold}, data.solver_abroad={self.solver_abroad}, data.longer={self.longer}"
                f", data.programmer_longer={self.programmer_longer}; expected shares, the first below 1"
            )
        if self.programs < 2 or not self.difficulties or min(self.difficulties) < 0:
            raise ValueError(
                f"data.programs is {self.programs} and data.difficulties {list(self.difficulties)}; "
                "expected two programs or more, and levels of 0 or more"
            )
        if not 0 <= self.few_shot < self.programs:
            raise ValueError(
                f"data.few_shot is {self.few_shot} and data.programs {self.programs}; expected at least one program "
                "more than examples, and no negative number of them"
            )
        if not 0 <= self.worked <= 1 or self.max_tokens < 1 or self.first < 0:
            raise ValueError(
                f"got data.worked={self.worked}, data.max_tokens={self.max_tokens}, data.first={self.first}; expected "
                "a share, 1 or more, and 0 or more (pairs below 0 are kept for measuring)"
            )


class LearningRecipe(Section, frozen=True):
    tokens: int = 5_000_000
    """Tokens read in all, prompts included."""
    batch_tokens: int = 8192
    """Tokens of one optimiser step."""
    micro_batch_tokens: int = 2048
    """Tokens whose activations are held at once."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """Muon learns faster from nothing; a model that knows something already, and LoRA, stay with AdamW."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Of weights and activations while learning. With bfloat16 the optimiser still steps float32 copies of what it
    learns; what LoRA leaves alone is rounded."""
    learning_rate: float = 2e-3
    final_rate: float = 0.05
    """The rate falls to this share of its height along half a cosine."""
    warmup: float = 0.02
    """Share of the tokens over which it rises."""
    weight_decay: float = 0.05
    grad_clip: float = 1.0
    beta2: float = 0.98
    lora_rank: int = 0
    """0 trains all weights."""
    lora_alpha: int = 32

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.batch_tokens < 1 or self.micro_batch_tokens < 1:
            raise ValueError("learn.tokens, learn.batch_tokens and learn.micro_batch_tokens: expected 1 or more")
        if not self.learning_rate > 0 or not 0 <= self.final_rate <= 1 or not 0 <= self.warmup <= 1:
            raise ValueError(
                f"got learn.learning_rate={self.learning_rate}, learn.final_rate={self.final_rate}, learn.warmup="
                f"{self.warmup}; expected a rate above 0, and shares"
            )
        if self.lora_rank < 0 or self.grad_clip < 0 or self.weight_decay < 0:
            raise ValueError("learn.lora_rank, learn.grad_clip and learn.weight_decay: expected 0 or more")

    def training(self) -> TrainingConfig:
        """Return the part that the optimiser and LoRA understand."""
        return TrainingConfig(
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            grad_clip=self.grad_clip,
            lora_rank=self.lora_rank,
            lora_alpha=self.lora_alpha,
            micro_batch_tokens=self.micro_batch_tokens,
            kl=0.0,
        )


class ChecksRecipe(Section, frozen=True):
    """What is measured on the way and at the end."""

    every_tokens: int = 1_000_000
    pairs: int = 48
    """Held-out pairs per role whose loss is taken."""
    candidates: int = 64
    """Environments that the generator writes, validated."""
    problems: int = 200
    """Instances that the solver answers, of train and of held-out families each."""
    reviews: int = 0
    """Sound and broken environments that the reviewer judges, half and half."""
    programs: int = 0
    """Programs that the programmer writes, for environments of train and of held-out families each."""
    generator_tokens: int = 400
    solver_tokens: int = 200
    reviewer_tokens: int = 120
    programmer_tokens: int = 160
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.every_tokens < 1 or self.pairs < 1:
            raise ValueError("checks.every_tokens and checks.pairs: expected 1 or more")
        if min(self.candidates, self.reviews, self.programs) < 0 or not (
            self.problems == 0 or self.problems >= INSTANCES
        ):
            raise ValueError(
                f"got checks.candidates={self.candidates}, checks.problems={self.problems}, checks.reviews="
                f"{self.reviews}, checks.programs={self.programs}; expected 0 (not measured) or more, of problems "
                f"{INSTANCES} or more"
            )
        tokens = (self.generator_tokens, self.solver_tokens, self.reviewer_tokens, self.programmer_tokens)
        if min(tokens) < 1 or self.temperature < 0:
            raise ValueError("checks: expected 1 token or more for every role, and a temperature of 0 or more")


class Recipe(Section, frozen=True):
    seed: int = 0
    shape: ShapeRecipe = ShapeRecipe()
    data: DataRecipe = DataRecipe()
    learn: LearningRecipe = LearningRecipe()
    checks: ChecksRecipe = ChecksRecipe()
    then: tuple[dict[str, dict[str, Any]], ...] = ()
    """Stages that follow, each what it changes of the first, by section; each goes on from the model before it."""

    def stages(self) -> list[Recipe]:
        """Return every stage as a recipe of its own."""
        first = {key: value for key, value in msgspec.to_builtins(self).items() if key != "then"}
        stages = [read_recipe(first)]
        for change in self.then:
            merged = {
                key: {**value, **change.get(key, {})} if isinstance(value, dict) else value
                for key, value in first.items()
            }
            unknown = set(change) - set(first)
            if unknown:
                raise ConfigError(f"recipe: a later stage changes {sorted(unknown)}; expected sections of a recipe")
            stages.append(read_recipe(merged))
        return stages


def recipe_names() -> list[str]:
    folder = resources.files("evoenv.warmstart") / "recipes"
    return sorted(item.name[:-5] for item in folder.iterdir() if item.name.endswith(".toml"))


def load_recipe(name: str, overrides: Iterable[str] = ()) -> Recipe:
    """Load a shipped recipe or a file, with `a.b=v` laid over it."""
    if name in recipe_names():
        text = (resources.files("evoenv.warmstart") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    else:
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"there is no recipe {name!r}: expected a file, or one of {', '.join(recipe_names())} ({error})"
            ) from error
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the recipe {name} is not valid TOML: {error}") from error
    for override in overrides:
        _lay_over(tree, override)
    return read_recipe(tree)


def read_recipe(tree: Mapping[str, Any]) -> Recipe:
    try:
        return msgspec.convert(tree, Recipe)
    except msgspec.ValidationError as error:
        raise ConfigError(f"recipe: {error}") from error


def _lay_over(tree: dict[str, Any], override: str) -> None:
    key, separator, raw = override.partition("=")
    if not separator:
        raise ConfigError(f"--set {override!r}: expected section.key=value, for example --set learn.tokens=100000")
    value = parse_value(raw)
    section, dot, name = key.strip().partition(".")
    if not dot:
        tree[section] = value
        return
    inner = tree.setdefault(section, {})
    if not isinstance(inner, dict):
        raise ConfigError(f"--set {override!r}: {section!r} is a value, not a section")
    inner[name] = value
