"""One typed tree of settings <-> TOML <-> dotted flags.

Defaults are the paper's numbers, if it has them. Order: defaults < preset < `--config` file <
`--set a.b=v`. An unknown key stops the run and names its nearest neighbour: a misspelt setting that is
silently ignored costs a night.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from evoenv.errors import ConfigError
from evoenv.ranges import check_ranges
from evoenv.sections import Section, flatten, known_keys, nest, parse_value


class GeneratorConfig(Section, frozen=True):
    prompts: int = 16
    """Distinct generator prompts per step."""
    candidates_per_prompt: int = 8
    """GRPO group size of the generator role."""
    temperature: float = 1.0
    top_p: float = 1.0
    max_prompt_tokens: int = 8192
    max_tokens: int = 8192
    few_shot: int = 2
    """Examples from S shown in each prompt."""
    few_shot_choice: Literal["diverse", "random"] = "diverse"
    reward: Literal["full", "gated", "proven", "without-quality", "without-diversity"] = "full"
    """The ablations drop Q_val (validation and difficulty) or γ·N (novelty). `gated` pays only for what validation,
    calibration and the novelty gate would let in, else −½: a small model learns to copy, since a copy is valid, or to
    ask nonsense, since that is new. `proven` gives 0 for what is valid and new but not confirmed by programs."""
    prompt: Literal["full", "guided", "short"] = "full"
    """`short` is for models that a long list of rules confuses more than it helps; `guided` for small models that write
    Python: it gives the form of a simple environment, whose question and computation are theirs to write."""
    topics: int = 0
    """Name this many topics (tags of environments) in each prompt, drawn with a preference for what the pool has
    little of. Small models copy their examples if nothing tells them what else to ask. The paper names none."""

    def __post_init__(self) -> None:
        if self.topics < 0 or self.few_shot < 0:
            raise ValueError(
                f"generator.topics is {self.topics} and generator.few_shot is {self.few_shot}; "
                "expected 0 or more of each"
            )


class SolverConfig(Section, frozen=True):
    prompts: int = 64
    """Distinct solver prompts per step."""
    responses_per_prompt: int = 8
    temperature: float = 1.0
    top_p: float = 1.0
    max_prompt_tokens: int = 8192
    max_tokens: int = 16384
    difficulty: int = 2
    """The level of every instance if `difficulty_rule` is fixed."""
    difficulty_rule: Literal["fixed", "adaptive"] = "fixed"
    """`fixed` is the paper's; `adaptive` is RLVE's rule, per environment."""
    draw_rule: Literal["position", "lot"] = "position"
    """How a group's environment is drawn from the pool and the just admitted, by either rule uniformly. `position`: by
    its place among them, so that one environment more changes every draw. `lot`: each draws a lot for each group and
    the highest wins; most draws are then known before the last candidate is judged (`engine.overlap`)."""


class ValidationConfig(Section, frozen=True):
    layer_seconds: float = 30.0
    call_cpu_seconds: float = 5.0
    """CPU time that one generate, render or score call may take."""
    memory_mb: int = 512
    modules: tuple[str, ...] = ()
    """Modules beyond the allow-list that imported environments may use, trusted by name; candidates may not."""


class ReviewConfig(Section, frozen=True):
    enabled: bool = True
    kind: Literal["reading", "recomputing", "both"] = "reading"
    """`reading`: the reviewer reads the source. `recomputing`: it writes programs from the rendered prompts alone, and
    they are run on fresh instances. `both`: reading must accept, and recomputing must not contradict."""
    programs: int = 3
    """Independent programs for each candidate."""
    program_instances: int = 16
    """Fresh instances that each program is run on."""
    program_gets: Literal["values", "text"] = "values"
    """What a program is given: the values that the prompt shows, by name, with the text; or the text alone."""
    program_prompt: Literal["full", "short"] = "full"
    """`short` is for models of a few million weights, which were taught it (`evoenv warm-start`)."""
    program_max_tokens: int = 2048
    admits: tuple[Literal["confirmed", "unconfirmed", "contradicted"], ...] = ("confirmed",)
    """The verdicts of `recomputing` that open the pool."""
    reviews: int = 3
    rule: Literal["any-reject", "majority", "all-reject", "single"] = "any-reject"
    temperature: float = 0.6
    max_prompt_tokens: int = 8192
    max_tokens: int = 8192

    @property
    def reads(self) -> bool:
        """Whether candidates are reviewed by reading."""
        return self.enabled and self.kind != "recomputing"

    @property
    def recomputes(self) -> bool:
        """Whether candidates are reviewed by recomputation."""
        return self.enabled and self.kind != "reading"

    def __post_init__(self) -> None:
        if min(self.programs, self.program_instances, self.reviews) < 1 or not self.admits:
            raise ValueError(
                f"review.programs is {self.programs}, review.program_instances is {self.program_instances}, "
                f"review.reviews is {self.reviews} and review.admits is {list(self.admits)}; expected 1 or more of each"
            )


class CalibrationConfig(Section, frozen=True):
    enabled: bool = True
    """False (`evoenv synth` only): nobody solves, and candidates of any difficulty are admitted."""
    instances: int = 8
    pass_threshold: float = 0.0
    strict: bool = False
    """Count only fully right responses: partial-credit scorers are almost always above 0."""
    target: float = 0.3
    sigma: float = 0.2

    def __post_init__(self) -> None:
        if self.sigma <= 0 or self.instances < 1:
            raise ValueError(
                f"calibration.sigma is {self.sigma} and calibration.instances is {self.instances}; "
                "expected positive numbers"
            )


class AdmissionConfig(Section, frozen=True):
    """Optional rules of admission, beyond the method's own."""

    min_asymmetry: float = -1.0
    """The least by which programs must do better than words, as shares of instances (docs/recomputation.md); −1 asks
    for nothing. Needs a review that recomputes."""

    @property
    def gates_asymmetry(self) -> bool:
        """Whether candidates are refused for their asymmetry."""
        return self.min_asymmetry > -1

    def __post_init__(self) -> None:
        if not -1 <= self.min_asymmetry <= 1:
            raise ValueError(f"admission.min_asymmetry is {self.min_asymmetry}; expected a difference from -1 to 1")


class NoveltyConfig(Section, frozen=True):
    mix: float = 0.5
    """λ: the weight of the prompt view against the code view."""
    gate: float = 0.80
    first: bool = False
    """Ask nobody about candidates that the gate refuses whatever is said of them: no review, and if no reward depends
    on it (synthesis; `gated`, `proven`) no calibration. The same are admitted; models that copy cost far less."""
    repetition_over: Literal["admitted", "batch"] = "admitted"
    """What s̄ follows: how alike the admitted of a step are, or all its candidates from L2 on (γ then stays at its
    maximum). The admitted are known once γ has been used, so their likeness counts from the next step on."""
    ema_keep: float = 0.6
    ema_start: float = 0.5
    gamma_min: float = 2.0
    gamma_max: float = 5.0
    tau_low: float = 0.45
    tau_high: float = 0.65
    embedder: str = "all-MiniLM-L6-v2"

    def __post_init__(self) -> None:
        if self.tau_high <= self.tau_low:
            raise ValueError(f"novelty.tau_high is {self.tau_high}; expected more than tau_low ({self.tau_low})")


class PoolConfig(Section, frozen=True):
    rotate_every: int = 10
    max_epochs: int = 5
    original_floor: float = 0.2
    min_size: int = 1
    """Rotation never takes the pool below this many environments."""

    def __post_init__(self) -> None:
        if self.rotate_every < 1:
            raise ValueError(f"pool.rotate_every is {self.rotate_every}; expected 1 or more steps")


class TrainingConfig(Section, frozen=True):
    learning_rate: float = 5e-7
    gain_rate: float = 1.0
    """Norm gains and biases learn at this multiple of the rate. AdamW moves every weight by about the rate, and a gain
    near 1 is ten times as large as a matrix's entry: at the same rate it hardly moves."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """`muon` steps the matrices between embedding and output layer with their momentum orthogonalised, the rest with
    AdamW, all at the same rate. Not for LoRA."""
    schedule: Literal["constant", "linear"] = "constant"
    """The rate after the warm-up: `constant`, or `linear`, which falls and would reach zero after the last step."""
    schedule_steps: int = 0
    """Updates that the `linear` schedule is made for; 0: `run.steps` as the run begins."""
    warmup_steps: int = 5
    weight_decay: float = 0.1
    grad_clip: float = 1.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float = 10.0
    truncated_importance: float = 0.0
    """Above 0: correct for a sampler that computes otherwise than the trainer. Each token's surrogate is weighted by
    min(exp(trainer's − sampler's log-probability), this number), and its ratio starts from the trainer's. 0: off."""
    kl: float = 1e-3
    generator_weight: float = 0.3
    role_weighting: Literal["loss", "advantage-scale"] = "loss"
    """`loss`: each role's surrogate is averaged over its own tokens, then weighted. `advantage-scale`: the
    weight multiplies the generator's advantages under one shared token mean (the paper's table)."""
    aggregation: Literal["role-token-mean", "token-mean", "sequence-mean", "dr-grpo"] = "role-token-mean"
    advantage_std: bool = True
    """Divide advantages by the group's standard deviation; `aggregation = "dr-grpo"` never does."""
    dr_grpo_tokens: int = 16384
    """The constant response length that Dr. GRPO divides by, whatever the real lengths."""
    epochs: int = 1
    """Passes over a step's groups."""
    minibatches: int = 1
    """Optimiser steps into which a pass is cut, by whole groups."""
    micro_batch_tokens: int = 2048
    """Tokens whose activations are held at once while training; longer texts are checkpointed. Bounds memory (about
    2 MB a token for SmolLM2-135M), never changes the gradient."""
    share_prompts: bool = True
    """Compute a group's prompt, what its responses begin with in common, and equal responses once, if the architecture
    allows it; never changes the gradient."""
    gradient_checkpointing: bool = False
    """Recompute activations in every backward pass, not only in those over `micro_batch_tokens`."""
    lora_rank: int = 0
    """0 trains all weights."""
    lora_alpha: int = 32


class EngineConfig(Section, frozen=True):
    """What runs the model; see docs/engines.md. All but `name` and `overlap` is for `verl` alone; see docs/scale.md."""

    name: Literal["local", "endpoint", "verl"] = "local"
    """`local`: transformers and torch in this process. `endpoint`: the server `model.base_url`, which is used whenever
    it is named. `verl`: Ray, FSDP2 and vLLM on one or many devices."""
    ray_address: str = ""
    """The Ray cluster to join, as in `auto` or `10.0.0.1:6379`; empty: one is started on this machine for the run."""
    nodes: int = 1
    devices_per_node: int = 1
    """Devices on each node; every one holds a share of the trainer and, in turn, of a server."""
    sandbox_nodes: Literal["driver", "all"] = "driver"
    """Where candidates are judged and responses scored: on the driver's machine, or on the CPUs of all nodes of the Ray
    cluster, each behind the sandbox's full walls."""
    tensor_parallel: int = 1
    """Devices over which one server spreads the model; there are nodes × devices_per_node / tensor_parallel servers."""
    sampler_memory: float = 0.5
    """Share of a device's memory that a server may take while it samples."""
    sampler_rows: int = 256
    """Samples that one server draws at once."""
    sampler_dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """`auto` is model.dtype."""
    trainer_dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of forward and backward passes; the weights that are stepped are always float32. `auto` is model.dtype."""
    tokens_per_device: int = 0
    """Tokens of a micro-batch on one device; 0: training.micro_batch_tokens, or the longest prompt and response that
    are trained on, if that is more. A sequence is never cut."""
    offload: bool = False
    """Keep weights and optimiser in the machine's memory while servers sample: slower, and needs less of the device."""
    patience_seconds: float = 1800.0
    """Longest wait for any one thing: the start of a server, a training call, a sample. Then the run ends and can be
    resumed."""
    take_weights: bool = False
    """Resume also from a checkpoint of another number of devices, with its weights but not the optimiser's state."""
    mismatch_limit: float = 0.05
    """Warn if the log-probabilities of sampler and trainer differ by more than this on average; 0: never."""
    overlap: Literal["auto", "on", "off"] = "auto"
    """Whether a step asks early for what a later stage is certain to ask: reviews, programs and calibration of a
    candidate as soon as it passes L5, and solver groups that are certain already. Never changes what is asked. `auto`:
    with servers (`verl`, `model.base_url`), not with a model in this process, which would gain nothing."""
    verl: tuple[str, ...] = ()
    """Settings of verl's own over those that EvoEnv makes, as in `actor_rollout_ref.rollout.enforce_eager=true`."""

    @property
    def world(self) -> int:
        """Devices in all."""
        return self.nodes * self.devices_per_node


class ModelConfig(Section, frozen=True):
    name: str = "SmolLM2-135M-Instruct"
    device: str = "auto"
    dtype: Literal["float32", "bfloat16", "auto"] = "auto"
    sample_batch_tokens: int = 65536
    """Tokens of key-value cache that sampling may hold at once."""
    packed: bool = False
    """Sample from a copy of the weights that are not trained, in the form that a CPU multiplies fastest: on x86 rounded
    to half precision, else in float32. Sampling is faster, most of all with few rows; an update still computes with the
    plain weights. If nothing is trained, these are given up."""
    base_url: str = ""
    """An OpenAI-compatible server; sampling only."""


class EndpointConfig(Section, frozen=True):
    """How a server (`model.base_url`) is used, and what it may cost; a budget of 0 is none."""

    concurrency: int = 8
    timeout_seconds: float = 300.0
    """Longest silence of the server before a request counts as failed."""
    retries: int = 6
    token_budget: int = 0
    """Prompt and answer tokens of the whole run."""
    money_budget: float = 0.0
    input_price: float = 0.0
    """Per million prompt tokens, in the currency of the budget."""
    output_price: float = 0.0
    solver_base_url: str = ""
    """A second server that answers as the solver (calibration); empty: the author's own."""
    solver_model: str = ""
    """The solver's name there; empty: the author solves, too."""
    solver_input_price: float = 0.0
    solver_output_price: float = 0.0


class CurriculumConfig(Section, frozen=True):
    """What a step trains on; see docs/compare.md for the rules."""

    name: Literal["evoenv", "untrained", "fixed", "rlve", "dapo", "r-zero"] = "evoenv"
    environments: str = "seeds"
    """What a run starts from (evoenv) or trains on (fixed, rlve): `seeds`, `corpus:train`, `corpus:train:40` (forty
    programs of the procedural author), a file, a folder of files, or a run directory (its active pool)."""
    problems: str = ""
    """dapo: a JSONL file of problems and answers."""
    problem_field: str = "problem"
    answer_field: str = "answer"
    oversampling: int = 3
    """dapo: prompts sampled at once, in multiples of solver.prompts."""
    max_batches: int = 10
    """dapo: such batches per step at most; then the step trains on what there is."""
    overlong_share: float = 0.2
    """dapo: the last share of solver.max_tokens in which a response is punished for its length; 0: never."""
    votes: int = 10
    """r-zero: answers to each question, whose majority is the label."""
    band_low: float = 0.3
    """r-zero: the solver trains on questions whose vote share is in this band."""
    band_high: float = 0.8
    challenger_reward: Literal["paper", "code"] = "paper"
    """r-zero: max(0, 1 − 2·|s − ½| − λ·|C|/B), or its published code's min(s, 1 − s) − |C|/B."""
    repetition_weight: float = 1.0
    """r-zero: λ, the weight of a question's cluster in the paper's reward."""
    cluster_distance: float = 0.5
    """r-zero: questions whose average BLEU distance is less than this are one cluster."""

    def __post_init__(self) -> None:
        if self.oversampling < 1 or self.max_batches < 1 or self.votes < 1:
            raise ValueError(
                f"curriculum.oversampling is {self.oversampling}, max_batches {self.max_batches} and votes "
                f"{self.votes}; expected 1 or more of each"
            )
        if not 0 <= self.band_low <= self.band_high <= 1:
            raise ValueError(
                f"the band of vote shares is {self.band_low} to {self.band_high} (curriculum.band_low, band_high); "
                "expected 0 ≤ low ≤ high ≤ 1"
            )
        if not 0 <= self.overlong_share <= 1:
            raise ValueError(f"curriculum.overlong_share is {self.overlong_share}; expected a share from 0 to 1")


class SynthConfig(Section, frozen=True):
    """What only `evoenv synth` does; in training every candidate stays what the policy wrote at once."""

    repairs: int = 0
    """How often a candidate that fails validation goes back to its author with its findings."""

    def __post_init__(self) -> None:
        if self.repairs < 0:
            raise ValueError(f"synth.repairs is {self.repairs}; expected 0 or more")


class RunConfig(Section, frozen=True):
    steps: int = 100
    candidates: int = 0
    """How many `evoenv synth` proposes, in the middle of a step if need be; 0 in training, where `steps` decide."""
    tokens: int = 0
    """Stop after the step in which the tokens sampled and trained on reach this; 0: `steps` alone decides."""
    tokens_at_least: int = 0
    """Go on after the last of `steps` until the tokens sampled and trained on reach this; 0: stop there."""
    seed: int = 0
    checkpoint_every: int = 1
    keep_checkpoints: int = 2
    writers: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()


class Config(Section, frozen=True):
    run: RunConfig = RunConfig()
    model: ModelConfig = ModelConfig()
    engine: EngineConfig = EngineConfig()
    endpoint: EndpointConfig = EndpointConfig()
    generator: GeneratorConfig = GeneratorConfig()
    solver: SolverConfig = SolverConfig()
    validation: ValidationConfig = ValidationConfig()
    review: ReviewConfig = ReviewConfig()
    calibration: CalibrationConfig = CalibrationConfig()
    admission: AdmissionConfig = AdmissionConfig()
    novelty: NoveltyConfig = NoveltyConfig()
    pool: PoolConfig = PoolConfig()
    training: TrainingConfig = TrainingConfig()
    curriculum: CurriculumConfig = CurriculumConfig()
    synth: SynthConfig = SynthConfig()

    @property
    def with_schedule(self) -> Config:
        """The same with a schedule of known length: one that names none is made for the run's steps."""
        known = self.training.schedule == "constant" or self.training.schedule_steps
        training = msgspec.structs.replace(self.training, schedule_steps=self.run.steps)
        return self if known else msgspec.structs.replace(self, training=training)

    @property
    def overlaps(self) -> bool:
        """Whether the stages of a step overlap."""
        if self.engine.overlap == "auto":
            return bool(self.model.base_url) or self.engine.name != "local"
        return self.engine.overlap == "on"

    @property
    def drawn_at_once(self) -> int:
        """How many samples the policy's servers draw at the same time."""
        on_cluster = self.engine.sampler_rows * max(1, self.engine.world // self.engine.tensor_parallel)
        return self.endpoint.concurrency if self.model.base_url else on_cluster

    def __post_init__(self) -> None:
        if self.admission.gates_asymmetry and not (self.review.recomputes and self.calibration.enabled):
            raise ValueError(
                f"admission.min_asymmetry is {self.admission.min_asymmetry}, but nothing measures the asymmetry; set "
                'review.kind to "recomputing" or "both", with review.enabled and calibration.enabled'
            )
        proves = self.review.enabled and self.review.kind == "recomputing" and self.review.admits == ("confirmed",)
        if self.generator.reward == "proven" and not proves:
            raise ValueError('generator.reward "proven": set review.kind to "recomputing", and admit "confirmed" alone')


KNOWN_KEYS: tuple[str, ...] = tuple(known_keys(Config))


def _check_key(key: str, origin: str) -> None:
    if key not in KNOWN_KEYS:
        near = difflib.get_close_matches(key, KNOWN_KEYS, n=1)
        advice = f"did you mean '{near[0]}'?" if near else "see `evoenv train --help-config` for every key."
        raise ConfigError(f"{origin}: unknown setting '{key}'; {advice}")


def parse_override(text: str) -> tuple[str, Any]:
    """Read `training.kl=0.01` as ("training.kl", 0.01). The value is TOML; a bare word is a string."""
    key, separator, raw = text.partition("=")
    key = key.strip()
    if not separator:
        raise ConfigError(f"--set {text!r}: expected section.key=value, for example --set training.kl=0.01")
    _check_key(key, "--set")
    return key, parse_value(raw)


def load_config(*layers: Path | Mapping[str, Any], overrides: Iterable[str] = ()) -> Config:
    """Merge TOML files and mappings, later ones winning, then `a.b=v` overrides."""
    flat: dict[str, Any] = {}
    for layer in layers:
        if isinstance(layer, Path):
            origin = str(layer)
            try:
                tree: Mapping[str, Any] = tomllib.loads(layer.read_text(encoding="utf-8"))
            except OSError as error:
                raise ConfigError(f"cannot read the configuration {layer}: {error.strerror or error}") from error
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ConfigError(f"{layer} is not valid TOML: {error}") from error
        else:
            origin, tree = "configuration", layer
        for key, value in flatten(tree):
            _check_key(key, origin)
            flat[key] = value
    flat |= dict(map(parse_override, overrides))
    try:
        config = msgspec.convert(nest(flat), Config)
    except msgspec.ValidationError as error:
        raise ConfigError(_explained(error, flat)) from error
    check_ranges(to_mapping(config))
    return config


def _explained(error: msgspec.ValidationError, flat: Mapping[str, Any]) -> str:
    """Say which setting cannot be read; of one that must be among a few values, which those are."""
    key = str(error).rpartition("`$.")[2].rstrip("`")
    if key in flat:
        section, name = key.split(".")
        kind = get_type_hints(get_type_hints(Config)[section])[name]
        if get_origin(kind) is Literal:
            return f"{key} is {flat[key]!r}; expected one of {', '.join(map(str, get_args(kind)))}"
    return f"configuration: {error}"


def to_mapping(config: Config) -> dict[str, Any]:
    """Return the resolved tree as plain values, ready for TOML or JSON."""
    tree: dict[str, Any] = msgspec.to_builtins(config)
    return tree
