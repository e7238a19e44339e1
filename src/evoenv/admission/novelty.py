"""Two-view novelty: how near a candidate is to all that was ever admitted, and to its own batch.

    sim(e) = λ·max cos(u, C_p) + (1−λ)·max cos(v, C_c),   N = 1 − sim

The two maxima are taken separately: a story of one admitted environment over the code of another is a copy.
Within a batch the similarity of two candidates is that of the pair, λ·cos(u, u') + (1−λ)·cos(v, v'), and a
candidate's batch similarity is its greatest over the others.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evoenv.admission.source_tree import parse_quietly
from evoenv.config import NoveltyConfig
from evoenv.records import Novelty

Matrix = NDArray[np.float32]

_BLOCK_ROWS = 16384
"""Rows of the cache in one product: a few megabytes at a time, few enough calls that threads do not wait for
each other. The same rows meet in the same block whatever the history, so that a resumed run reproduces every bit."""


def unit_rows(vectors: Matrix) -> Matrix:
    """Scale rows to length 1; a zero row (an empty text) stays zero and is similar to nothing."""
    rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Matrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled


class _View:
    """Unit vectors of one view in a matrix that doubles its capacity as it fills."""

    def __init__(self, dimension: int, capacity: int) -> None:
        self._rows: Matrix = np.zeros((capacity, dimension), dtype=np.float32)

    def write(self, start: int, rows: Matrix) -> None:
        needed = start + len(rows)
        if needed > len(self._rows):
            grown: Matrix = np.zeros((max(needed, 2 * len(self._rows)), self._rows.shape[1]), dtype=np.float32)
            grown[:start] = self._rows[:start]
            self._rows = grown
        self._rows[start:needed] = rows

    def rows(self, numbers: Sequence[int]) -> Matrix:
        chosen: Matrix = self._rows[np.asarray(numbers, dtype=np.intp)]
        return chosen

    def nearest(self, queries: Matrix, count: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the greatest cosine of each query over the first `count` rows, and the row that has it."""
        best: Matrix = np.full(len(queries), -2.0, dtype=np.float32)
        where = np.zeros(len(queries), dtype=np.intp)
        for start in range(0, count, _BLOCK_ROWS):
            cosines = queries @ self._rows[start : min(start + _BLOCK_ROWS, count)].T
            local = cosines.argmax(axis=1)
            values = cosines[np.arange(len(queries)), local]
            better = values > best
            best[better] = values[better]
            where[better] = local[better] + start
        return np.clip(best, -1.0, 1.0).astype(np.float64), where


class NoveltyCache:
    """C: prompt and code embeddings of every environment ever admitted, the originals included."""

    def __init__(self, dimension: int, capacity: int = 256) -> None:
        self.dimension = dimension
        self._prompts = _View(dimension, capacity)
        self._codes = _View(dimension, capacity)
        self._ids: list[str] = []
        self._row: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the environments, in the order of their rows."""
        return tuple(self._ids)

    def __contains__(self, environment: object) -> bool:
        return environment in self._row

    def add(self, ids: Sequence[str], prompts: Matrix, codes: Matrix) -> None:
        """Append rows; an environment that is there already is a mistake of the caller."""
        repeated = [environment_id for environment_id in ids if environment_id in self._row]
        if repeated or len(set(ids)) != len(ids):
            raise ValueError(f"novelty cache: {repeated or list(ids)} would be entered twice")
        if not ids:
            return
        self._prompts.write(len(self._ids), unit_rows(prompts))
        self._codes.write(len(self._ids), unit_rows(codes))
        self._row.update(zip(ids, range(len(self._ids), len(self._ids) + len(ids)), strict=True))
        self._ids += ids

    def joint_vectors(self, ids: Sequence[str]) -> Matrix:
        """Return both views side by side, one row per environment: their cosine is the mean of the two views'."""
        rows = [self._row[environment_id] for environment_id in ids]
        joint: Matrix = np.hstack([self._prompts.rows(rows), self._codes.rows(rows)])
        return joint

    def nearest(self, prompts: Matrix, codes: Matrix) -> list[tuple[float, float, str | None]]:
        """Return per candidate the greatest prompt cosine, the greatest code cosine, and the id nearest in code.

        With nothing admitted there is nothing to be similar to: both are 0.
        """
        if not self._ids:
            return [(0.0, 0.0, None)] * len(prompts)
        prompt_best, _ = self._prompts.nearest(unit_rows(prompts), len(self._ids))
        code_best, code_where = self._codes.nearest(unit_rows(codes), len(self._ids))
        return [(float(p), float(c), self._ids[w]) for p, c, w in zip(prompt_best, code_best, code_where, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A candidate's novelty with what is needed to measure it again once its batch has admitted others."""

    novelty: Novelty
    prompt_cosine: float
    code_cosine: float
    prompt_vector: Matrix
    code_vector: Matrix


def measure_batch(
    ids: Sequence[str], prompts: Matrix, codes: Matrix, cache: NoveltyCache, config: NoveltyConfig
) -> dict[str, Measured]:
    """Measure every candidate of a batch against the cache as the step found it; return novelty by candidate id."""
    if not ids:
        return {}
    unit_prompts, unit_codes = unit_rows(prompts), unit_rows(codes)
    in_batch = greatest_similarities(unit_prompts, unit_codes, config.mix)
    measured: dict[str, Measured] = {}
    for row, (prompt_cosine, code_cosine, nearest) in enumerate(cache.nearest(unit_prompts, unit_codes)):
        similarity = config.mix * prompt_cosine + (1.0 - config.mix) * code_cosine
        measured[ids[row]] = Measured(
            novelty=Novelty(similarity, 1.0 - similarity, float(in_batch[row]), nearest),
            prompt_cosine=prompt_cosine,
            code_cosine=code_cosine,
            prompt_vector=unit_prompts[row],
            code_vector=unit_codes[row],
        )
    return measured


def beyond_gate(novelty: Novelty, config: NoveltyConfig) -> bool:
    """Return whether a candidate is too near to what was admitted before."""
    return novelty.similarity >= config.gate


def greatest_similarities(unit_prompts: Matrix, unit_codes: Matrix, mix: float) -> NDArray[np.float64]:
    """Return for each of several environments its greatest similarity to another of them; 0 for one alone."""
    pairwise = mix * np.clip(unit_prompts @ unit_prompts.T, -1.0, 1.0).astype(np.float64)
    pairwise += (1.0 - mix) * np.clip(unit_codes @ unit_codes.T, -1.0, 1.0).astype(np.float64)
    np.fill_diagonal(pairwise, -np.inf)
    greatest: NDArray[np.float64] = pairwise.max(axis=1) if len(pairwise) > 1 else np.zeros(len(pairwise))
    return greatest


def similarities_among(measured: Sequence[Measured], mix: float) -> list[float]:
    """Return the greatest similarity of each to another of the same few: of the admitted of a step, say."""
    if not measured:
        return []
    prompts = np.stack([item.prompt_vector for item in measured])
    codes = np.stack([item.code_vector for item in measured])
    return [float(value) for value in greatest_similarities(prompts, codes, mix)]


def update_repetition(repetition: float, similarities: Sequence[float], config: NoveltyConfig) -> float:
    """Compute s̄ ← keep·s̄ + (1 − keep)·mean; fewer than two say nothing about repetition."""
    if len(similarities) < 2:
        return repetition
    mean = sum(similarities) / len(similarities)
    return config.ema_keep * repetition + (1.0 - config.ema_keep) * mean


def gamma(repetition: float, config: NoveltyConfig) -> float:
    """Compute γ = γ_min + (γ_max − γ_min)·clip((s̄ − τ_low)/(τ_high − τ_low), 0, 1)."""
    share = (repetition - config.tau_low) / (config.tau_high - config.tau_low)
    return config.gamma_min + (config.gamma_max - config.gamma_min) * min(1.0, max(0.0, share))


# --------------------------------------------------------------------------- the code view


def clean_generate_body(source: str) -> str:
    """Return the body of `_generate` without comments, docstrings and formatting; local names stay.

    Works alike for all dialects, since all call the method `_generate`. Empty if there is none or the source does not
    parse: such candidates never reach the layer from which novelty counts.
    """
    tree = parse_quietly(source)
    method = _find_generate(tree) if tree is not None else None
    if method is None:
        return ""
    try:
        return ast.unparse(_WithoutDocstrings().visit(ast.Module(body=method.body, type_ignores=[])))
    except (ValueError, RecursionError):  # nested too deeply to be written back
        return ""


def _find_generate(tree: ast.Module) -> ast.FunctionDef | None:
    """Find `_generate`. The last class with the method wins, as the last definition does when a module runs."""
    method: ast.FunctionDef | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "_generate":
                    method = item
    return method


class _WithoutDocstrings(ast.NodeTransformer):
    """Drops every statement that is only a string: docstrings, and comments dressed as strings."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and any(_is_bare_string(item) for item in block):
                kept = [item for item in block if not _is_bare_string(item)]
                setattr(node, name, kept or ([ast.Pass()] if name == "body" else []))
        return node


def _is_bare_string(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
