"""`polyref compile`: compile the kernels ahead of the first run, as when an image is made."""

from __future__ import annotations

from time import perf_counter

from polyref import compiled
from polyref.cli import options as o
from polyref.errors import MissingExtraError, OutputError


@o.from_settings()
def compile(as_json: o.JsonOption = False) -> None:
    """Compile the kernels now, so that no run has to.

    They are kept in a folder of your own (or under NUMBA_CACHE_DIR), and are compiled again for another version of
    polyref, Python or numba, or another processor.
    """  # fmt: skip
    if reason := compiled.why_none():
        raise MissingExtraError(f"there is nothing to compile with: {reason}; install it with: pip install numba")
    if reason := compiled.why_not_kept():
        raise OutputError(f"the kernels cannot be kept: {reason}")
    started, was_cached = perf_counter(), compiled.is_cached()
    compiled.before_loading(o.say)
    count = compiled.compile_all()
    seconds = round(perf_counter() - started, 1)
    folder = str(compiled.cache_folder())
    facts = {"kernels": count, "folder": folder, "were_there": was_cached, "seconds": seconds}
    done = "were there already" if was_cached else f"compiled in {seconds:,} seconds"
    o.summarise(facts, f"{count} kernels {done}, in {o.printable(folder)}\n", as_json=as_json)
