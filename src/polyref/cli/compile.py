"""`polyref compile`: compile the kernels ahead of the first run, as when an image is made."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated

import typer

from polyref import compiled
from polyref.cli import options as o
from polyref.errors import MissingExtraError, OutputError
from polyref.files import writing


@o.from_settings()
def compile(
    in_package: Annotated[
        bool, typer.Option("--in-package", help="Keep them in the installed package, for all its users.")
    ] = False,
    as_json: o.JsonOption = False,
) -> None:
    """Compile the kernels now, so that no run has to.

    They are kept in a folder of your own (or under NUMBA_CACHE_DIR), and are compiled again for another version of
    polyref, Python or numba, or another processor. Those in the package are for processors like this one.
    """  # fmt: skip
    if reason := compiled.why_none():
        raise MissingExtraError(f"there is nothing to compile with: {reason}")
    started = perf_counter()
    if were_there := compiled.is_in_package():
        folder, count = compiled.package_folder(), compiled.compile_all()
    elif in_package:
        folder = compiled.package_folder()
        with writing(folder, "leave --in-package out, or install polyref where you can write"):
            count = compiled.compile_for_package()
    elif reason := compiled.why_not_kept():
        raise OutputError(f"the kernels cannot be kept: {reason}")
    else:
        folder, were_there = compiled.cache_folder(), compiled.is_cached()
        compiled.before_loading(o.say)
        count = compiled.compile_all()
    seconds = round(perf_counter() - started, 1)
    facts = {"kernels": count, "folder": str(folder), "were_there": were_there, "seconds": seconds}
    done = "were there already" if were_there else f"compiled in {seconds:,} seconds"
    o.summarise(facts, f"{count} kernels {done}, in {o.printable(str(folder))}\n", as_json=as_json)
