"""What models wrote as generators: funnels with intervals, what failed, and every text, from the files of runs alone.

    python docs/experiments/candidates.py NAME=RUN [NAME=RUN …] [-o DIR]

RUN is the directory of a synthesis or a training, or several joined by commas that count as one; NAME goes into the
tables. Only first attempts are counted, repairs are left out (benchmarks/repairs.py has those). With -o, DIR gets
NAME.jsonl: a line for each candidate, with its text, its layer, its findings and what became of it. Intervals are
Wilson's, at 95%.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evoenv.review_audit.agreement import wilson
from evoenv.runs.candidates import CandidateQuery
from evoenv.runs.funnel import FUNNEL, LAYERS, fate_of, funnel_of
from evoenv.runs.view import RunView

COMMONEST = 8


def first_attempts(directories: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Read every candidate that mends no other, in order."""
    for directory in directories:
        with RunView.open(directory) as view:
            mended = {name for step in view.step_numbers() for name in view.store.repaired(step)}
            lengths = {
                f"{request_id}.c{index:02}": sample.tokens
                for step in view.step_numbers()
                for (request_id, index), sample in view.store.samples(step, "generate", texts=False).items()
            }
            for name in view.candidate_ids(CandidateQuery(), "oldest")[::-1]:
                history = view.candidate(name)
                if history is None or name in mended:
                    continue
                entry = history.entry
                yield {
                    "candidate": name,
                    "run": directory.name,
                    "step": entry.step,
                    "name": entry.name,
                    "layer": entry.layer,
                    "findings": [[one.code, one.message] for one in history.report.findings] if history.report else [],
                    "fate": fate_of(entry.state),
                    "pass_rate": entry.pass_rate,
                    "novelty": entry.novelty.novelty if entry.novelty else None,
                    "recomputation": history.recomputation.verdict if history.recomputation else None,
                    "reviews": [review.verdict for review in history.reviews],
                    "reward": entry.reward,
                    "tokens": lengths.get(name, 0),
                    "response": history.response,
                }


def show_share(count: int, total: int) -> str:
    low, high = wilson(count, total)
    return f"{count} ({100 * count / total:.1f}%, {100 * low:.1f}–{100 * high:.1f})" if total else "0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN[,RUN]")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    read: dict[str, list[dict[str, Any]]] = {}
    for given in arguments.runs:
        name, _, places = given.partition("=")
        if not places:
            parser.error(f"got {given!r}; expected NAME=RUN")
        read[name] = list(first_attempts([Path(place) for place in places.split(",")]))
        if arguments.output:
            arguments.output.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in read[name]]
            (arguments.output / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    print("| | " + " | ".join(FUNNEL) + " | tokens | per 1,000 tokens: at L5, admitted |")
    print("|---" * (len(FUNNEL) + 3) + "|")
    for name, rows in read.items():
        counts = [count or 0 for count in funnel_of(Counter(row["fate"] for row in rows))]
        tokens = sum(row["tokens"] for row in rows)
        cells = [str(counts[0]), *(show_share(count, counts[0]) for count in counts[1:])]
        per = [f"{1000 * count / tokens:.3f}" if tokens else "–" for count in (counts[5], counts[-1])]
        print(f"| {name} | " + " | ".join(cells) + f" | {tokens:,} | {', '.join(per)} |")
    for name, rows in read.items():
        first = Counter(row["findings"][0][0] for row in rows if row["findings"])
        print(f"\n{name}: the first finding of those that failed\n")
        print("| finding | candidates |\n|---|---|")
        for code, count in first.most_common(COMMONEST):
            print(f"| `{code}` | {count} |")
        after = Counter(row["fate"] for row in rows if row["layer"] == len(LAYERS))
        print("\nat L5: " + ", ".join(f"{count} {fate}" for fate, count in after.most_common()))


if __name__ == "__main__":
    main()
