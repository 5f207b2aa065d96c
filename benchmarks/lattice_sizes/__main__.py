"""The command: measure three data sets, write the page and the picture.

In:   the command line. Out: docs/lattice-sizes.md, docs/pictures/lattice-sizes.svg. Not: measuring (measuring.py).
"""

from __future__ import annotations

import argparse
import os
import platform
import random
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.clock import say
from benchmarks.lattice_sizes.measuring import ALIGNMENTS, HARD, USUAL, measure
from benchmarks.lattice_sizes.page import page
from benchmarks.lattice_sizes.sums import Set, length_bins
from polyref import Encoder, Example, PolyrefError, open_encoder, read
from polyref.lattice import engine_named

DOCS = Path(__file__).parent.parent.parent / "docs"
PICTURE = "pictures/lattice-sizes.svg"
SETS = {
    "COCO": "coco-val2017/slice1000.jsonl",
    "E2E": "e2e/dev.jsonl",
    "Multi30k": "multi30k-task1-de2en-5ref/dev.jsonl",
}
SEED = 1
QUICK = 100  # examples a set
PACKAGES = ("polyref", "numpy", "numba", "matplotlib")


def main(arguments: Sequence[str] | None = None) -> None:
    parser, settings = _settings(arguments)
    try:
        encoder = open_encoder(settings.encoder)
        sets = [_measured(name, settings, encoder) for name in SETS]
    except PolyrefError as error:
        parser.error(str(error))
    from benchmarks.lattice_sizes.picture import draw

    (DOCS / PICTURE).write_text(draw(sets), encoding="utf-8")
    (DOCS / "lattice-sizes.md").write_text(page(sets, PICTURE, _made(settings, encoder, sets)), encoding="utf-8")
    say(f"written: {DOCS / 'lattice-sizes.md'}, {DOCS / PICTURE}")


def _settings(arguments: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser("python -m benchmarks.lattice_sizes", description="Measure sizes of lattices.")
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        default=os.environ.get("POLYREF_DATA") or None,
        help="the data sets, as DATA.md describes them (also: POLYREF_DATA)",
    )
    parser.add_argument("--encoder", metavar="NAME", default="english", help="as for polyref expand; default: english")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} examples a set, and rougher numbers")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("give --data FOLDER")
    if missing := [path for path in SETS.values() if not (settings.data / path).is_file()]:
        parser.error(f"{settings.data} lacks {', '.join(missing)}")
    if find_spec("matplotlib") is None:
        parser.error('the picture needs matplotlib; pip install "polyref[bench]"')
    return parser, settings


def _measured(name: str, settings: argparse.Namespace, encoder: Encoder) -> Set:
    examples = list(read(str(settings.data / SETS[name])))
    say(f"measuring: {name}")
    lattices = measure(_drawn(examples) if settings.quick else examples, encoder, engine_named("compiled"))
    bins = length_bins([lattice.length for lattice in lattices[HARD]], least=10 if settings.quick else 25)
    return Set(name, lattices, bins)


def _drawn(examples: Sequence[Example]) -> list[Example]:
    """Some examples of a quick run: not the first, since files are sorted by what they describe."""
    return random.Random(SEED).sample(examples, min(QUICK, len(examples)))


def _made(settings: argparse.Namespace, encoder: Encoder, sets: Sequence[Set]) -> list[str]:
    """How the numbers came about, for somebody who wants to repeat them."""
    name = _shown_name(settings.encoder)
    command = f"python -m benchmarks.lattice_sizes --data FOLDER --encoder {name}" + " --quick" * settings.quick
    usual = ALIGNMENTS[USUAL]
    others = [field.name for field in fields(usual) if field.name not in ("align", "penalty")]
    choices = ", ".join(f"{choice.replace('_', ' ')} {_shown_choice(getattr(usual, choice))}" for choice in others)
    uncertain = sum(not lattice.certain for one in sets for lattices in one.lattices.values() for lattice in lattices)
    return [
        f"`{command}` in the repository; FOLDER has {', '.join(f'`{path}` ({one})' for one, path in SETS.items())}.",
        *[f"A quick run: {QUICK} examples per set, drawn at random (seed {SEED})."] * settings.quick,
        f"Encoder `{name}`, hash `{encoder.hash}`, baseline {encoder.baseline:.4f}.",
        f"Default settings except align and penalty: {choices}; search with seed 0.",
        f"{uncertain} lattices were too complex to count or to search completely; all others are exact.",
        f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES) + ".",
    ]


def _shown_name(encoder: str) -> str:
    """An encoder's name without the folders of this machine."""
    kind, colon, rest = encoder.rpartition(":")
    return f"{kind}{colon}{Path(rest).name}" if Path(rest).exists() else encoder


def _shown_choice(value: object) -> str:
    return "/".join(map(str, value)) or "none" if isinstance(value, list | tuple | frozenset) else str(value)


if __name__ == "__main__":
    main()
