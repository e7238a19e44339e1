"""What a configuration needs of a device's memory, computed before anything is loaded.

    shape of the model + settings ─► Need: bytes that are held always, bytes while sampling, bytes while training

`local_need` follows the engine of this process, tensor by tensor; benchmarks/memory.py compares it with measured peaks.
`sharded_need` is for an engine that cuts the training state over several devices (FSDP) and samples with the model cut
over some of them (tensor parallelism).

Prompts and responses are taken as long as they may be, so `Need.peak` is what a run comes to only if its texts reach
their limits. `Need.least` is what every run reaches with its first update, whatever its texts: a run is refused only if
that does not fit. 1 GB is 2^30 bytes here.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from evoenv.config import Config, load_config, to_mapping
from evoenv.models.shapes import ModelShape
from evoenv.training.batching import CHECKPOINT_ROOM, CHECKPOINT_TIME, needs_checkpointing

DeviceKind = Literal["cpu", "gpu"]
GB = 2**30
BYTES = {"float32": 4, "bfloat16": 2}
LOGIT_CHUNK = 1 << 25
"""Logits that the local engine holds at once: `training.logprobs.LOGIT_CHUNK`."""
ROWS = {"cpu": 128, "gpu": 256}
"""Rows that the local engine decodes side by side."""
SMALL_WEIGHTS, SMALL_ROWS = 32_000_000, 512
"""Up to which size a model counts as small on a CPU, and the rows of one."""
PREFILL_TOKENS = 4096
RUNTIME = {"cpu": int(0.45 * GB), "gpu": int(0.6 * GB)}
"""Libraries and their workspaces; on a GPU the context of the driver."""
EMBEDDER = 22_713_216 * 4
"""all-MiniLM-L6-v2 in float32."""
HALF_PACKED = ("x86_64", "AMD64")
"""Processors on which packed weights are in half precision (`engines.local.packed`); on others they are in float32."""


BY_LENGTH = ("activations", "logits")
"""The parts of an update that grow with the texts."""


@dataclass(frozen=True, slots=True)
class Part:
    """One use of memory, in bytes of one device."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Need:
    """What one device has to hold."""

    held: tuple[Part, ...]
    """All the time: weights, masters, optimiser, reference."""
    sampling: tuple[Part, ...]
    """While sampling, besides."""
    training: tuple[Part, ...]
    """During an update, besides; nothing of it if nothing is trained."""

    @property
    def peak(self) -> int:
        return total(self.held) + max(total(self.sampling), total(self.training))

    @property
    def least(self) -> int:
        return total(self.unavoidable)

    @property
    def unavoidable(self) -> tuple[Part, ...]:
        """The parts that do not depend on the length of texts."""
        return tuple(part for part in (*self.held, *self.training) if part.name not in BY_LENGTH and part.bytes)

    def bytes_of(self, name: str) -> int:
        """Return the bytes of one part; 0 if there is none of that name."""
        return sum(part.bytes for part in (*self.held, *self.sampling, *self.training) if part.name == name)


def total(parts: Iterable[Part]) -> int:
    return sum(part.bytes for part in parts)


# --------------------------------------------------------------------------- texts


@dataclass(frozen=True, slots=True)
class RoleLoad:
    """What one role asks for in a step: prompts, responses to each, and the limits of both."""

    prompts: int
    responses: int
    prompt_tokens: int
    response_tokens: int


def asked_in_step(config: Config) -> tuple[RoleLoad, ...]:
    """List what a step samples, by role; a calibration has a prompt for every response."""
    generator, solver, review, calibration = config.generator, config.solver, config.review, config.calibration
    candidates = generator.prompts * generator.candidates_per_prompt
    asked = [*trained_in_step(config)]
    if config.curriculum.name == "evoenv":
        if review.recomputes:
            asked.append(RoleLoad(candidates, review.programs, review.max_prompt_tokens, review.program_max_tokens))
        if review.reads:
            asked.append(RoleLoad(candidates, review.reviews, review.max_prompt_tokens, review.max_tokens))
        if calibration.enabled:
            responses = candidates * calibration.instances
            asked.append(RoleLoad(responses, 1, solver.max_prompt_tokens, solver.max_tokens))
    return tuple(asked)


def trained_in_step(config: Config) -> tuple[RoleLoad, ...]:
    """List the groups that a step trains on, by role."""
    generator, solver = config.generator, config.solver
    groups = [RoleLoad(solver.prompts, solver.responses_per_prompt, solver.max_prompt_tokens, solver.max_tokens)]
    if config.curriculum.name in ("evoenv", "r-zero"):
        groups.append(
            RoleLoad(
                generator.prompts,
                generator.candidates_per_prompt,
                generator.max_prompt_tokens,
                generator.max_tokens,
            )
        )
    return tuple(groups)


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward and backward pass of an update."""

    tokens: int
    responses: int
    """Response tokens: those that have logits."""
    keys: int
    """Keys of responses: each has the prompt's and its own in one tensor."""
    checkpointed: bool


def largest_passes(config: Config) -> list[Pass]:
    """Return, by role, the largest pass of an update whose texts are as long as they may be.

    The cut is that of `training.batching`: groups behind one copy of their prompt, either within the budget or, if that
    costs less, up to eight times it with checkpointing; what is smaller than the budget is packed up to it.
    """
    budget, always = config.training.micro_batch_tokens, config.training.gradient_checkpointing
    passes = []
    for asked in trained_in_step(config):
        prompt, response = asked.prompt_tokens, asked.response_tokens
        count = asked.responses if config.training.share_prompts else 1

        def cost(together: int, prompt: int = prompt, response: int = response, count: int = count) -> float:
            whole, rest = divmod(count, together)
            bundles = [(prompt + together * response, whole), (prompt + rest * response, int(rest > 0))]
            return sum(
                number * tokens * (CHECKPOINT_TIME if needs_checkpointing(tokens, budget) else 1.0)
                for tokens, number in bundles
            )

        rooms = (budget, budget * CHECKPOINT_ROOM)
        choices = [min(count, max(1, (room - prompt) // max(1, response))) for room in rooms]
        together = min(choices, key=cost)
        bundle = prompt + together * response
        bundles = math.ceil(asked.responses / together) * asked.prompts
        packed = max(1, min(budget // bundle, bundles))
        passes.append(
            Pass(
                tokens=packed * bundle,
                responses=packed * together * response,
                keys=packed * together * (prompt + response),
                checkpointed=always or needs_checkpointing(bundle, budget),
            )
        )
    return passes


# --------------------------------------------------------------------------- one device


def local_need(shape: ModelShape, config: Config, *, device: DeviceKind = "cpu", trains: bool = True) -> Need:
    """Compute what the local engine needs on one device."""
    dtype = config.model.dtype
    if dtype == "auto":
        dtype = "float32" if device == "cpu" else "bfloat16"
    size, half = BYTES[dtype], dtype == "bfloat16"
    training = config.training
    lora = training.lora_rank > 0
    learns = trains and config.curriculum.name != "untrained"
    trainable = (shape.lora_parameters(training.lora_rank) if lora else shape.parameters) if learns else 0
    held = [
        Part("weights", shape.parameters * size + (4 * trainable if lora else 0)),
        Part(
            "packed weights",
            _packed_bytes(shape, config, lora=lora, learns=learns) if device == "cpu" and not half else 0,
        ),
        Part("joined weights", _joined_bytes(shape, config, lora=lora) if device == "cpu" and not half else 0),
        Part("float32 masters", 4 * trainable if half and not lora else 0),
        Part("optimiser", 8 * trainable),
        Part("reference", shape.parameters * size if learns and training.kl > 0 and not lora else 0),
        Part("embedder", 0 if config.novelty.embedder == "hashing" else EMBEDDER),
        Part("libraries", RUNTIME[device]),
    ]
    sampling = _local_sampling(shape, config, size, rows_at_once(shape.parameters, device))
    # On a CPU attention is computed in float32 whatever the weights are.
    attention_size = 4 if device == "cpu" else size
    update = _local_training(shape, config, size, trainable, attention_size=attention_size) if learns else ()
    return Need(tuple(held), sampling, update)


def _packed_bytes(shape: ModelShape, config: Config, *, lora: bool, learns: bool) -> int:
    """Return what `model.packed` holds beside the plain weights: a copy that nobody trains (`engines.local.packed`).

    Without training most plain weights are given up for it. They were loaded first, so the need never falls below them.
    """
    if not config.model.packed or (learns and not lora):
        return 0
    packed = shape.parameters - (0 if shape.tied else shape.embedding_parameters)
    size = 2 if platform.machine() in HALF_PACKED else 4
    given_up = 0 if learns else 4 * (shape.parameters - shape.embedding_parameters)
    return max(0, size * packed - given_up)


def _joined_bytes(shape: ModelShape, config: Config, *, lora: bool) -> int:
    """Return what the copies of a small model's weights take by which it decodes (`engines.local.lean`), at most."""
    if shape.parameters > SMALL_WEIGHTS or lora or config.model.packed:
        return 0
    return 4 * (shape.parameters - shape.embedding_parameters)


def rows_at_once(weights: int, device: DeviceKind) -> int:
    """Return how many rows the local engine decodes side by side: `engines.local.decode.rows_at_once`."""
    return SMALL_ROWS if device == "cpu" and weights <= SMALL_WEIGHTS else ROWS[device]


def _local_sampling(shape: ModelShape, config: Config, size: int, max_rows: int) -> tuple[Part, ...]:
    cached = work = 0
    for asked in asked_in_step(config):
        rows = min(max_rows, asked.prompts * asked.responses)
        prompts = math.ceil(rows / asked.responses)
        wanted = prompts * asked.prompt_tokens + rows * asked.response_tokens
        tokens = min(config.model.sample_batch_tokens, wanted)
        cached = max(cached, tokens)
        live = max(1, rows * tokens // max(1, wanted))
        # Scores, weights and their copies by prompt, for all heads of one layer.
        scores = 4 * live * shape.heads * (asked.prompt_tokens + asked.response_tokens) * 4
        prefill = max(asked.prompt_tokens, min(PREFILL_TOKENS, prompts * asked.prompt_tokens))
        widest = max(3 * shape.intermediate, 6 * shape.query_width) + 3 * shape.hidden
        logits = 3 * rows * shape.vocabulary * 4
        work = max(work, logits + max(scores, prefill * widest * size))
    return (
        Part("key-value cache", cached * 2 * shape.layers * shape.key_width * size),
        Part("sampling work", work),
    )


def _local_training(
    shape: ModelShape, config: Config, size: int, trainable: int, *, attention_size: int
) -> tuple[Part, ...]:
    lora = config.training.lora_rank > 0
    activations = logits = 0
    for step in largest_passes(config):
        layer = _layer_bytes(shape, step, size, attention_size, lora_rank=config.training.lora_rank)
        kept = shape.layers * step.tokens * shape.hidden * size + layer if step.checkpointed else shape.layers * layer
        # Embedding, last norm, hidden states that have logits and their gradient; the gradients within one layer.
        ends = (4 * step.tokens + 3 * step.responses) * shape.hidden * size
        backward = step.tokens * (2 * shape.intermediate + 2 * shape.hidden) * size
        rows = min(step.responses, max(1, LOGIT_CHUNK // shape.vocabulary))
        # Logits, their logarithms and their gradient; then the gradient of the output layer.
        chunk = 3 * rows * shape.vocabulary * 4 + (0 if lora else shape.embedding_parameters * size)
        if kept + ends + max(backward, chunk) > activations + logits:
            activations, logits = kept + ends + max(0, backward - chunk), chunk
    # Before they are added to the masters', the gradients of a micro-batch stand beside them in bfloat16.
    summing = 0 if size == 4 or lora else 2 * trainable
    return (
        Part("gradients", 4 * trainable),
        Part("gradients of a micro-batch", summing),
        Part("activations", activations),
        Part("logits", logits),
    )


def _layer_bytes(shape: ModelShape, step: Pass, size: int, attention_size: int, *, lora_rank: int) -> int:
    """Return what one layer keeps for its backward pass.

    Each norm keeps its input, in float32, what it normalised and what it gives; attention its queries, keys, values
    (those of responses with their prompt's in front), its output and the same in the order of tokens; the feed-forward
    layer both its branches, the gate's activation and the product.
    """
    tokens = step.tokens
    # A frozen gain (LoRA) does not need what it multiplies.
    norms = 2 * tokens * shape.hidden * (4 + (1 if lora_rank else 2) * size)
    heads = tokens * (2 * shape.query_width + 2 * shape.key_width) * attention_size
    joined = step.keys * 2 * shape.key_width * attention_size
    output = tokens * shape.query_width * size
    normed = tokens * (shape.query_width + shape.key_width) * (4 + size) * shape.query_norm
    feed_forward = 4 * tokens * shape.intermediate * size
    adapters = 7 * tokens * lora_rank * 4
    return norms + heads + joined + output + normed + feed_forward + adapters


# --------------------------------------------------------------------------- several devices


def sharded_need(
    shape: ModelShape,
    config: Config,
    *,
    devices: int,
    tensor_parallel: int = 1,
    tokens_per_device: int | None = None,
    reference_size: int = 4,
    offload: bool | None = None,
) -> Need:
    """Compute what each of `devices` needs if the training state is cut over all of them (FSDP).

    Weights are float32 and computed with in bfloat16, layer by layer; `tokens_per_device` (None: as `engine` says) are
    differentiated at once, with checkpointing, and their logits held as a whole. The sampler holds the weights in
    bfloat16, cut over `tensor_parallel` devices, and its cache; it sleeps during updates. `offload` (None: as `engine`
    says) keeps the training state in the host's memory while sampling.
    """
    tokens_per_device = config.engine.tokens_per_device if tokens_per_device is None else tokens_per_device
    offload = config.engine.offload if offload is None else offload
    lora = config.training.lora_rank > 0
    trainable = shape.lora_parameters(config.training.lora_rank) if lora else shape.parameters
    groups = trained_in_step(config)
    longest = max(asked.prompt_tokens + asked.response_tokens for asked in groups)
    tokens = max(tokens_per_device or config.training.micro_batch_tokens, longest)

    def share(amount: int) -> int:
        return math.ceil(amount / devices)

    reference = shape.parameters * reference_size if config.training.kl > 0 and not lora else 0
    state = [
        Part("float32 masters", share(4 * (shape.parameters + (trainable if lora else 0)))),
        Part("optimiser", share(8 * trainable)),
        Part("reference", share(reference)),
    ]
    one = Pass(tokens, tokens, 0, checkpointed=True)
    layer = _layer_bytes(shape, one, 2, 2, lora_rank=config.training.lora_rank)
    gathered = 2 * (2 * shape.layer_parameters + shape.embedding_parameters * (1 if shape.tied else 2))
    backward = tokens * (2 * shape.intermediate + 2 * shape.hidden) * 2
    ends = 4 * tokens * shape.hidden * 2
    update = [
        Part("gradients", share(4 * trainable)),
        Part("gathered weights", gathered if devices > 1 else 0),
        Part("activations", shape.layers * tokens * shape.hidden * 2 + layer + backward + ends),
        Part("logits", 2 * tokens * shape.vocabulary * 2),
    ]
    cached = max(
        min(
            config.model.sample_batch_tokens,
            min(ROWS["gpu"], asked.prompts * asked.responses) * (asked.prompt_tokens + asked.response_tokens),
        )
        for asked in asked_in_step(config)
    )
    cache = cached * 2 * shape.layers * shape.key_width * 2 // min(tensor_parallel, shape.key_heads)
    sampling = [
        Part("sampler's weights", math.ceil(2 * shape.parameters / tensor_parallel)),
        Part("key-value cache", cache),
        Part("sampling work", 3 * ROWS["gpu"] * shape.vocabulary * 4),
    ]
    runtime = Part("libraries", 2 * RUNTIME["gpu"])  # trainer and sampler are two processes
    if offload:
        return Need((runtime,), tuple(sampling), (*state, *update))
    return Need((*state, runtime), tuple(sampling), tuple(update))


# --------------------------------------------------------------------------- does it fit?

LARGE_DEVICE = 80 * GB
WORLDS = (2, 4, 8, 16, 32, 64)
SPARE = 0.9
"""The share of a device that a sharded run may plan with: allocators and communication need the rest."""


@dataclass(frozen=True, slots=True)
class Option:
    """Something that would fit: what to change or where to run, and what it needs of each device."""

    words: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.words} ({in_gb(self.bytes)})"


def in_gb(amount: int) -> str:
    return f"{amount / GB:.1f} GB"


def smallest_world(shape: ModelShape, config: Config, memory: int, *, tensor_parallel: int = 1) -> int | None:
    """Return the least number of devices of this memory on which a sharded run fits; None if no number does."""
    for devices in WORLDS:
        if devices % tensor_parallel == 0:
            need = sharded_need(shape, config, devices=devices, tensor_parallel=tensor_parallel)
            if need.peak <= SPARE * memory:
                return devices
    return None


def what_fits(shape: ModelShape, config: Config, capacity: int, *, device: DeviceKind) -> list[Option]:
    """List what would train this model: changes that fit this device, and how many large devices would do without."""
    longest = max(asked.prompt_tokens + asked.response_tokens for asked in asked_in_step(config))
    lora = f"training.lora_rank={config.training.lora_rank or 32}"
    smaller = ["training.micro_batch_tokens=2048", f"model.sample_batch_tokens={longest}"]
    options: list[Option] = []
    engine = [] if config.engine.name == "local" else ["engine.name=local"]
    for changes in ([*engine, *smaller], [*engine, lora], [*engine, lora, *smaller]):
        changed = load_config(to_mapping(config), overrides=changes)
        peak = local_need(shape, changed, device=device).peak
        if peak <= capacity:
            options.append(Option("here, with " + " ".join(f"--set {change}" for change in changes), peak))
            break
    memory = capacity if device == "gpu" else LARGE_DEVICE
    devices = smallest_world(shape, config, memory)
    if devices is not None:
        peak = sharded_need(shape, config, devices=devices).peak
        options.append(Option(f"sharded over {devices} devices of {memory / GB:.0f} GB, as it is", peak))
    return options


def refusal(
    name: str, shape: ModelShape, config: Config, capacity: int, *, device: DeviceKind, trains: bool = True
) -> str | None:
    """Say why a model cannot run on one device, with the numbers and what would fit; None if it can."""
    need = local_need(shape, config, device=device, trains=trains)
    if need.least <= capacity:
        return None
    parts = ", ".join(f"{part.name} {part.bytes / GB:.1f}" for part in need.unavoidable)
    purpose = "to be trained" if need.training else "to be loaded"
    options = "; ".join(map(str, what_fits(shape, config, capacity, device=device))) if need.training else ""
    advice = f"What would fit: {options}" if options else "Take a smaller model, or a device with more memory"
    return (
        f"{name} needs at least {in_gb(need.least)} {purpose} ({parts}; texts come on top), and this "
        f"{'machine' if device == 'cpu' else 'GPU'} has {in_gb(capacity)}. Nothing was loaded. {advice}"
    )


def sharded_refusal(name: str, shape: ModelShape, config: Config, memory: int, *, device: DeviceKind) -> str | None:
    """Say why the devices that `engine` names cannot hold their shares of the training state; None if they can.

    All of them are taken to be like the one here; on a CPU they share its memory.
    """
    world = config.engine.world
    need = sharded_need(shape, config, devices=world, tensor_parallel=config.engine.tensor_parallel)
    if need.least * (world if device == "cpu" else 1) <= memory:
        return None
    where = f"this GPU has {in_gb(memory)}" if device == "gpu" else f"here they would share {in_gb(memory)}"
    options = "; ".join(map(str, what_fits(shape, config, memory, device=device)))
    advice = f"What would fit: {options}" if options else "Take a smaller model, or more devices"
    return (
        f"{name} needs at least {in_gb(need.least)} of each of {world} devices to be trained, and {where}. Nothing was "
        f"loaded. {advice}"
    )
