"""Build, count, list, sample and search the lattice."""

from polyref.lattice.engine import AutoEngine, CompiledEngine, Engine, EngineName, PlainEngine
from polyref.lattice.lattice import (
    NODE_BUDGET,
    Arc,
    Lattice,
    SearchSettings,
    Sentence,
    check_words,
    engine_named,
    merge,
    prepare,
)

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
    "check_words",
    "engine_named",
    "merge",
    "prepare",
]
