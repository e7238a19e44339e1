"""What the reviewer was shown of a candidate, read back out of its prompt: instances, and scored answers."""

from __future__ import annotations

import re

from evoenv.watch.documents import Document, clip

_FENCE = re.compile(r"^(`{3,})python$", re.MULTILINE)
_PROBES = "\n## What the scorer gave to some answers\n"
_STEPS = "\n## Review in four steps\n"
_PROBE = re.compile(r"""^(.*?): (['"].*) -> (-?[\d.]+(?:e[+-]?\d+)?)$""")
_INSTANCE = re.compile(
    r"^## Instance \d+ \(seed (\d+), difficulty (\d+)\)\n\nRendered prompt:\n(`{3,})[^\n]*\n(.*?)\n\3\n\n"
    r"Values behind it, and the reference answer:\n(`{3,})[^\n]*\nvalue \| is \| shown in the prompt\n(.*?)\n\5$",
    re.DOTALL | re.MULTILINE,
)


def evidence_document(prompt: str) -> Document:
    """Describe instances with the values behind them, and probes (kind, answer, score), read out of a review prompt.

    What does not look like one gives nothing: the page has the words that are there, it never fails over them.
    """
    head, mark, tail = prompt.rpartition(_PROBES)
    if not mark:
        return {"instances": [], "probes": []}
    instances = [
        {
            "seed": instance[1],
            "difficulty": int(instance[2]),
            "prompt": clip(instance[4]),
            "values": [_value_row(line) for line in instance[6].split("\n")],
        }
        for instance in _INSTANCE.finditer(head, _end_of_source(head))
    ]
    probes = [
        [probe[1], probe[2], float(probe[3])]
        for line in tail.partition(_STEPS)[0].splitlines()
        if (probe := _PROBE.match(line))
    ]
    return {"instances": instances, "probes": probes}


def _end_of_source(head: str) -> int:
    """Find where the candidate's source ends in a prompt: what it says of instances is not what was shown of them."""
    fence = _FENCE.search(head)
    end = head.find(f"\n{fence[1]}\n", fence.end()) if fence else -1
    return max(0, end)


def _value_row(line: str) -> list[str]:
    """Return what a value is called, what it is, and whether the prompt shows it; the value itself may hold bars."""
    path, _, rest = line.partition(" | ")
    value, _, shown = rest.rpartition(" | ")
    return [path, value, shown]
