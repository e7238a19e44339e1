"""Computations on words, pairs of words and bracket strings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evoenv.corpus.catalogue.parts import Computation, texts


def word(name: str, code: str | Iterable[str], *sentences: str, **options: Any) -> Computation:
    options = {"area": "strings", "takes": "word", "gives": "int", **options}
    area, takes, gives = options.pop("area"), options.pop("takes"), options.pop("gives")
    return Computation(name, area, takes, gives, texts(code), sentences, **options)


WORD_STEPS: tuple[Computation, ...] = (
    word(
        "backwards",
        "OUT = S[::-1]",
        "Write the word backwards.",
        "Reverse the order of the letters.",
        gives="word",
        permutes=True,
        ordered=True,
    ),
    word(
        "caesar",
        'OUT = "".join(chr((ord(c) - 97 + K) % 26 + 97) for c in S)',
        "Shift every letter forward by {K} in the alphabet, with a following z.",
        "Replace each letter by the one {K} places later in the alphabet, going round from z to a.",
        gives="word",
        params={"K": (1, 5)},
    ),
    word(
        "alphabetical",
        'OUT = "".join(sorted(S))',
        "Put the letters in alphabetical order.",
        "Sort the letters from a to z.",
        gives="word",
        permutes=True,
    ),
    word(
        "from-the-end",
        'OUT = "".join(sorted(S, reverse=True))',
        "Put the letters in reverse alphabetical order.",
        "Sort the letters from z to a.",
        gives="word",
        permutes=True,
        clashes=frozenset({"alphabetical", "backwards"}),
    ),
    word(
        "squeeze",
        'OUT = "".join(c for c, _ in itertools.groupby(S))',
        "Shorten every run of equal letters to one letter.",
        "Delete each letter that equals the one before it.",
        gives="word",
        ordered=True,
        clashes=frozenset({"longest-letter-run", "run-lengths", "letters-doubled"}),
    ),
    word(
        "letters-doubled",
        'OUT = "".join(c + c for c in S)',
        "Write every letter twice.",
        "Double each letter of the word.",
        gives="word",
        clashes=frozenset({"squeeze"}),
    ),
    word(
        "mirrored",
        "OUT = S + S[::-1]",
        "Append the reversed word to the word.",
        "Write the word and then, right after it, the word backwards.",
        gives="word",
        ordered=True,
        clashes=frozenset({"backwards"}),
    ),
    word(
        "run-length-code",
        'OUT = "".join(c + str(len(list(g))) for c, g in itertools.groupby(S))',
        "Write each run of equal letters as the letter followed by the length of the run.",
        "Give the run-length code of the word, such as a2b1 for aab.",
        gives="word",
        ordered=True,
        needs=frozenset({"final"}),
    ),
    word(
        "swap-pairs",
        'OUT = "".join(S[i:i + 2][::-1] for i in range(0, len(S), 2))',
        "Swap the first letter with the second, the third with the fourth and so on.",
        "Exchange the letters within each pair of two, leaving a last single letter in place.",
        gives="word",
        permutes=True,
        ordered=True,
    ),
)

WORD_QUANTITIES: tuple[Computation, ...] = (
    word(
        "vowels",
        'OUT = sum(c in "aeiou" for c in S)',
        "Count the vowels (a, e, i, o, u).",
        "How many letters of the word are vowels?",
        clashes=frozenset({"caesar"}),
        trail='[int(c in "aeiou") for c in S]',
    ),
    word(
        "other-letters",
        'OUT = sum(c not in "aeiou" for c in S)',
        "Count the letters that are not vowels (a, e, i, o, u).",
        "How many letters of the word are no vowels?",
        clashes=frozenset({"caesar"}),
        trail='[int(c not in "aeiou") for c in S]',
    ),
    word(
        "different-letters",
        "OUT = len(set(S))",
        "How many different letters does the word have?",
        "Count the distinct letters.",
        trail="sorted(set(S))",
    ),
    word(
        "longest-letter-run",
        "OUT = max(len(list(g)) for _, g in itertools.groupby(S))",
        "Find the length of the longest run of equal letters.",
        "How many times in a row does a letter occur at most?",
        ordered=True,
        trail="[len(list(g)) for _, g in itertools.groupby(S)]",
    ),
    word(
        "palindromes",
        "OUT = 0\nfor i in range(len(S)):\n    for j in range(i + 1, len(S) + 1):\n"
        "        OUT += S[i:j] == S[i:j][::-1]",
        "Count the substrings that read the same backwards, single letters included, each place counted separately.",
        "How many pairs of start and end mark a palindrome within the word, with single letters as palindromes?",
        ordered=True,
    ),
    word(
        "alphabet-rises",
        "OUT = sum(c < d for c, d in zip(S, S[1:]))",
        "Count the letters that are followed by a letter later in the alphabet.",
        "How often does a letter come right before an alphabetically later one?",
        ordered=True,
        clashes=frozenset({"alphabetical"}),
        trail="[int(c < d) for c, d in zip(S, S[1:])]",
    ),
    word(
        "equal-letter-pairs",
        "OUT = sum(c == d for c, d in itertools.combinations(S, 2))",
        "Count the pairs of positions that hold the same letter.",
        "In how many ways can two equal letters of the word be chosen?",
        trail="[S.count(c) for c in sorted(set(S))]",
    ),
    word(
        "distinct-substrings",
        "OUT = len({S[i:j] for i in range(len(S)) for j in range(i + 1, len(S) + 1)})",
        "Count the different non-empty substrings.",
        "How many distinct strings occur as consecutive letters of the word?",
        ordered=True,
    ),
    word(
        "letter-positions",
        "OUT = [ord(c) - 96 for c in S]",
        "Replace each letter by its position in the alphabet (a is 1), giving a list.",
        "Turn the word into a list of numbers: a becomes 1, b becomes 2 and so on.",
        gives="ints",
        adds=frozenset({"positive"}),
        least=3,
        clashes=frozenset({"squeeze", "largest", "smallest"}),
    ),
    word(
        "run-lengths",
        "OUT = [len(list(g)) for _, g in itertools.groupby(S)]",
        "List the lengths of the runs of equal letters, from left to right.",
        "Write down how long each run of equal letters is.",
        gives="ints",
        ordered=True,
        adds=frozenset({"positive", "short"}),
    ),
    word(
        "letter-counts",
        "OUT = [S.count(c) for c in sorted(set(S))]",
        "List how often each letter occurs, in alphabetical order of the letters that do.",
        "Count each letter that occurs, from a to z, giving a list of counts.",
        gives="ints",
        adds=frozenset({"positive", "short"}),
    ),
    word(
        "mismatches",
        "OUT = sum(c != d for c, d in zip(S, T))",
        "At how many positions do the two words differ?",
        "Count the places where the first word and the second word have different letters.",
        takes="words",
        trail="[int(c != d) for c, d in zip(S, T)]",
    ),
    word(
        "common-subsequence",
        "row = [0] * (len(T) + 1)\nfor c in S:\n    new = [0]\n    for j, d in enumerate(T):\n"
        "        new.append(row[j] + 1 if c == d else max(row[j + 1], new[j]))\n    row = new\nOUT = row[-1]",
        "Find the length of the longest common subsequence of the two words.",
        "How many letters, in order, can be kept in both words so that the same word remains?",
        area="dynamic programming",
        takes="words",
        trail="row",
    ),
    word(
        "edit-distance",
        "row = list(range(len(T) + 1))\nfor i, c in enumerate(S):\n    new = [i + 1]\n    for j, d in enumerate(T):\n"
        "        new.append(min(row[j] + (c != d), row[j + 1] + 1, new[j] + 1))\n    row = new\nOUT = row[-1]",
        "Find the least number of single-letter insertions, deletions and replacements"
        " that turn the first word into the second.",
        "What is the edit distance between the two words?",
        area="dynamic programming",
        takes="words",
        trail="row",
    ),
    word(
        "shared-letters",
        "OUT = sum((Counter(S) & Counter(T)).values())",
        "How many letters do the two words share, counting a letter as often as it occurs in both?",
        "Pair off equal letters of the two words: how many pairs can be made?",
        takes="words",
    ),
    word(
        "bracket-depth",
        'depth = [0]\nfor c in S:\n    depth.append(depth[-1] + (1 if c == "(" else -1))\nOUT = max(depth)',
        "Start a count at 0, add 1 for each ( and subtract 1 for each ): what is the largest value the count has,"
        " the start included?",
        "With each ( one level up and each ) one level down from level 0, find the highest level reached.",
        takes="brackets",
        trail="depth",
    ),
    word(
        "bracket-repairs",
        'left = right = 0\nfor c in S:\n    if c == "(":\n        left += 1\n    elif left:\n        left -= 1\n'
        "    else:\n        right += 1\nOUT = left + right",
        "How many brackets must be removed, at least, so that the rest is balanced?",
        "Match brackets in the usual way and count those that stay unmatched.",
        takes="brackets",
        trail="[left, right]",
    ),
)
