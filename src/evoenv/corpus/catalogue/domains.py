"""What instances are made of: lists, words, graphs, intervals, matrices, and how each is drawn and shown."""

from __future__ import annotations

from evoenv.corpus.catalogue.parts import Domain, Sampler

KNOBS: dict[str, tuple[str, ...]] = {
    "SIZE": (
        "2 + difficulty",
        "3 + difficulty",
        "2 + difficulty // 2",
        "3 + difficulty // 2",
        "4 + difficulty",
        "5 + difficulty",
    ),
    "TOP": ("9", "5 + difficulty", "9 + 2 * difficulty", "9 + 5 * difficulty", "10 * (difficulty + 1)"),
}
"""How difficulty sets a size or a range; small numbers at levels 0 and 1."""

POSITIVE = frozenset({"positive"})
DISTINCT = frozenset({"positive", "distinct"})
SIGNED = frozenset({"signed"})

_ROOMY = {"TOP": ("12 + 5 * difficulty", "10 * (difficulty + 2)", "15 + 3 * difficulty")}
_SMALL = {"SIZE": ("2 + difficulty // 2", "2 + difficulty // 3", "2 + (difficulty + 1) // 2")}
_LETTERS = tuple(f'"{letters}"' for letters in ("abc", "abcd", "abcde", "aeiou" + "rst", "aebcd", "xyzab"))
_WORD = {"SIZE": ("3 + difficulty", "4 + difficulty", "5 + difficulty"), "LETTERS": _LETTERS}
_VERTICES = {"SIZE": ("3 + difficulty", "4 + difficulty", "4 + difficulty // 2", "5 + difficulty // 2")}
_SPANS = {"TOP": ("9 + 2 * difficulty", "12 + 3 * difficulty", "10 * (difficulty + 1)")}

DOMAINS: dict[str, Domain] = {
    domain.name: domain
    for domain in (
        Domain(
            "ints",
            ("XS",),
            (
                Sampler("uniform", "XS = [rng.randint(1, TOP) for _ in range(SIZE)]", POSITIVE),
                Sampler("choices", "XS = rng.choices(range(1, TOP), k=SIZE)", POSITIVE, _ROOMY),
                Sampler("distinct", "XS = rng.sample(range(1, TOP), SIZE)", DISTINCT, _ROOMY),
                Sampler(
                    "multiples",
                    "unit = rng.randint(1, TOP)\nXS = [unit * rng.randint(1, 9) for _ in range(SIZE)]",
                    POSITIVE | {"scaled"},
                    {"TOP": ("5 + difficulty", "6 + 2 * difficulty", "9 + difficulty")},
                ),
                Sampler("signed", "XS = [rng.randint(-9, TOP) for _ in range(SIZE)]", SIGNED),
            ),
            ("List: {XS}", "Start with the list {XS}.", "Take the list {XS}.", "Here is a list of numbers: {XS}."),
        ),
        Domain(
            "lists",
            ("XS", "YS"),
            (
                Sampler(
                    "two-samples",
                    "XS = rng.sample(range(1, TOP), SIZE)\nYS = rng.sample(range(1, TOP), SIZE)",
                    DISTINCT,
                    {"TOP": ("9 + 2 * difficulty", "10 + difficulty"), "SIZE": ("3 + difficulty", "4 + difficulty")},
                ),
            ),
            ("A: {XS} B: {YS}", "List A is {XS} and list B is {YS}.", "Take A = {XS} and B = {YS}."),
        ),
        Domain(
            "word",
            ("S",),
            (Sampler("letters", 'S = "".join(rng.choices(LETTERS, k=SIZE))', frozenset(), _WORD),),
            ("Word: {S}", "Start with the word {S}.", "Take the word {S}.", "Here is a word: {S}."),
        ),
        Domain(
            "words",
            ("S", "T"),
            (
                Sampler(
                    "two-words",
                    'S = "".join(rng.choices(LETTERS, k=SIZE))\nT = "".join(rng.choices(LETTERS, k=SIZE))',
                    frozenset(),
                    {**_WORD, "LETTERS": ('"abc"', '"xyz"', '"ab"', '"abcd"')},
                ),
            ),
            ("Words: {S} and {T}", "Take the words {S} and {T}.", "The first word is {S} and the second word is {T}."),
        ),
        Domain(
            "brackets",
            ("S",),
            (
                Sampler(
                    "brackets",
                    'S = "".join(rng.choices("()", k=SIZE))',
                    frozenset(),
                    {"SIZE": ("4 + difficulty", "5 + difficulty", "4 + 2 * difficulty")},
                ),
            ),
            ("Brackets: {S}", "Read the brackets {S} from left to right.", "Take the bracket string {S}."),
        ),
        Domain(
            "graph",
            ("N", "EDGES"),
            (
                Sampler(
                    "edges",
                    "N = SIZE\nEDGES = sorted({tuple(sorted(rng.sample(range(N), 2))) for _ in range(N)})",
                    frozenset(),
                    _VERTICES,
                ),
                Sampler(
                    "coin-edges",
                    "N = SIZE\nEDGES = [(u, v) for v in range(N) for u in range(v) if rng.random() < 0.4]",
                    frozenset(),
                    _VERTICES,
                ),
            ),
            (
                "An undirected graph has {N} vertices, numbered from 0, and the edges {EDGES}.",
                "Graph on the vertices 0, 1, 2 and so on, {N} in all, with edges {EDGES}.",
            ),
        ),
        Domain(
            "connected",
            ("N", "EDGES"),
            (
                Sampler(
                    "tree-edges",
                    "N = SIZE\nEDGES = sorted((rng.randrange(v), v) for v in range(1, N))",
                    frozenset(),
                    _VERTICES,
                ),
            ),
            (
                "A connected graph has {N} vertices, numbered from 0, and the edges {EDGES}.",
                "A tree on the vertices 0, 1, 2 and so on, {N} in all, has the edges {EDGES}.",
            ),
        ),
        Domain(
            "dag",
            ("N", "EDGES"),
            (
                Sampler(
                    "hidden-order",
                    "N = SIZE\nrow = rng.sample(range(N), N)\n"
                    "EDGES = sorted((row[i], row[i + rng.randint(1, N - 1 - i)]) for i in range(N - 1))",
                    frozenset(),
                    _VERTICES,
                ),
            ),
            (
                "There are {N} tasks, numbered from 0, and each pair (u, v) of {EDGES} says that u comes before v.",
                "Tasks are numbered from 0, {N} in all, and (u, v) in {EDGES} means that u comes before v.",
            ),
        ),
        Domain(
            "tree",
            ("PARENTS",),
            (
                Sampler(
                    "parents",
                    "PARENTS = [rng.randrange(v) for v in range(1, SIZE)]",
                    frozenset(),
                    {"SIZE": ("4 + difficulty", "5 + difficulty", "4 + 2 * difficulty")},
                ),
            ),
            (
                "Vertex 0 is the root of a tree and vertices 1, 2 and so on have the parents {PARENTS}, in order.",
                "The parents of the vertices 1, 2 and so on of a tree with root 0 are {PARENTS}.",
            ),
        ),
        Domain(
            "spans",
            ("SPANS",),
            (
                Sampler(
                    "spans",
                    "SPANS = [sorted(rng.sample(range(TOP), 2)) for _ in range(SIZE)]",
                    frozenset(),
                    {**_SPANS, "SIZE": ("2 + difficulty", "3 + difficulty", "3 + difficulty // 2")},
                ),
            ),
            ("Intervals [l, r]: {SPANS}", "Here are intervals, each from its left to its right end: {SPANS}."),
        ),
        Domain(
            "matrix",
            ("ROWS",),
            (
                Sampler(
                    "square",
                    "size = SIZE\nROWS = [[rng.randint(1, TOP) for _ in range(size)] for _ in range(size)]",
                    POSITIVE,
                    {**_SMALL, "TOP": ("9", "5 + difficulty", "9 + 2 * difficulty")},
                ),
            ),
            ("Matrix, row by row: {ROWS}", "Take the matrix with the rows {ROWS}."),
        ),
        Domain(
            "composite",
            ("N",),
            (
                Sampler(
                    "product",
                    "N = (2 * rng.randint(1, TOP) + 1) * (2 * rng.randint(1, TOP) + 1)",
                    frozenset(),
                    {"TOP": ("3 + 2 * difficulty", "4 + 3 * difficulty", "5 + difficulty")},
                ),
            ),
            (),
        ),
        Domain(
            "square-mod",
            ("M", "R"),
            (
                Sampler(
                    "planted-root",
                    "M = rng.randint(7, TOP)\nR = rng.randrange(2, M) ** 2 % M",
                    frozenset(),
                    {"TOP": ("12 + 4 * difficulty", "15 + 5 * difficulty", "10 + 9 * difficulty")},
                ),
            ),
            (),
        ),
        Domain(
            "congruence",
            ("A", "B", "M"),
            (
                Sampler(
                    "planted-solution",
                    "M = rng.randint(4, TOP)\nA = rng.randint(2, M - 1)\nB = A * rng.randrange(M) % M",
                    frozenset(),
                    {"TOP": ("9 + 2 * difficulty", "8 + 3 * difficulty", "6 + 4 * difficulty")},
                ),
            ),
            (),
        ),
        Domain(
            "residues",
            ("P", "Q", "R", "S"),
            (
                Sampler(
                    "odd-and-power",
                    "P = 2 * rng.randint(1, TOP) + 1\nQ = 2 ** rng.randint(1, TOP)\n"
                    "R = rng.randrange(P)\nS = rng.randrange(Q)",
                    frozenset(),
                    {"TOP": ("2 + difficulty // 2", "2 + difficulty // 3", "3 + difficulty // 2")},
                ),
            ),
            (),
        ),
        Domain(
            "two-squares",
            ("N",),
            (
                Sampler(
                    "planted-squares",
                    "N = rng.randint(1, TOP) ** 2 + rng.randint(1, TOP) ** 2",
                    frozenset(),
                    {"TOP": ("4 + difficulty", "5 + difficulty", "4 + 2 * difficulty")},
                ),
            ),
            (),
        ),
        Domain(
            "pair-sum",
            ("XS", "T"),
            (
                Sampler(
                    "planted-pair",
                    "XS = rng.sample(range(1, TOP), SIZE)\nT = sum(rng.sample(XS, 2))",
                    DISTINCT,
                    {**_ROOMY, "SIZE": ("4 + difficulty", "3 + difficulty", "5 + difficulty")},
                ),
            ),
            ("List: {XS}", "Take the list {XS}."),
        ),
        Domain(
            "combination",
            ("P", "Q", "T"),
            (
                Sampler(
                    "planted-sum",
                    "P = rng.randint(2, TOP)\nQ = rng.randint(2, TOP)\n"
                    "T = P * rng.randint(1, TOP) + Q * rng.randint(1, TOP)",
                    frozenset(),
                    {"TOP": ("5 + difficulty", "6 + difficulty", "4 + 2 * difficulty")},
                ),
            ),
            (),
        ),
        Domain(
            "budget",
            ("XS", "C"),
            (
                Sampler(
                    "items",
                    "XS = [rng.randint(2, TOP) for _ in range(SIZE)]\nC = rng.randint(max(XS), sum(XS) - 1)",
                    POSITIVE,
                    {
                        "TOP": ("9", "9 + difficulty", "7 + 2 * difficulty"),
                        "SIZE": ("3 + difficulty", "4 + difficulty"),
                    },
                ),
            ),
            ("Items: {XS}", "The items have the sizes {XS}."),
        ),
    )
}
