"""Compile a kernel once, and keep it on disk.

In:   a function of numbers and arrays, with its fixed signature.
Out:  the same function as machine code, from the disk cache where it has been compiled before.
Not:  the kernels themselves (kernels.py, or a folder named compiled, in the room that needs them).

Numba does not notice when a function that a kernel calls has changed in another file. So the cache folder is
named after a hash of all kernel modules: another version of polyref never runs stale code.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(signature: Any, *, inline: bool = False, any_order: bool = False) -> Callable[[Function], Function]:
    """Compile the decorated function for one signature: a text, or a numba signature.

    `inline` puts its code into the kernels that call it: for what runs in their innermost loops. `any_order` allows
    sums to be taken in any order: only for sums that are exact.
    """
    import numba

    config: Any = numba.config

    def compile_it(function: Function) -> Function:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(cache_folder())
        try:
            compiled: Function = numba.njit(
                signature,
                cache=True,
                error_model="numpy",
                forceinline=inline,
                nogil=True,  # text/interruptible.py
                fastmath={"reassoc", "contract"} if any_order else False,
            )(function)
        finally:
            config.CACHE_DIR = before
        return compiled

    return compile_it


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: under NUMBA_CACHE_DIR if that is set, else in the user's cache folder."""
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "polyref"
    )
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        if source.name in ("kernels.py", "compiled.py") or source.parent.name == "compiled":
            digest.update(source.read_bytes())
    return Path(base, f"kernels-{digest.hexdigest()[:16]}")


def is_cached() -> bool:
    """Whether the kernels have been compiled on this machine before: all but the few of the encoder take a while."""
    return any(cache_folder().glob("compiled_*/search.*.nbi"))
