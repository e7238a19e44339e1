"""A scripted world for curricula: the loop's own, problems of a file by kind, and a challenger's questions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from loop_support import ORIGINALS, TableEmbedder, configuration, respond

from evoenv.config import Config
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.records import Request
from evoenv.run import create, prepare, reopen
from evoenv.sandbox.host import Sandbox
from evoenv.stages.context import Run

QUESTIONS = {
    # group, index: (question, how many of the four votes are right)
    (0, 0): ("How many legs have six spiders in all together?", 2),
    (0, 1): ("How many legs have five spiders in all together?", 4),
    (1, 0): ("Name the smallest prime above ninety", 1),
    (1, 1): (None, 0),
}


def sources(count: int) -> dict[str, str]:
    return dict(list(ORIGINALS.items())[:count])


def answer(request: Request, index: int) -> str:
    """Give the scripted world's answers, those to problems of a file by kind, and a challenger's questions."""
    text = request.messages[-1].content
    if request.role == "generator" and "<question>" in text:
        group = int(re.search(r"\.g(\d+)", request.id)[1])  # type: ignore[index]
        question, _ = QUESTIONS[group, index]
        return "no idea" if question is None else f"<question>{question}</question>"
    if request.id.endswith(".vote"):
        right = next(right for question, right in QUESTIONS.values() if question and question in text)
        return f"<answer>{'7' if index < right else 100 + index}</answer>"
    if found := re.search(r"Problem (\d+), (\w+)", text):
        right = {"easy": True, "hard": False, "mixed": index == 0, "long": index == 1}[found[2]]
        filler = "." * 40 if found[2] == "long" and index == 1 else ""
        return f"{filler}<answer>{found[1] if right else -1}</answer>"
    if any(question and question in text for question, _ in QUESTIONS.values()):
        return "<answer>7</answer>" if index == 0 else "seven" if index == 1 else "<answer>8</answer>"
    return respond(request, index)


def write_problems(path: Path, kinds: list[str]) -> str:
    lines = [json.dumps({"problem": f"Problem {row}, {kind}", "answer": row}) for row, kind in enumerate(kinds)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def config_of(name: str, place: Path, **sections: dict[str, Any]) -> Config:
    own: dict[str, dict[str, Any]] = {
        "curriculum": {"name": name, "votes": 4, "oversampling": 1, "max_batches": 3, "band_low": 0.25},
        "generator": {"prompts": 2, "candidates_per_prompt": 2},
        "solver": {"prompts": 4, "responses_per_prompt": 4, "difficulty": 1, "max_tokens": 64},
        "run": {"steps": 3, "seed": 5},
    }
    if name == "rlve":
        own["solver"]["difficulty_rule"] = "adaptive"
    if name == "dapo":
        own["curriculum"]["problems"] = write_problems(place / "problems.jsonl", ["easy", "mixed", "hard", "mixed"] * 3)
    return configuration(**{key: {**own.get(key, {}), **sections.get(key, {})} for key in {*own, *sections}})


def begin(place: Path, sandbox: Sandbox, config: Config | None, policy: ScriptedPolicy, originals: int = 2) -> Run:
    directory = place / "run"
    store, config = create(directory, config) if config else reopen(directory)
    policy.checkpoints = policy.checkpoints or directory / "checkpoints"
    return prepare(store, config, policy, sandbox, TableEmbedder(), originals=sources(originals))
