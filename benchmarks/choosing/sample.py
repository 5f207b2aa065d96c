"""Draw the pseudo-references that people judge, and write the sheets that they read.

In:   the folder with the data sets (POLYREF_DATA).
Out:  `items.jsonl` without labels; with --sheets, a folder of sheets that tell nothing but references and sentence.
Not:  judging (guidelines.md), loading (items.py).

    python -m benchmarks.choosing.sample --draw
    python -m benchmarks.choosing.sample --sheets FOLDER
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.choosing.items import ITEMS, SETS, Item, how_written, load_items, text_hash, written
from polyref import Example, Lattice, read
from polyref.align import AlignSettings
from polyref.text import TextSettings, tokenize

SEED = 20
PER_METHOD = 40  # items of one set and one method, half of them for `test`
POOL = 80  # examples that are expanded for them: some have no pseudo-reference
SHEETS = 8
# References that an example must have, and those that it is given of them; None for all.
AT_LEAST = {"e2e-two": 2, "e2e-many": 6}
GIVEN = {"e2e-two": 2}
METHODS = ("hard", "soft")
HERE = Path(__file__).parent


def draw(data: Path, generator: random.Random) -> list[dict[str, Any]]:
    """The entries of `items.jsonl`: no example comes twice, neither within a method nor across the two."""
    entries = []
    for name, path in SETS.items():
        examples = [example for example in read(data / path) if len(example.references) >= AT_LEAST.get(name, 1)]
        pool = generator.sample(examples, POOL * len(METHODS))
        for number, method in enumerate(METHODS):
            expanded = expand(pool[number * POOL : (number + 1) * POOL], method, GIVEN.get(name))
            usable = [example for example in expanded if example.pseudo_references][:PER_METHOD]
            if len(usable) < PER_METHOD:
                raise RuntimeError(f"only {len(usable)} of {POOL} examples of {name} have pseudo-references")
            for place, example in enumerate(usable):
                part = "develop" if place < PER_METHOD // 2 else "test"
                entries.append({"set": name, "id": example.id, "part": part, **entry(example, method, generator)})
    return entries


def expand(examples: Sequence[Example], method: str, given: int | None) -> list[Example]:
    """The examples as `polyref expand -k 20` writes them."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.jsonl", Path(folder) / "after.jsonl"
        records = [
            {"id": one.id, "source": one.source, "references": [reference.text for reference in one.references[:given]]}
            for one in examples
        ]
        write_lines(before, records)
        command = [sys.executable, "-m", "polyref", "expand", "-k", "20", "--align", method, "-o", str(after)]
        subprocess.run([*command, str(before)], check=True, capture_output=True)
        return list(read(after))


def entry(example: Example, method: str, generator: random.Random) -> dict[str, Any]:
    """One of the example's pseudo-references, as what gives its text again."""
    chosen = generator.choice(example.pseudo_references)
    references = [reference.text for reference in example.references]
    words = places(references, method, chosen.text)
    spaces, cases = how_written(references, words, chosen.text)
    if written(references, words, spaces, cases) != chosen.text:
        raise RuntimeError(f'a sentence of "{example.id}" cannot be stored')
    return {
        "method": method,
        "references": len(references),
        "references_hash": text_hash(references),
        "words": words,
        "spaces": spaces,
        "cases": cases,
        "hash": text_hash([chosen.text]),
        "bleu": chosen.bleu,
    }


def places(references: Sequence[str], method: str, text: str) -> list[tuple[int, int]]:
    """For each word of a sentence of the lattice, a reference that has it there, and its position."""
    lattice = Lattice.from_references(references, align=AlignSettings(align=method))  # type: ignore[arg-type]
    numbers = {word: number for number, word in enumerate(lattice.numbering.vocabulary)}
    path = lattice.automaton.find([numbers[word] for word in tokenize(text, TextSettings()).words])
    if path is None:
        raise RuntimeError(f"the lattice does not have the sentence {text!r}")
    starts = lattice.numbering.starts
    found = []
    for arc in path:
        place = int(lattice.automaton.origin[arc])
        distinct = max(number for number, start in enumerate(starts[:-1]) if start <= place)
        found.append((lattice.numbering.firsts[distinct], place - starts[distinct]))
    return found


def write_sheets(items: Sequence[Item], folder: Path, generator: random.Random) -> None:
    """The items in a random order on several sheets, and a key for going back to `items.jsonl`."""
    folder.mkdir(parents=True, exist_ok=True)
    order = generator.sample(range(len(items)), len(items))
    rows = [
        {"item": number, "references": list(items[index].references), "sentence": items[index].sentence}
        for number, index in enumerate(order, 1)
    ]
    size = len(rows) // SHEETS
    for sheet in range(SHEETS):
        write_lines(folder / f"sheet-{sheet + 1}.jsonl", rows[sheet * size : (sheet + 1) * size])
    write_lines(folder / "key.jsonl", [{"item": number, "index": index} for number, index in enumerate(order, 1)])
    (folder / "guidelines.md").write_bytes((HERE / "guidelines.md").read_bytes())


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join([json.dumps(row, ensure_ascii=False) + "\n" for row in rows]), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.choosing.sample", description=(__doc__ or "").splitlines()[0]
    )
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    parser.add_argument("--draw", action="store_true", help=f"write {ITEMS}; refused where there is one")
    parser.add_argument("--sheets", metavar="FOLDER", type=Path, help="write the sheets for readers to this folder")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("the references are looked up in the data sets; set POLYREF_DATA to their folder")
    if settings.draw:
        if (HERE / ITEMS).exists():
            parser.error(f"there is {ITEMS} already; its labels would be lost")
        write_lines(HERE / ITEMS, draw(Path(settings.data), random.Random(SEED)))
    items = load_items(Path(settings.data))
    print(f"{len(items)} items")
    if settings.sheets:
        write_sheets(items, settings.sheets, random.Random(SEED + 1))


if __name__ == "__main__":
    main()
