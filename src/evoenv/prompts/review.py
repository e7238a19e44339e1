"""What the reviewer is shown: the source, sampled instances with the values behind them, and scorer probes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import Instance, Message
from evoenv.sandbox.guest import codec
from evoenv.sandbox.outcomes import parts_of

REVIEW_PROMPT = "review_v2"

_MAX_PROMPT_CHARS = 4000
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_MAX_VALUE_CHARS = 160
_MAX_TRACED_CHARS = 3000
"""Of the reference and of each value of a level-0 instance: it is there to be traced by hand, all of it."""
_MAX_LEAVES = 2000
_MAX_ROWS = 24
_EXPAND_UP_TO = 8


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """An answer that was put to the scorer, what it stands for, and what it got."""

    kind: str
    answer: str
    score: float


@dataclass(frozen=True, slots=True)
class LatentRow:
    """One part of the latent instance and whether the rendered prompt shows it."""

    path: str
    value: str
    shown: str


# --------------------------------------------------------------------------- the latent table


def latent_table(instance: Instance, limit: int = _MAX_VALUE_CHARS) -> list[LatentRow]:
    """List the parts of z and the reference, and say which of them the prompt shows.

    This makes the data flow between methods visible.

    Reviewers are weak at this when they read method by method, and it can simply be measured. A value
    counts as shown if each number or text in it stands somewhere in the prompt.
    """
    prompt_values = PromptValues(instance.prompt)
    rows = [
        LatentRow(path, _short(value, limit), prompt_values.describe(value))
        for path, _, value in _parts("z", decoded(instance.latent))[:_MAX_ROWS]
    ]
    reference = decoded(instance.reference)
    return [*rows, LatentRow("reference a", _short(reference, limit), prompt_values.describe(reference))]


def decoded(encoded: Any) -> Any:
    """Decode the wire form of a value; return the wire form itself if it is hostile and does not decode."""
    if parts_of(encoded, codec.MAX_NODES) > codec.MAX_NODES:
        return encoded
    try:
        return codec.decode(encoded)
    except (TypeError, ValueError, KeyError, IndexError, RecursionError):
        return encoded


def latent_parts(instance: Instance) -> list[tuple[str | None, Any]]:
    """Return the top-level parts of the latent instance, each with its name if it has one."""
    return [(name, value) for _, name, value in _parts("z", decoded(instance.latent))]


def _parts(path: str, value: Any) -> list[tuple[str, str | None, Any]]:
    """Return path, name and value of the parts of z: entries of a dict, items of a short sequence of sequences."""
    if isinstance(value, Mapping):
        return [(f"{path}[{key!r}]", key if isinstance(key, str) else None, item) for key, item in value.items()]
    if isinstance(value, tuple) and len(value) <= _EXPAND_UP_TO:
        return [(f"{path}[{index}]", None, item) for index, item in enumerate(value)]
    if isinstance(value, list) and len(value) <= _EXPAND_UP_TO and any(_is_container(item) for item in value):
        return [(f"{path}[{index}]", None, item) for index, item in enumerate(value)]
    return [(path, None, value)]


def _is_container(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple, set, frozenset)) or type(value).__name__ == "deque"


def _leaves(value: Any) -> Iterator[Any]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif _is_container(item):
            stack.extend(item)
        elif item is not None:
            yield item


class PromptValues:
    """The numbers and the text of a prompt, ready to be asked whether a value stands there."""

    def __init__(self, prompt: str) -> None:
        self._text = prompt
        self._compact = "".join(prompt.split())
        self._numbers: set[float] = set()
        for token in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", prompt[:400_000]):
            self._numbers.update((_number(token), _number(token.lstrip("-"))))

    def has(self, leaf: Any) -> bool:
        if isinstance(leaf, bool):
            return str(leaf).lower() in self._text.lower()
        if isinstance(leaf, (int, float)):
            try:
                return float(leaf) in self._numbers
            except OverflowError:
                return str(leaf) in self._text
        text = str(leaf)
        return text in self._text or "".join(text.split()) in self._compact

    def describe(self, value: Any) -> str:
        distinct: dict[str, Any] = {}
        for leaf in _leaves(value):
            distinct.setdefault(repr(leaf), leaf)
            if len(distinct) >= _MAX_LEAVES:
                break
        present = sum(self.has(leaf) for leaf in distinct.values())
        if not distinct:
            return "empty"
        if present == len(distinct):
            return "yes"
        return "NO" if present == 0 else f"partly ({present} of {len(distinct)} values)"


def _number(token: str) -> float:
    try:
        return float(token)
    except OverflowError:  # pragma: no cover - float() of text gives inf instead
        return float("inf")


def _short(value: Any, limit: int = _MAX_VALUE_CHARS) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = "".join(c.encode("unicode_escape").decode() if c in _LINE_ENDS else c for c in text)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


# --------------------------------------------------------------------------- the prompt


def review_messages(
    source: str, instances: Sequence[Instance], probes: Sequence[ScoredAnswer], *, in_full: bool = True
) -> tuple[Message, ...]:
    """Ask for the four-step review of one candidate.

    `in_full`: the values behind an instance of level 0 are shown in full, up to a few thousand characters each.
    """
    text = fill(
        load_prompt(REVIEW_PROMPT),
        {
            "source": fenced(source, "python"),
            "instances": "\n\n".join(
                _show_instance(number, item, in_full=in_full) for number, item in enumerate(instances, 1)
            ),
            "probes": _show_probes(probes),
        },
    )
    return (Message("user", text),)


def _show_instance(number: int, instance: Instance, *, in_full: bool) -> str:
    prompt = instance.prompt
    if len(prompt) > _MAX_PROMPT_CHARS:
        prompt = f"{prompt[:_MAX_PROMPT_CHARS]}\n… ({len(instance.prompt)} characters in all)"
    table = ["value | is | shown in the prompt"]
    limit = _MAX_TRACED_CHARS if in_full and instance.difficulty == 0 else _MAX_VALUE_CHARS
    table += [f"{row.path} | {row.value} | {row.shown}" for row in latent_table(instance, limit)]
    return (
        f"## Instance {number} (seed {instance.seed}, difficulty {instance.difficulty})\n\n"
        f"Rendered prompt:\n{fenced(prompt)}\n\n"
        f"Values behind it, and the reference answer:\n{fenced(chr(10).join(table))}"
    )


def _show_probes(probes: Sequence[ScoredAnswer]) -> str:
    if not probes:
        return "(no probes were run)"
    return fenced("\n".join(f"{probe.kind}: {_short(probe.answer)!r} -> {probe.score:g}" for probe in probes))
