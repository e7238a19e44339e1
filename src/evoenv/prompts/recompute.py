"""What the reviewer is shown when it recomputes: what the solver sees, and never the source or the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from evoenv.prompts.review import PromptValues, latent_parts
from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import Instance, Message

RECOMPUTE_PROMPTS = {"full": "recompute_v1", "short": "recompute_short_v1"}
"""`short` says only what a small model can hold, as the generator's short prompt does."""
EXAMPLES = 2
"""Instances that are shown."""

TEXT = "text"
"""The name of the whole text, which a program gets beside the values: sizes are often told in words, "0 to 5"."""

Form: TypeAlias = Literal["values", "text"]
"""What a program gets: the values that the prompt shows, by name, with the text beside them; or the text alone."""

_BY_VALUES = """The program defines a function

    def solve(values):

`values` is a dictionary with the values that the problem shows, under the names given with each instance, and with the
whole text of the problem under "text", in case something that matters is said in words only."""
_BY_TEXT = """The program defines a function

    def solve(text):

`text` is the whole text of a problem, as shown above."""
_FORMS: dict[tuple[str, Form], str] = {
    ("full", "values"): _BY_VALUES,
    ("full", "text"): _BY_TEXT,
    ("short", "values"): "`solve(values)` gets the values of a problem by name.",
    ("short", "text"): "`solve(text)` gets the text of a problem.",
}


def shown_names(instances: Sequence[Instance]) -> tuple[str, ...]:
    """Return the names of the values that the prompt of every instance shows.

    What a prompt hides is not passed to a program: a hidden parameter then shows as a contradiction.
    """
    names: list[str] | None = None
    for instance in instances:
        prompt = PromptValues(instance.prompt)
        shown = [name for name, value in named_values(instance).items() if prompt.describe(value) in ("yes", "empty")]
        names = shown if names is None else [name for name in names if name in shown]
    return tuple(names or ())


def named_values(instance: Instance) -> dict[str, Any]:
    """Return the parts of the latent instance under plain names."""
    values: dict[str, Any] = {}
    for number, (name, value) in enumerate(latent_parts(instance)):
        values[name if name is not None else f"value_{number}"] = value
    return values


def arguments_of(instance: Instance, form: Form, names: Sequence[str]) -> Any:
    """Return what a program is given of an instance, in plain JSON."""
    if form == "text":
        return instance.prompt
    values = named_values(instance)
    # An environment may have a value of that name: it comes last, and stays.
    return {TEXT: instance.prompt, **{name: plain_value(values[name]) for name in names if name in values}}


def plain_value(value: Any) -> Any:
    """Turn a value into lists, dictionaries with texts as keys, numbers and texts."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain_value(item) for item in value), key=repr)
    if isinstance(value, list | tuple) or type(value).__name__ == "deque":
        return [plain_value(item) for item in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def recompute_messages(
    instances: Sequence[Instance], form: Form, names: Sequence[str], version: Literal["full", "short"] = "full"
) -> tuple[Message, ...]:
    """Ask for a program that solves instances like these."""
    texts = []
    for number, instance in enumerate(instances, 1):
        text = f"## Instance {number}\n\n{fenced(instance.prompt)}"
        if form == "values":
            given = arguments_of(instance, form, names)
            values = {name: given[name] for name in names if name in given}
            text += f"\n\nvalues = {values!r}"
        texts.append(text)
    filled = {"count": str(len(instances)), "instances": "\n\n".join(texts), "form": _FORMS[version, form]}
    return (Message("user", fill(load_prompt(RECOMPUTE_PROMPTS[version]), filled)),)
