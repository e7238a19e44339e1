"""Write docs/findings.md from the table of codes: `python docs/make_findings.py`."""

from __future__ import annotations

from pathlib import Path

from evoenv.validation.codes import CODES

LAYERS = {
    1: "L1: the source",
    2: "L2: it runs",
    3: "L3: it is deterministic",
    4: "L4: it is a task",
    5: "L5: the scorer can be trusted",
}

INTRODUCTION = """# Findings of validation

ℓ(e), the layer of an environment, is the highest of five that it passes. `evoenv validate` reports every finding of
the layer that failed. Codes are stable: scripts may rely on them. Each finding says what was seen; this page says
what it means and how to mend it.
"""


def page() -> str:
    parts = [INTRODUCTION]
    for layer, title in LAYERS.items():
        parts.append(f"## {title}\n\n| code | means | mend |\n|---|---|---|")
        rows = [f"| `{code}` | {means} | {mend} |" for code, (means, mend) in CODES.items() if code[1] == str(layer)]
        parts[-1] += "\n" + "\n".join(rows) + "\n"
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("findings.md").write_text(page(), encoding="utf-8")
