"""Build, count, list, sample and search the lattice."""

from polyref.lattice.engine import AutoEngine, CompiledEngine, Engine, EngineName, PlainEngine
from polyref.lattice.kept import keep, restore
from polyref.lattice.lattice import Lattice
from polyref.lattice.merging import check_encoder, check_words, engine_named, merge, prepare
from polyref.lattice.parts import Arc, Sentence
from polyref.lattice.settings import NODE_BUDGET, SearchSettings

__all__ = [
    "NODE_BUDGET",
    "Arc",
    "AutoEngine",
    "CompiledEngine",
    "Engine",
    "EngineName",
    "Lattice",
    "PlainEngine",
    "SearchSettings",
    "Sentence",
    "check_encoder",
    "check_words",
    "engine_named",
    "keep",
    "merge",
    "prepare",
    "restore",
]
