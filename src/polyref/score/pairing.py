"""Bring the hypotheses of one file together with the references of others.

In:   a file of hypotheses; a data set with references, or files of plain text with one reference a line.
Out:  the hypotheses in the order of the examples, and the references of each.
Not:  the formats of data sets (data/), scoring (evaluate.py).

Hypotheses with ids find their example by it, those without by their place. Whatever does not fit is refused with the
file and the line: a score of hypotheses that are off by one line looks like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polyref.data import MAX_LINE_BYTES, Fields, Format, Losses, read
from polyref.data.formats import format_of_content, format_of_name
from polyref.data.lines import check_limit, text_lines
from polyref.data.opening import BYTE_ORDER_MARK, PARQUET_MAGIC, display_name, open_input
from polyref.data.parallel import parallel_paths
from polyref.errors import InputError, SettingsError
from polyref.score import transposed
from polyref.score.hypotheses import Hypotheses


@dataclass(frozen=True, slots=True)
class Pairs:
    """What is scored: references[k] are those of hypotheses[k]."""

    hypotheses: list[str]
    references: list[list[str]]


@dataclass(frozen=True, slots=True)
class References:
    """The references of each example; `ids` is None where a file has none, as plain text."""

    name: str
    texts: list[list[str]]
    ids: list[str] | None = None


def read_references(
    paths: Sequence[str],
    fields: Fields | None = None,
    *,
    format: Format | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    losses: Losses | None = None,
) -> References:
    """The references of a data set, or of plain text: line k of each file is a reference of example k, or blank."""
    fields = fields or Fields()
    check_limit(max_line_bytes)
    if len(paths) > 1 and format is not None:
        raise SettingsError("several files of references are plain text; leave --from out, or give one data set")
    if len(paths) == 1 and (format is not None or not _is_plain_text(paths[0], fields)):
        stream = read(
            paths[0], fields, format=format, require_source=False, max_line_bytes=max_line_bytes, losses=losses
        )
        examples = list(stream)
        texts = [[reference.text for reference in example.references] for example in examples]
        return References(display_name(paths[0]), texts, [example.id for example in examples])
    return _plain_references(paths, max_line_bytes)


def pair(hypotheses: Hypotheses, references: References) -> Pairs:
    """Each hypothesis with its references, in the order of the examples."""
    if hypotheses.ids is not None and references.ids is not None and set(hypotheses.ids) & set(references.ids):
        return Pairs(_by_id(hypotheses, hypotheses.ids, references, references.ids), references.texts)
    _check_orientation(hypotheses, references)
    if hypotheses.ids is not None and references.ids is not None:
        raise _unknown(hypotheses, 0, references)
    if len(hypotheses.texts) != len(references.texts):
        raise InputError(
            f"{_counted(len(hypotheses.texts), 'hypothesis', 'hypotheses')}, but {references.name} has references for "
            f"{len(references.texts):,}",
            "give one hypothesis for each example, in the same order",
            file=hypotheses.name,
        )
    return Pairs(hypotheses.texts, references.texts)


def _by_id(hypotheses: Hypotheses, ids: list[str], references: References, examples: list[str]) -> list[str]:
    found = dict(zip(ids, hypotheses.texts, strict=True))
    known = set(examples)
    for place, id in enumerate(ids):
        if id not in known:
            raise _unknown(hypotheses, place, references)
    missing = [id for id in examples if id not in found]
    if missing:
        others = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        problem = f'there is no hypothesis for "{missing[0]}"{others} of {references.name}'
        raise InputError(problem, "give one for each example", file=hypotheses.name)
    return [found[id] for id in examples]


def _unknown(hypotheses: Hypotheses, place: int, references: References) -> InputError:
    id = hypotheses.ids[place] if hypotheses.ids else ""
    problem = f'{references.name} has no example with the id "{id}"'
    cure = "give the references of the same examples, or leave the ids out to go by order"
    return InputError(problem, cure, file=hypotheses.name, line=hypotheses.lines[place])


def _check_orientation(hypotheses: Hypotheses, references: References) -> None:
    """Refuse K examples of N references where N examples of K are meant."""
    count, examples = len(hypotheses.texts), len(references.texts)
    if examples == count or count == 1 or any(len(texts) != count for texts in references.texts):
        return
    if references.ids is None:
        given, cure = (
            f"{count:,} files of {_counted(examples, 'line', 'lines')}",
            "let line k of each file be a reference of example k",
        )
    else:
        given = f"{_counted(examples, 'record', 'records')} of {count:,} references"
        cure = f"give {count:,} records, each with the references of one example"
    problem = f"the references seem to be the other way round: {given}, for {count:,} hypotheses"
    raise InputError(problem, cure, file=references.name)


def _plain_references(paths: Sequence[str], max_line_bytes: int) -> References:
    streams = [_lines(path, max_line_bytes, is_one=len(paths) == 1) for path in paths]
    for path, stream in zip(paths, streams, strict=True):
        if len(stream) != len(streams[0]):
            raise InputError(
                f"{_counted(len(stream), 'line', 'lines')}, but {display_name(paths[0])} has {len(streams[0]):,}",
                "give every file as many: line k of each is a reference of example k",
                file=display_name(path),
            )
    texts = transposed(streams)
    for number, given in enumerate(texts, 1):
        if not given:
            where = "in every file of references" if len(paths) > 1 else "here"
            problem = f"line {number} is blank {where}"
            raise InputError(problem, "give at least one reference", file=display_name(paths[0]), line=number)
    return References(display_name(paths[0]), texts)


def _lines(path: str, max_line_bytes: int, *, is_one: bool) -> list[str]:
    with open_input(path) as opened:
        if not is_one and (opened.head.lstrip().startswith(b'{"') or opened.head.startswith(PARQUET_MAGIC)):
            problem = "several files of references are plain text, but this is none"
            raise InputError(problem, "give one data set, or a reference a line in each file", file=opened.name)
        lines = list(text_lines(opened, max_line_bytes=max_line_bytes))
        if not lines:
            raise InputError("the file is empty", "give one reference a line", file=opened.name)
        return lines


def _is_plain_text(path: str, fields: Fields) -> bool:
    """Whether a single file of references is plain text. What is read once only, as a pipe, is a data set."""
    if not Path(path).is_file() or parallel_paths(path) is not None:
        return False
    with open_input(path) as opened:
        head = opened.head.removeprefix(BYTE_ORDER_MARK).strip()
        try:
            format = format_of_content(opened, fields, require_source=False)
        except InputError:  # text that is neither JSON, nor Parquet, nor a table
            return True
    # JSON Lines is what everything else is taken for, such as a text that begins with a quotation mark.
    return format == "jsonl" and bool(head) and not head.startswith(b"{") and format_of_name(path) is None


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
