"""Parallel text: a file of sources and K files of references, in which lines with one number belong together.

In:   `data.src`, which brings `data.ref0 data.ref1 ...` (or `data.ref`) with it; or the files one by one.
Out:  one record per line, where a blank line is a reference that an example does not have; and the way back.
Not:  what a record means (jsonl.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise, zip_longest
from pathlib import Path

from polyref.data.formats.format import FileFormat, Reading, Spool
from polyref.data.formats.jsonl import is_blank, record_line
from polyref.data.opening import (
    Line,
    Opened,
    check_not_several,
    open_input,
    open_outputs,
    text_lines,
    without_compression,
)
from polyref.errors import InputError, OutputError
from polyref.files import check_not_mixed, finish_renames
from polyref.remote import path_at

SOURCE = ".src"
_REFERENCES = re.compile(r"\.ref([0-9]*)(?:\.gz|\.zst)?")


def parallel_paths(path: str) -> list[str] | None:
    """The files that belong to `data.src`, or to `data` if that is no file itself; None if this is something else."""
    candidates = [path] if without_compression(path).endswith(SOURCE) else []
    if not candidates and path != "-" and not _exists(path):
        candidates = [path + SOURCE, f"{path}{SOURCE}.gz", f"{path}{SOURCE}.zst"]
    for candidate in candidates:
        finish_renames(candidate)
    source = next(filter(_exists, candidates), None)
    references = [] if source is None else _reference_files(_prefix_of(source)[0])
    return [source, *references] if source is not None and references else None


def _reference_files(prefix: str) -> list[str]:
    """`prefix.ref0`, `prefix.ref1` and so on, in order; a gap in the numbers is an error."""
    found: dict[int, str] = {}
    for number, path in _files_beside(prefix):
        if number in found:
            problem = f"{found[number]} is there too, with the same number"
            raise InputError(problem, "remove one of the two", file=path)
        found[number] = path
    numbers = sorted(found)
    for before, after in pairwise(numbers):
        if after != before + 1:
            problem = f"{prefix}.ref{before + 1} is missing, but {found[after]} is there"
            raise InputError(problem, "number the files without gaps", file=prefix + SOURCE)
    return [found[number] for number in numbers]


def _files_beside(prefix: str) -> list[tuple[int, str]]:
    """Every file of references with this prefix, and its number; -1 where it has none."""
    folder, name = path_at(prefix).parent, Path(prefix).name
    try:
        there = sorted(path.name for path in folder.iterdir() if path.name.startswith(name))
    except (OSError, ValueError):
        return []
    matches = [(file, _REFERENCES.fullmatch(file.removeprefix(name))) for file in there]
    before = prefix.removesuffix(name)  # as it was typed: no "./" more or less
    return [(int(match[1] or -1), before + file) for file, match in matches if match is not None]


def _exists(path: str) -> bool:
    try:
        return path_at(path).exists()
    except (OSError, ValueError):
        return False


def _prefix_of(path: str) -> tuple[str, str]:
    """What the files' names begin with, and what they end in for the sake of compression."""
    bare = without_compression(path)
    return bare.removesuffix(SOURCE), path[len(bare) :]


def belongs_to(path: str, output: str) -> bool:
    """Whether a file, by its real path, may be one of those that parallel text of this name is written to."""
    rest = path.removeprefix(os.path.realpath(_prefix_of(output)[0]))
    return without_compression(rest) == SOURCE or _REFERENCES.fullmatch(rest) is not None


def read_parallel(reading: Reading) -> Iterator[Line]:
    """The records of parallel text; the first file is that of the sources."""
    if not reading.others:
        cure = f"name them behind it, or call them .ref0, .ref1 and so on beside the {SOURCE}"
        raise reading.wrong("there are no files of references", cure)
    with ExitStack() as stack:
        files = [reading.file, *[stack.enter_context(open_input(path)) for path in reading.others]]
        check_not_mixed([file.path for file in files if file.path != "-"])
        for number, (source, *references) in enumerate(side_by_side(files, reading.max_line_bytes), 1):
            yield reading.line(number, partial(_record, source, references, reading, number), [source, *references])


def _record(source: str, references: list[str], reading: Reading, number: int) -> bytes:
    given = [text for text in references if not is_blank(text)]
    if not given:
        problem = f"line {number} is blank in every file of references"
        raise reading.wrong(problem, "give at least one reference", number)
    return record_line({reading.fields.source: source, reading.fields.references: given})


def side_by_side(files: Sequence[Opened], max_line_bytes: int) -> Iterator[tuple[str, ...]]:
    """The lines of several files that have one number; an InputError where one file has fewer lines than another."""
    texts = [text_lines(file, max_line_bytes=max_line_bytes) for file in files]
    for number, lines in enumerate(zip_longest(*texts), 1):
        if None in lines:
            counts = [
                number - 1 if line is None else number + sum(1 for _ in rest)
                for line, rest in zip(lines, texts, strict=True)
            ]
            counted = list(zip([file.name for file in files], counts, strict=True))
            others = [f"{name} has {count:,}" for name, count in counted if count != counts[0]]
            problem = f"{counts[0]:,} {'line' if counts[0] == 1 else 'lines'}, but {', '.join(others)}"
            raise InputError(problem, "give every file as many", file=files[0].name)
        yield lines


def write_parallel(spool: Spool) -> None:
    """Write all files; where an example has fewer references than others, its lines in the last files are blank."""
    prefix, packing = _prefix_of(spool.path)
    paths = [prefix + SOURCE + packing, *[f"{prefix}.ref{n}{packing}" for n in range(spool.shape.most_references)]]
    for _, older in _files_beside(prefix):
        if older not in paths:
            raise OutputError(
                f"{older}: this would be taken for a file of the new ones; remove it, or choose another name"
            )
    with open_outputs(paths) as streams:
        for parts in spool.parts():
            blank = [""] * (len(streams) - 1 - len(parts.references))
            for stream, text in zip(streams, parts.texts + blank, strict=True):
                spool.write_lines(stream, [text], parts, "parallel text")
    spool.files = paths
    spool.lose()


def _check(path: str) -> None:
    if path == "-":
        raise OutputError("parallel text is several files; name one that ends in .src")
    check_not_several(path)


PARALLEL = FileFormat((SOURCE,), read_parallel, write_parallel, check=_check, holds_pseudo=False)
