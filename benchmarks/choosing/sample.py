"""Draw the pseudo-references that people judge, write the sheets that they read, take in their labels.

In:   the folder with the data sets (POLYREF_DATA); the labels that readers hand in.
Out:  a new part of `items.jsonl`; a folder of sheets that tell nothing but references and sentence.
Not:  judging (guidelines.md), loading (items.py).

    python -m benchmarks.choosing.sample --part NAME --seed N --per-method 20    # draw
    python -m benchmarks.choosing.sample --part NAME --sheets FOLDER             # give FOLDER to the readers
    python -m benchmarks.choosing.sample --part NAME --labels FOLDER             # take in what they hand back

Labels lie in FOLDER/first/*.jsonl and FOLDER/second/*.jsonl. The key of the sheets lies beside the folder, so that no
reader sees it: FOLDER-key.jsonl. `settled` is the worse of the two labels.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from benchmarks.choosing.items import (
    CAUSES,
    GIVEN,
    ITEMS,
    LABELS,
    SETS,
    Item,
    examples_of,
    how_written,
    load_entries,
    load_items,
    text_hash,
    written,
)
from polyref import AlignSettings, Example, ExpandSettings, Lattice, TextSettings, expand
from polyref.errors import InputError
from polyref.expansion import usage_of
from polyref.judge import Judge, JudgeSettings
from polyref.text import tokenize

FIVE = ("coco", "e2e-two", "e2e-many", "asset", "multi30k")  # sets that parts are drawn from
AT_LEAST = {"e2e-two": 2, "e2e-many": 6}  # references that an example must have
METHODS = ("hard", "soft")
SHEET = 50  # items on a sheet
HERE = Path(__file__).parent


# -- drawing ----------------------------------------------------------------------------------------------------------


def draw(
    data: Path,
    part: str,
    seed: int,
    per_method: int,
    known: Iterable[dict[str, Any]],
    sets: Sequence[str],
    judge: Judge,
) -> list[dict[str, Any]]:
    """New entries of `items.jsonl`: no example comes twice, and none that is known already."""
    generator, entries = random.Random(seed), []
    used = {(SETS[entry["set"]], entry["id"]) for entry in known}
    pool = 2 * per_method  # examples that are expanded: some have no pseudo-reference
    for name in sets:
        path, given = SETS[name], GIVEN.get(name)
        examples = [one for one in examples_of(data / path) if len(one.references) >= AT_LEAST.get(name, 1)]
        drawn = generator.sample([one for one in examples if (path, one.id) not in used], pool * len(METHODS))
        used.update([(path, one.id) for one in drawn])
        drawn = [replace(one, references=one.references[:given]) for one in drawn]
        usage = usage_of(examples_of(data / path, given), TextSettings())
        for number, method in enumerate(METHODS):
            settings = ExpandSettings(20, judging=JudgeSettings(judge), align=AlignSettings(align=method))  # type: ignore[arg-type]
            expanded = expand(drawn[number * pool : (number + 1) * pool], settings=settings, usage=usage)
            usable = [example for example in expanded if example.pseudo_references][:per_method]
            if len(usable) < per_method:
                raise RuntimeError(f"only {len(usable)} of {pool} examples of {name} have pseudo-references")
            entries += [{"set": name, "id": one.id, "part": part, **entry(one, method, generator)} for one in usable]
    return entries


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
        "bleu": round(chosen.bleu, 2),
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


# -- sheets and labels ------------------------------------------------------------------------------------------------


def write_sheets(items: Sequence[Item], folder: Path, generator: random.Random) -> None:
    """The items in a random order on several sheets, and beside the folder a key that tells which is which."""
    folder.mkdir(parents=True, exist_ok=True)
    order = list(enumerate(generator.sample(list(items), len(items)), 1))
    rows = [{"item": number, "references": list(item.references), "sentence": item.sentence} for number, item in order]
    for sheet, start in enumerate(range(0, len(rows), SHEET), 1):
        write_lines(folder / f"sheet-{sheet}.jsonl", rows[start : start + SHEET])
    write_lines(_key(folder), [{"item": number, "set": item.set, "id": item.id} for number, item in order])
    (folder / "guidelines.md").write_bytes((HERE / "guidelines.md").read_bytes())


def merge_labels(entries: Iterable[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The entries with the labels of two readers, and with the worse of them as what is settled."""
    key = {(row["set"], row["id"]): row["item"] for row in _lines(_key(folder))}
    first, second = (_labels(folder / reader) for reader in ("first", "second"))
    found = []
    for known in entries:
        number = key.get((known["set"], known["id"]))
        if number is not None:
            for reader, labels in (("first", first), ("second", second)):
                if number not in labels:
                    raise InputError(f"item {number} has no label", "let it be read", file=str(folder / reader))
            worse = max(first[number], second[number], key=lambda label: LABELS.index(label["label"]))
            known = {**known, "first": first[number], "second": second[number], "settled": worse}
        found.append(known)
    return found


def _labels(folder: Path) -> dict[int, dict[str, Any]]:
    """What one reader says, by the number of the item."""
    found: dict[int, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line, row in enumerate(_lines(path), 1):
            is_good = row["label"] == "good"
            if row["label"] not in LABELS or not set(row["causes"]) <= set(CAUSES) or is_good == bool(row["causes"]):
                problem = f"item {row['item']} has a label or causes that the guidelines do not have"
                raise InputError(problem, "let it be read again", file=str(path), line=line)
            if row["item"] in found:
                raise InputError(
                    f"item {row['item']} comes twice", "remove one of its labels", file=str(path), line=line
                )
            found[row["item"]] = {"label": row["label"], "causes": row["causes"]}
    return found


def _key(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-key.jsonl")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join([json.dumps(row, ensure_ascii=False) + "\n" for row in rows]), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.choosing.sample", description=(__doc__ or "").splitlines()[0]
    )
    folder = os.environ.get("POLYREF_DATA")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=folder, help="also: POLYREF_DATA")
    parser.add_argument("--part", metavar="NAME", required=True, help="the part to draw, to write or to label")
    parser.add_argument("--seed", metavar="N", type=int, help=f"draw the part, and add it to {ITEMS}")
    parser.add_argument("--per-method", metavar="N", type=int, default=20, help="items of each set and method")
    parser.add_argument("--set", choices=list(SETS), action="append", help="draw from this set; default: five sets")
    parser.add_argument("--judge", choices=get_args(Judge), default="bleu", help="draw from what this judge leaves")
    parser.add_argument("--sheets", metavar="FOLDER", type=Path, help="write the sheets for readers to this folder")
    parser.add_argument("--labels", metavar="FOLDER", type=Path, help="take in the labels from this folder")
    settings = parser.parse_args(arguments)
    if settings.data is None:
        parser.error("the references are looked up in the data sets; set POLYREF_DATA to their folder")
    entries, part = load_entries(), settings.part
    if settings.seed is not None:
        if any(known["part"] == part for known in entries):
            parser.error(f"there is a part {part} already")
        sets = settings.set or FIVE
        entries += draw(settings.data, part, settings.seed, settings.per_method, entries, sets, settings.judge)
        write_lines(HERE / ITEMS, entries)
    items = load_items(settings.data, [part])
    if settings.sheets:
        write_sheets(items, settings.sheets, random.Random(len(items)))
    if settings.labels:
        write_lines(HERE / ITEMS, merge_labels(entries, settings.labels))
    print(f"{len(items)} items of {part}")


if __name__ == "__main__":
    main()
