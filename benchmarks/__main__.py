"""The command: measure, print each table as it is ready, write docs/benchmarks.md.

In:   the command line. Out: exit code 0, whatever the numbers. Not: measuring (one module a topic).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from benchmarks.clock import say
from benchmarks.data import Data
from benchmarks.machine import facts
from benchmarks.table import Table

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
TOPICS = (
    "bleu",
    "align",
    "pipeline",
    "search",
    "judge",
    "encode",
    "train",
    "score",
    "stream",
    "workers",
    "memory",
    "startup",
)


def main(arguments: Sequence[str] | None = None) -> None:
    settings = _settings(arguments)
    data = Data(settings.data)
    about = facts()
    _warm_up()
    tables = []
    for topic in settings.only or TOPICS:
        say(f"measuring: {topic}")
        measure: Callable[[Data, bool], Table] = import_module(f"benchmarks.{topic}").measure
        tables.append(measure(data, settings.quick))
        print(tables[-1].markdown() + "\n", flush=True)
    if not settings.only:
        PAGE.write_text(_page(tables, about, settings), encoding="utf-8")
        say(f"written: {PAGE}")


def _settings(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure polyref beside its peers.")
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        default=os.environ.get("POLYREF_DATA") or None,
        help="folder with public data sets (also: POLYREF_DATA); without it, captions are made up",
    )
    parser.add_argument("--quick", action="store_true", help="fewer examples: minutes, and rougher numbers")
    parser.add_argument(
        "--only",
        metavar="TOPICS",
        type=_topics,
        help=f"some of {','.join(TOPICS)}: on the terminal only, docs/benchmarks.md does not change",
    )
    settings = parser.parse_args(arguments)
    if missing := Data(settings.data).missing():
        parser.error(f"{settings.data} lacks {', '.join(missing)}")
    return settings


def _topics(text: str) -> list[str]:
    chosen = text.split(",")
    for topic in chosen:
        if topic not in TOPICS:
            raise argparse.ArgumentTypeError(f'no topic "{topic}"; choose from {", ".join(TOPICS)}')
    return chosen


def _warm_up() -> None:
    """Compile the kernels or load them, before any clock runs."""
    from polyref.lattice import CompiledEngine

    CompiledEngine()


def _page(tables: Sequence[Table], about: Sequence[tuple[str, str]], settings: argparse.Namespace) -> str:
    command = "python -m benchmarks" + " --data FOLDER" * bool(settings.data) + " --quick" * settings.quick
    lines = [
        "# Benchmarks",
        "",
        f"Measured on {datetime.now(UTC):%Y-%m-%d}" + ", in a quick run with few examples" * settings.quick + ".",
        f"To repeat: `{command}` in the repository"
        + ("; FOLDER has the public data sets named below" if settings.data else "")
        + ". `make bench` does the same without options; POLYREF_DATA can name the folder.",
        "",
        "Every ratio compares times of one run on one machine, in which polyref and its peers take turns. Unless a",
        "table says otherwise, times are CPU time on one core: the median of five runs, or one run where it is long.",
        "Targets are the project's own; missing one does not fail the run.",
        "",
        Table("Machine", ["", "what"], about).markdown(),
    ]
    return "\n".join(lines) + "\n" + "\n\n".join(table.markdown() for table in tables) + "\n"


if __name__ == "__main__":
    main()
