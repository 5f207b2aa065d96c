"""Read parallel text: a file of sources and K files of references, in which lines with one number belong together.

In:   `data.src`, which brings `data.ref0 data.ref1 ...` (or `data.ref`) with it; or the files one by one.
Out:  a record a line. A blank line among the references is a reference that an example does not have.
Not:  writing (parallel_output.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise, zip_longest
from pathlib import Path

from polyref.data.assemble import record_line
from polyref.data.formats import without_compression
from polyref.data.jsonl import Fields
from polyref.data.lines import Line, text_lines
from polyref.data.opening import display_name, open_input
from polyref.errors import InputError

SOURCE = ".src"
_REFERENCES = re.compile(r"\.ref([0-9]*)(?:\.gz|\.zst)?")


def parallel_paths(path: str) -> list[str] | None:
    """The files that belong to `data.src`, or to `data` if that is no file itself; None if this is something else."""
    candidates = [path] if without_compression(path).endswith(SOURCE) else []
    if not candidates and path != "-" and not _exists(path):
        candidates = [path + SOURCE, f"{path}{SOURCE}.gz", f"{path}{SOURCE}.zst"]
    for source in candidates:
        if _exists(source):
            references = reference_files(without_compression(source).removesuffix(SOURCE))
            if references:
                return [source, *references]
            if source != path:
                break
    return None


def reference_files(prefix: str) -> list[str]:
    """`prefix.ref0`, `prefix.ref1` and so on, in order; a gap in the numbers is an error."""
    found: dict[int, str] = {}
    for number, path in files_beside(prefix):
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


def files_beside(prefix: str) -> list[tuple[int, str]]:
    """Every file of references with this prefix, and its number; -1 where it has none."""
    folder, name = Path(prefix).parent, Path(prefix).name
    try:
        there = sorted(path.name for path in folder.iterdir() if path.name.startswith(name))
    except (OSError, ValueError):
        return []
    matches = [(file, _REFERENCES.fullmatch(file.removeprefix(name))) for file in there]
    before = prefix.removesuffix(name)  # as it was typed: no "./" more or less
    return [(int(match[1] or -1), before + file) for file, match in matches if match is not None]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def read_parallel(paths: Sequence[str], fields: Fields, *, max_line_bytes: int) -> Iterator[Line]:
    """The records of parallel text; the first path is that of the sources."""
    if len(paths) < 2:
        cure = "name them behind it, or call them .ref0, .ref1 and so on beside a .src"
        raise InputError("there are no files of references", cure, file=display_name(paths[0]))
    with ExitStack() as stack:
        files = [stack.enter_context(open_input(path)) for path in paths]
        texts = [text_lines(file, max_line_bytes=max_line_bytes) for file in files]
        number = 0
        for number, lines in enumerate(zip_longest(*texts), 1):
            if None in lines:
                raise _unequal(paths, lines, texts, number)
            source, *references = lines
            given = [text for text in references if text and not text.isspace()]
            if not given:
                problem = f"line {number} is blank in every file of references"
                raise InputError(problem, "give at least one reference", file=files[0].name, line=number)
            record = record_line({fields.source: source, fields.references: given})
            yield Line(number, record, files[0].position())
        if not number:
            raise InputError("the file is empty", "give one source a line", file=files[0].name)


def _unequal(
    paths: Sequence[str], lines: Sequence[str | None], texts: Sequence[Iterator[str]], number: int
) -> InputError:
    """Say how many lines each file has, those that differ from the sources."""
    counts = [
        number - 1 if line is None else number + sum(1 for _ in rest) for line, rest in zip(lines, texts, strict=True)
    ]
    others = [
        f"{display_name(path)} has {count:,}"
        for path, count in zip(paths[1:], counts[1:], strict=True)
        if count != counts[0]
    ]
    problem = f"{counts[0]:,} {'line' if counts[0] == 1 else 'lines'}, but {', '.join(others)}"
    return InputError(problem, "give every file as many", file=display_name(paths[0]))
