"""Which engine runs, and that nobody can tell from the results."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest

from polyref import Lattice, SettingsError
from polyref.align import AlignSettings
from polyref.lattice import AutoEngine, CompiledEngine, PlainEngine, SearchSettings, engine_named, merge
from polyref.lattice import engine as engine_module
from polyref.lattice.engine import alignment_cells
from polyref.lattice.references import Numbering
from polyref.text import TextSettings, tokenize

MakeLattice = Callable[..., Lattice]

SHORT = ["a b c", "a c d"]  # 9 cells
EXAMPLES = [SHORT, ["a b c d e f g h", "a c b d f e g h", "h b c d e f g a"], ["a b x d", "a b y d e"], SHORT]

kernels_wanted = pytest.mark.compiled


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels are worth loading after 30 cells."""
    monkeypatch.setattr(engine_module.compiled, "is_cached", lambda: True)
    monkeypatch.setattr(engine_module, "_CELLS_BEFORE_LOADING", 30)


def numbered(references: list[str]) -> list[list[int]]:
    return [list(map(ord, reference.split())) for reference in references]


def results(engine: AutoEngine | PlainEngine) -> Iterator[object]:
    text = TextSettings()
    for references in EXAMPLES:
        tokens = [tokenize(reference, text) for reference in references]
        lattice = merge(tokens, None, AlignSettings(), text=text, engine=engine)
        yield lattice.count, lattice.arcs, lattice.best(10), lattice.search(10, SearchSettings())


@pytest.mark.parametrize(("lengths", "cells"), [([5], 0), ([3, 4], 12), ([2, 3, 5], 6 + 10 + 15)])
def test_cells_are_the_word_pairs_of_all_pairs(lengths: list[int], cells: int) -> None:
    assert alignment_cells(lengths) == cells


@kernels_wanted
@pytest.mark.usefixtures("soon")
def test_auto_goes_over_to_the_kernels_and_stays_there() -> None:
    auto = AutoEngine()
    chosen = [type(auto.choose(numbered(SHORT))) for _ in range(6)]
    assert chosen == [PlainEngine] * 3 + [CompiledEngine] * 3
    assert isinstance(auto.choose([[1]]), CompiledEngine)


@kernels_wanted
@pytest.mark.usefixtures("soon")
def test_auto_takes_the_kernels_at_once_for_a_large_example() -> None:
    auto = AutoEngine()
    assert isinstance(auto.choose([list(range(6)), list(range(6))]), CompiledEngine)


@kernels_wanted
@pytest.mark.usefixtures("soon")
def test_auto_changes_no_result(plain: PlainEngine) -> None:
    auto = AutoEngine()
    assert list(results(auto)) == list(results(plain))
    assert isinstance(auto.choose([[1]]), CompiledEngine)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Kernels that are not there; and whether a process beside this one compiles them, as the test sets it."""
    monkeypatch.setattr(engine_module.compiled, "is_cached", lambda: False)
    monkeypatch.setattr(engine_module, "_CELLS_BEFORE_LOADING", 0)
    monkeypatch.setattr(engine_module, "_CELLS_BEFORE_COMPILING", 10)

    def beside(is_there: bool) -> None:
        monkeypatch.setattr(engine_module.compiled, "compiles_beside", lambda say: is_there)

    return beside


@kernels_wanted
def test_auto_waits_longer_and_says_so_where_no_process_compiles_beside_it(uncompiled: Callable[[bool], None]) -> None:
    uncompiled(False)
    said: list[str] = []
    auto = AutoEngine(said.append)
    assert isinstance(auto.choose(numbered(SHORT)), PlainEngine)
    assert said == []
    auto.choose(numbered(SHORT))
    auto.choose(numbered(SHORT))
    assert said == ["compiling the kernels, once on this machine (about a minute)"]


@kernels_wanted
def test_auto_goes_on_in_plain_python_while_a_process_compiles_and_then_changes_over(
    uncompiled: Callable[[bool], None], plain: PlainEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncompiled(True)
    monkeypatch.setattr(engine_module, "_CELLS_BEFORE_COMPILING", 1000)
    auto = AutoEngine()
    assert list(results(auto)) == list(results(plain))
    assert auto.cells > 100
    assert {type(auto.choose(numbered(SHORT))) for _ in range(200)} == {PlainEngine}
    monkeypatch.setattr(engine_module.compiled, "is_cached", lambda: True)
    assert isinstance(auto.choose(numbered(SHORT)), CompiledEngine)
    assert list(results(auto)) == list(results(plain))


@kernels_wanted
def test_auto_goes_over_when_the_process_that_compiles_dies(uncompiled: Callable[[bool], None]) -> None:
    uncompiled(True)
    auto = AutoEngine()
    assert {type(auto.choose(numbered(SHORT))) for _ in range(4)} == {PlainEngine}
    uncompiled(False)
    assert isinstance(auto.choose(numbered(SHORT)), CompiledEngine)


@kernels_wanted
def test_auto_waits_for_the_kernels_with_an_example_that_is_too_large_for_plain_python(
    uncompiled: Callable[[bool], None],
) -> None:
    uncompiled(True)
    assert isinstance(AutoEngine().choose([list(range(6)), list(range(6))]), CompiledEngine)


def test_a_comparison_that_the_kernels_leave_open_is_settled_by_plain_python(
    plain: PlainEngine, compiled: CompiledEngine, lattice_of: MakeLattice, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = compiled._search
    undecided = SimpleNamespace(**vars(kernels))
    undecided.search = lambda *task: (kernels.UNDECIDED, *kernels.search(*task)[1:])
    monkeypatch.setattr(compiled, "_search", undecided)
    one, other = (lattice_of(engine, EXAMPLES[1]).search(10, SearchSettings()) for engine in (plain, compiled))
    assert one == other
    assert len(one.arcs) == 10


def test_an_engine_has_a_name() -> None:
    assert isinstance(engine_named("plain"), PlainEngine)
    assert isinstance(engine_named("auto"), AutoEngine)
    with pytest.raises(SettingsError, match='unknown engine "steam"; choose one of auto, plain, compiled'):
        engine_named("steam")


@kernels_wanted
def test_long_examples_have_the_same_lattice(make_soft: Callable[[], Lattice], monkeypatch: pytest.MonkeyPatch) -> None:
    """Their similarity is made by products of matrices, and their kernels run in a thread."""
    usual = make_soft()
    monkeypatch.setattr(engine_module, "_WORDS_FOR_BLAS", 0)
    monkeypatch.setattr(engine_module, "_WORDS_FOR_THREAD", 0)
    long = make_soft()
    assert usual.aligned is not None and long.aligned is not None
    assert np.array_equal(usual.aligned.similarity, long.aligned.similarity)
    assert (usual.after, usual.count, usual.best(5)) == (long.after, long.count, long.best(5))


@pytest.fixture
def make_soft() -> Callable[[], Lattice]:
    references = ["a cat sits on the old mat", "the aged cat sits there", "an old dog lies on a rug"]
    return lambda: Lattice.from_references(references, align=AlignSettings("soft"), engine="compiled")


def test_a_signal_is_seen_while_a_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_WORDS_FOR_THREAD", 0)
    release = threading.Event()

    def kernel(words: object, starts: object) -> None:
        signal.raise_signal(signal.SIGUSR1)
        release.wait()  # for as long as nobody lets it go

    def stop(number: int, frame: object) -> NoReturn:
        raise SystemExit(number)

    before = signal.signal(signal.SIGUSR1, stop)
    numbering = Numbering.of([tokenize("a b", TextSettings())])
    try:
        with pytest.raises(SystemExit):
            engine_module._run(kernel, numbering)
    finally:
        signal.signal(signal.SIGUSR1, before)
        release.set()
