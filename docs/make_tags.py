"""Write docs/tags.md from the rules: `python docs/make_tags.py`."""

from __future__ import annotations

from pathlib import Path

from evoenv.pool.tags import PROTOTYPE_THRESHOLD, RULES, Rule

INTRODUCTION = f"""# Tags of environments

A tag says what kind of task an environment sets. It is given if one of its words (from a word's start, whatever the
case) stands in the prompt template without its fields, in the name of the class or in the first sentence of its
docstring, or if one of its marks stands in the code:

- `name:x`: the name `x` is used, as a variable, a function or an attribute;
- `import:x`: the module `x` is imported;
- `shape:recursion`: a function calls itself.

How an oracle works (bit masks, sets, queues) and how instances are drawn (shuffling) are no marks: they do not tell
the task.

An environment usually has several tags. Those of an admitted environment are fixed when it is admitted; the report tags
rejected candidates by the same rules. The rules are few and blunt on purpose: they compare runs, they do not judge
environments.

A *tag prototype* is counted whenever an environment's tags have Jaccard similarity below {PROTOTYPE_THRESHOLD:g}
to those of every prototype so far, in order of admission: a lower bound on the distinct kinds of task that a run has
reached.

| tag | words of the prompt | marks of the code |
|---|---|---|
"""


def page() -> str:
    return INTRODUCTION + "".join(f"| {rule.tag} | {', '.join(rule.words)} | {_marks(rule)} |\n" for rule in RULES)


def _marks(rule: Rule) -> str:
    return ", ".join(f"`{mark}`" for mark in rule.marks)


if __name__ == "__main__":
    Path(__file__).with_name("tags.md").write_text(page(), encoding="utf-8")
