"""A bar on standard error for verbs that read a file from end to end, or one thing after the other.

In:   the file, or how many there are; what is done and counted. Out: something to tell how far it is. Not: the verbs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Show = Callable[[int, int], None]  # how far we are (in a file: the bytes behind us), and how many are done


@contextmanager
def progress_bar(whole: str | int, doing: str, counted: str, rate_digits: int = 0) -> Iterator[Show]:
    """A bar with rate and time left; silent when standard error is no terminal. `whole`: the file, or how many."""
    if not sys.stderr.isatty():
        yield lambda position, done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    size = whole if isinstance(whole, int) else _size_of(Path(whole))
    columns = [
        TextColumn(doing),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn(f"{{task.fields[done]:,}} {counted}"),
        TextColumn(f"{{task.fields[rate]:,.{rate_digits}f}}/s"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=size, done=0, rate=0.0)

        def show(position: int, done: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            bar.update(task, completed=position, done=done, rate=done / elapsed if elapsed else 0.0)

        yield show


def _size_of(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None
