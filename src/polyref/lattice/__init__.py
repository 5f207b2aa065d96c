"""Build, count, list, sample and search the lattice of an example's references.

A module imports only from those before it in this order:

    references    checked, numbered, encoded
    plain/        automaton, product, rules, ranking, search, sampling
    compiled/     automaton, product, ranking, rules, search: the same in numba kernels; chunk: many examples at once
    engine        which of the two runs
    writing       a sentence as a person would type it
    lattice       the Lattice: merge, keep, restore
    branches      how else a text could go on
"""

from polyref.lattice.engine import AutoEngine, CompiledEngine, Engine, EngineName, PlainEngine, engine_named
from polyref.lattice.lattice import Arc, Lattice, Sentence, keep, merge, restore
from polyref.lattice.plain.automaton import START
from polyref.lattice.plain.ranking import Candidate
from polyref.lattice.plain.rules import CAUSES, Rule, Rules
from polyref.lattice.plain.search import Found, SearchSettings
from polyref.lattice.references import check_encoder, check_references, prepare, tokenized

__all__ = [
    "CAUSES",
    "START",
    "Arc",
    "AutoEngine",
    "Candidate",
    "CompiledEngine",
    "Engine",
    "EngineName",
    "Found",
    "Lattice",
    "PlainEngine",
    "Rule",
    "Rules",
    "SearchSettings",
    "Sentence",
    "check_encoder",
    "check_references",
    "engine_named",
    "keep",
    "merge",
    "prepare",
    "restore",
    "tokenized",
]
