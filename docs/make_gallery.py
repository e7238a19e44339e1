"""Makes the gallery: admitted environments of runs with their prompts, verdicts, and what reading them found.

    python docs/make_gallery.py RUN [RUN …] [--count 20] [--list]

Takes the first admitted environments of the runs, as many from each as there are, puts their sources into
docs/gallery and writes docs/gallery/README.md. What the reader found stands in docs/gallery/notes.toml, by the
environment's id: `verdict` (sound, flawed or wrong) and `text`; one without a note is an error. --list prints what has
to be read, and writes nothing.
"""

from __future__ import annotations

import argparse
import tomllib
from collections import Counter
from pathlib import Path

from evoenv.assembly import open_sandbox
from evoenv.prompts.texts import fenced
from evoenv.runs.candidates import History
from evoenv.runs.view import RunView
from evoenv.sandbox.host import Sandbox

GALLERY = Path(__file__).parent / "gallery"
VERDICTS = ("sound", "flawed", "wrong")
LONGEST = 1200
"""Characters of a prompt that are shown."""


def admitted(directory: Path) -> list[tuple[str, str, History]]:
    """Read the admitted candidates of a run in order, with their author and their environments' ids."""
    with RunView.open(directory) as view:
        author = Path(str(view.config["model"]["name"])).name
        found = [
            (record.id, view.candidate(record.candidate_id))
            for record in view.environments()
            if record.candidate_id is not None
        ]
    return [(author, name, history) for name, history in found if history is not None]


def instance(sandbox: Sandbox, source: str, level: int) -> tuple[str, str]:
    """Return prompt and reference of the instance with seed 0."""
    with sandbox.open(source) as worker:
        made = worker.instances([0], level)[0]
    if made is None:
        return "(this level has no instance with seed 0)", ""
    prompt = made.prompt if len(made.prompt) <= LONGEST else made.prompt[:LONGEST] + " […]"
    return prompt, str(made.reference)


def verdicts(history: History) -> str:
    """Say in one line what review, calibration and novelty found."""
    said = []
    if history.reviews:
        said.append("read: " + ", ".join(review.verdict for review in history.reviews))
    if history.recomputation is not None:
        shares = ", ".join(f"{100 * share:.0f}%" for share in history.recomputation.shares)
        said.append(f"recomputed: {history.recomputation.verdict} (programs right on {shares or 'none'})")
    if history.calibration is not None:
        said.append(f"the solver's pass rate {history.calibration.pass_rate:.2f}")
    if history.entry.novelty is not None:
        said.append(f"nearest environment {history.entry.novelty.similarity:.2f} alike")
    return "; ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    found = [admitted(run) for run in arguments.runs]
    # In turn, so that a run that admitted few leaves its share to the others.
    turns = sorted((turn, number) for number, own in enumerate(found) for turn in range(len(own)))[: arguments.count]
    chosen = [found[number][turn] for number, turn in sorted((number, turn) for turn, number in turns)]
    notes_file = GALLERY / "notes.toml"
    notes = tomllib.loads(notes_file.read_text(encoding="utf-8")) if notes_file.exists() else {}
    missing = [name for _, name, _ in chosen if notes.get(name, {}).get("verdict") not in VERDICTS]
    if missing and not arguments.list:
        parser.exit(1, f"docs/gallery/notes.toml has no verdict ({', '.join(VERDICTS)}) for {', '.join(missing)}\n")
    parts = []
    table = []
    with open_sandbox() as sandbox:
        for number, (author, name, history) in enumerate(chosen, 1):
            source = history.source or ""
            entry = history.entry
            shown = [(level, *instance(sandbox, source, level)) for level in (0, 3)]
            if arguments.list:
                print(f"=== {name} {entry.name} ({author}, step {entry.step})\n{verdicts(history)}\n{source}")
                for level, prompt, reference in shown:
                    print(f"--- level {level}\n{prompt}\n--- reference: {reference}")
                continue
            note = notes[name]
            file = f"{number:02}_{entry.name}.py"
            (GALLERY / file).write_text(source.rstrip() + "\n", encoding="utf-8")
            table.append(
                f"| {number} | [{entry.name}](#{number}-{entry.name.lower()}) | {author} | {note['verdict']} |"
            )
            parts.append(f"## {number} {entry.name}\n")
            said = verdicts(history)
            said = said[:1].upper() + said[1:]
            parts.append(f"By {author}; the source: [{file}]({file}). {said}.\n")
            for level, prompt, reference in shown:
                parts.append(f"Level {level}, answer `{reference}`:\n\n{fenced(prompt, 'text')}\n")
            parts.append(f"**{note['verdict'].capitalize()}.** {' '.join(note['text'].split())}\n")
    if arguments.list:
        return
    counts = Counter(notes[name]["verdict"] for _, name, _ in chosen)
    head = (GALLERY / "head.md").read_text(encoding="utf-8").strip()
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    lines = [
        head,
        "",
        f"Of these {len(chosen)}: {summary}.",
        "",
        "| | environment | author | a reader finds |",
        "|---|---|---|---|",
    ]
    page = "\n".join([*lines, *table, "", *parts])
    (GALLERY / "README.md").write_text(page.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
