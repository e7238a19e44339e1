"""An overlap audit as one offline page: the counts, and the closest pairs side by side."""

from __future__ import annotations

from html import escape
from statistics import median

from evoenv.overlap.results import Overlap, Pair

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } .dim { color: #666; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; border-top: 1px solid #ddd; padding: .6rem 0; }
.pair p { grid-column: 1 / 3; margin: 0; }
pre { background: #f5f5f5; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
@media (max-width: 50rem) { .pair { grid-template-columns: 1fr; } .pair p { grid-column: 1; } }
@media (prefers-color-scheme: dark) {
  body { background: #16181b; color: #e6e6e6; } pre { background: #22262b; } .pair { border-color: #333; }
  .dim { color: #999; }
}
"""
TITLES = {"ngram": "By n-grams", "cosine": "By embeddings"}


def count_rows(overlap: Overlap) -> list[tuple[str, str]]:
    """Return the figures of an audit in words, each with its value."""
    counts = overlap.counts()
    problems = counts["problems"]

    def of_all(name: str) -> str:
        return f"{counts[name]:,} of {problems:,} ({counts[name] / problems:.1%})"

    cosines = [match.cosine for match in overlap.matches]
    rows = [
        (f"share at least one run of {overlap.n} words with a prompt", of_all("share_an_ngram")),
        ("have at least half of their runs in one prompt", of_all("half_of_their_ngrams")),
        ("have a prompt with a cosine of 0.8 or more", of_all("cosine_0.8")),
        ("have a prompt with a cosine of 0.9 or more", of_all("cosine_0.9")),
        ("median of the largest cosine with a prompt", f"{median(cosines):.2f}"),
    ]
    within = [match.within for match in overlap.matches if match.within is not None]
    if within:
        rows.append(("median of the largest cosine with another problem of the suite", f"{median(within):.2f}"))
    return rows


def page(overlap: Overlap) -> str:
    """Render the page."""
    levels = ("level " if len(overlap.difficulties) == 1 else "levels ") + ", ".join(map(str, overlap.difficulties))
    rows = (f"<tr><td>{escape(words)}</td><td>{escape(value)}</td></tr>" for words, value in count_rows(overlap))
    sections = "".join(
        f"<h2>{title}</h2>" + ("".join(map(_pair, found)) or '<p class="dim">No prompt shares a run of words.</p>')
        for by, title in TITLES.items()
        for found in [[pair for pair in overlap.pairs if pair.by == by]]
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Overlap of {escape(overlap.pool)} with {escape(overlap.suite)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Overlap of {escape(overlap.pool)} with {escape(overlap.suite)}</h1>
<p>{overlap.prompts:,} prompts of {overlap.environments:,} environments ({levels}; {overlap.instances} instances
each, {overlap.not_rendered:,} could not be generated), against {len(overlap.matches):,} problems. Words in runs of
{overlap.n}; embeddings by {escape(overlap.embedder)}.</p>
<table><tr><th>Problems that</th><th></th></tr>{"".join(rows)}</table>
{sections}
<p class="dim">EvoEnv {escape(overlap.evoenv)}</p>
</body>
</html>
"""


def _pair(pair: Pair) -> str:
    origin = "an original of the run" if pair.original else "generated"
    shared = f"; longest shared run: “{escape(pair.shared)}”" if pair.shared else ""
    return (
        f'<div class="pair"><p><strong>{escape(pair.problem)}</strong> and <strong>{escape(pair.name)}</strong> '
        f"({origin}, seed {pair.seed}, level {pair.difficulty}): n-grams {pair.ngram:.0%}, cosine {pair.cosine:.2f}"
        f"{shared}</p><pre>{escape(pair.problem_text)}</pre><pre>{escape(pair.prompt_text)}</pre></div>\n"
    )
