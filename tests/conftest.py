"""What the tests share: a cache of their own, the two engines, lattices of short texts, and how Hypothesis runs."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from polyref import compiled as kernel_cache
from polyref.align import UNIT, Matrix, MergeOrder
from polyref.align.alignment import Links, fill, links_of, trace_back
from polyref.lattice import CompiledEngine, Engine, Lattice, PlainEngine
from polyref.lattice import lattice as lattice_module
from polyref.lattice.references import Numbering
from polyref.text import TextSettings, tokenize

# The same examples on every run, in CI as at home; `--hypothesis-profile wide` looks for new ones.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=120)
settings.register_profile("wide", deadline=None, derandomize=False, max_examples=2000)
settings.load_profile("fixed")

# A shell's background jobs ignore Ctrl-C, and so would the commands whose Ctrl-C is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ENGINES = ["plain", pytest.param("compiled", marks=pytest.mark.compiled)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "compiled" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.compiled)


@pytest.fixture(scope="session", autouse=True)
def cache_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests keep their indexes apart from the user's. Compiled kernels stay where they are: compiling takes minutes."""
    kernels = kernel_cache.cache_folder().parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(kernels))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if no kernels had come with the package, here and in other processes."""
    import llvmlite.binding

    # Who asks for a processor gets kernels for that one: the package's are for a kind of them.
    monkeypatch.setenv("NUMBA_CPU_NAME", llvmlite.binding.get_host_cpu_name())
    kernel_cache._kind.cache_clear()
    yield
    monkeypatch.undo()
    kernel_cache._kind.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def garbage_of_its_own() -> Iterator[None]:
    """What a module leaves goes at its end: collected in a forked process, a session of onnxruntime waits for ever for
    threads that the fork has not taken along."""
    yield
    gc.collect()


@pytest.fixture
def indexes(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of indexes, empty, for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    return Path(os.environ["XDG_CACHE_HOME"], "polyref", "indexes")


@pytest.fixture(scope="session")
def plain() -> PlainEngine:
    return PlainEngine()


@pytest.fixture(scope="session")
def compiled() -> CompiledEngine:
    return CompiledEngine()


@pytest.fixture(scope="session", params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session", name="engine")
def either_engine(engine_name: str, request: pytest.FixtureRequest) -> Engine:
    """The test runs once with each engine."""
    return request.getfixturevalue(engine_name)


@pytest.fixture(scope="module", params=[0, lattice_module.LIST_LIMIT], ids=["searched", "listed"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """The test runs twice: small lattices are searched as large ones are, and they are listed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice_module, "LIST_LIMIT", request.param)
        yield


@pytest.fixture(scope="session")
def aligned(engine_name: str) -> Callable[[list[list[int]], int], tuple[int, Links]]:
    """The alignment of two references by a matrix: the plain one, and the compiled one."""
    return _plain_align if engine_name == "plain" else _compiled_align


def _plain_align(similarity: list[list[int]], penalty: int) -> tuple[int, Links]:
    opt = fill(similarity, penalty)
    return opt[-1][-1], links_of(trace_back(opt))


def _compiled_align(similarity: list[list[int]], penalty: int) -> tuple[int, Links]:
    from polyref.align import kernels

    block = np.array(similarity, np.int32)
    rows, columns = block.shape
    opt, links = np.empty((rows + 1, columns + 1), np.int32), np.empty((min(rows, columns), 2), np.int32)
    worth = kernels.fill(np.empty(0, np.int32), block, 0, rows, 0, columns, penalty, opt)
    count = kernels.trace_back(opt, rows, columns, links, 0)
    return worth, [(u, v) for u, v in links[:count].tolist()]


@pytest.fixture(scope="session")
def lattice_of() -> Callable[..., Lattice]:
    return _lattice_of


def _lattice_of(
    engine: Engine,
    references: Sequence[str],
    similarity: Matrix | None = None,
    penalty: int = UNIT // 2,
    merge_order: MergeOrder = "tree",
) -> Lattice:
    """The lattice of texts. `similarity` goes over all words of the distinct ones; None aligns them hard."""
    text = TextSettings()
    tokens = [tokenize(reference, text) for reference in references]
    numbering = Numbering.of(tokens)
    after, automaton = engine.merged(numbering, similarity, penalty, merge_order)
    return Lattice(tokens, numbering, after, automaton, engine, text=text, penalty=None)
