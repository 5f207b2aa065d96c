"""The folder of a run: made, and kept to one run at a time.

In:   its path.
Out:  the folder, taken until the run ends.
Not:  what a run writes into it (log.py, fit/checkpoint.py, model/folder.py).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyref.errors import OutputError


def make_folder(path: str | Path) -> Path:
    """The folder, made where there is none."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror}); give another folder") from None
    return folder


@contextmanager
def taken(folder: Path) -> Iterator[None]:
    """Keep a folder to this process: another one that wants it is refused. The system gives it free, however we end."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"{folder}: another run trains in this folder; wait until it ends, or give another folder"
            ) from None
        except OSError:
            pass  # a file system that knows no locks
        yield
    finally:
        os.close(handle)
