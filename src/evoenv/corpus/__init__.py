"""The procedural author: sound environments from parts, broken ones with labels, and an oracle that tells them apart.

Data for warm starts, tests and load. `Author` composes programs; `worked_solution` solves their instances step by step,
and `solving_program` by code; `break_program` spoils them in a known way; `read_environment` reads any source back into
parts and says whether its prompt asks for what its code computes.
"""

from evoenv.corpus.catalogue.families import BASIC, FAMILIES, HELD_OUT, Split, families
from evoenv.corpus.catalogue.parts import Part
from evoenv.corpus.compose.author import Author, Program
from evoenv.corpus.compose.solving import solving_program
from evoenv.corpus.compose.worked import worked_solution
from evoenv.corpus.faults.broken import FAULTS, Broken, break_program, broken_variants
from evoenv.corpus.read.consistency import (
    Reading,
    agrees,
    combination,
    corpus_index,
    is_verbatim,
    normalised,
    read_environment,
)

__all__ = [
    "BASIC",
    "FAMILIES",
    "FAULTS",
    "HELD_OUT",
    "Author",
    "Broken",
    "Part",
    "Program",
    "Reading",
    "Split",
    "agrees",
    "break_program",
    "broken_variants",
    "combination",
    "corpus_index",
    "families",
    "is_verbatim",
    "normalised",
    "read_environment",
    "solving_program",
    "worked_solution",
]
