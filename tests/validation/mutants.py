"""Seed sources with something broken in them at random: deleted lines, swapped tokens, changed constants."""

from __future__ import annotations

import io
import random
import tokenize

from evoenv.environment.seeds import seed_sources

SEEDS = tuple(seed_sources().values())
OPERATORS = ["+", "-", "*", "//", "%", "<", ">", "<=", ">=", "==", "!=", "and", "or"]


def mutant(index: int) -> str:
    """Make the index-th mutation of some seed: one to three changes."""
    rng = random.Random(f"mutant:{index}")
    source = rng.choice(SEEDS)
    for _ in range(rng.choice((1, 1, 2, 3))):
        source = rng.choice(
            (drop_line, repeat_line, swap_lines, change_number, change_operator, swap_names, drop_token)
        )(source, rng)
    return source


def drop_line(source: str, rng: random.Random) -> str:
    lines = source.splitlines()
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines) + "\n"


def repeat_line(source: str, rng: random.Random) -> str:
    lines = source.splitlines()
    index = rng.randrange(len(lines))
    return "\n".join([*lines[:index], lines[index], *lines[index:]]) + "\n"


def swap_lines(source: str, rng: random.Random) -> str:
    lines = source.splitlines()
    index = rng.randrange(len(lines) - 1)
    lines[index], lines[index + 1] = lines[index + 1], lines[index]
    return "\n".join(lines) + "\n"


def _tokens(source: str, kinds: tuple[int, ...]) -> list[tokenize.TokenInfo]:
    try:
        return [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type in kinds]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return []


def _replace(source: str, token: tokenize.TokenInfo, text: str) -> str:
    lines = source.splitlines(keepends=True)
    row, start, end = token.start[0] - 1, token.start[1], token.end[1]
    lines[row] = lines[row][:start] + text + lines[row][end:]
    return "".join(lines)


def change_number(source: str, rng: random.Random) -> str:
    found = _tokens(source, (tokenize.NUMBER,))
    if not found:
        return source
    return _replace(source, rng.choice(found), str(rng.choice((0, 1, -1, 2, 3, 7, 100, 10**9))))


def change_operator(source: str, rng: random.Random) -> str:
    found = [token for token in _tokens(source, (tokenize.OP, tokenize.NAME)) if token.string in OPERATORS]
    return _replace(source, rng.choice(found), rng.choice(OPERATORS)) if found else source


def swap_names(source: str, rng: random.Random) -> str:
    found = _tokens(source, (tokenize.NAME,))
    return _replace(source, rng.choice(found), rng.choice(found).string) if found else source


def drop_token(source: str, rng: random.Random) -> str:
    found = _tokens(source, (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING))
    single = [token for token in found if token.start[0] == token.end[0]]
    return _replace(source, rng.choice(single), "") if single else source
