"""Every way in which an input can be wrong, with what the message must say about it.

The tests of data/ and encode/ read each of these files; those of cli/ check that every verb passes the message on.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyref.data import MAX_LINE_BYTES

GOOD = '{"id": "good", "source": "s", "references": ["a cat sleeps", "the cat is asleep"]}\n'
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DEEP = 100_000


@dataclass(frozen=True)
class Malformed:
    """A file that must be refused. `line` is the line at fault, None where it is the file as a whole.

    `others` are files beside it, and `blamed` is the one that the message begins with, if it is not the first.
    """

    name: str
    content: bytes
    says: str
    line: int | None = 2
    file: str = "examples.jsonl"
    max_line_bytes: int = MAX_LINE_BYTES
    format: str | None = None
    others: dict[str, bytes] = field(default_factory=dict)
    blamed: str | None = None

    def write(self, folder: Path) -> str:
        for name, content in {self.file: self.content, **self.others}.items():
            (folder / name).write_bytes(content)
        return str(folder / self.file)

    def place(self, path: str) -> str:
        """How a message about the file begins."""
        at = path if self.blamed is None else str(Path(path).with_name(self.blamed))
        return f"{at}: " if self.line is None else f"{at}:{self.line}: "


def with_references(references: str) -> str:
    return f'{{"source": "s", "references": {references}}}'


def with_keys(members: str) -> str:
    return f'{{"source": "s", "references": ["a cat"], {members}}}'


def with_kept(kept: str) -> str:
    return with_keys(f'"lattice": {{"sentences": "1", "penalty": null, "exact": true, "kept": {kept}}}')


def with_judgement(name: str, value: str) -> str:
    return with_keys(f'"pseudo_references": [{{"text": "a", "bleu": 1, "{name}": {value}}}]')


def with_fluency(value: str) -> str:
    return with_judgement("fluency", value)


def with_rules(rules: str) -> str:
    return with_kept(f'{{"states": [[1, 2]], "tokenizer": "words", "fold_case": true, "rules": {rules}}}')


# What a judgement is not, and how that is shown; what it is.
_NO_JUDGEMENTS = {
    "content": (("-0.1", "1.5", '"good"', "true", "[0]", "1e400"), "give a number from 0 to 1, or take the key out"),
    "crossings": (
        ("-1", "1.5", '"2"', "false", "{}", "1e400", "2147483648", f"1{'0' * 400}"),
        "give a whole number from 0 on, or take the key out",
    ),
    "risk": (("-0.1", '"low"', "true", "[]", "1e400", f"1{'0' * 400}"), "give a finite number from 0 on, or take the"),
}
_RULE = 'of "rules" in "kept" of "lattice" is not a list of least, most (-1: no limit) and words, all of them whole'
_NO_RULES = {
    "a number": "5",
    "an object": '{"0": 1}',
    "too short": "[0, 1]",
    "with a least below 0": "[-1, 1, 0]",
    "with a most below -1": "[0, -2, 0]",
    "with a most below its least": "[2, 1, 0]",
    "with a word below 0": "[0, 1, -1]",
    "with a word that is true": "[0, 1, true]",
    "with a word that is a fraction": "[0, 1, 2.0]",
    "with a word that is a text": '[0, 1, "a"]',
    "with an endless word": "[0, 1, 2147483648]",
}


# Each of these stands on the second line of a file, behind a good one.
_RECORDS = {
    "a key twice": (
        '{"source": "s: t", "id" : 1, "references": ["a"], "id": 2}',
        'the key "id" comes twice in an object; keep one of the two',
    ),
    "a key of a reference twice": (
        '{"source": "s", "references": [{"text": "a", "text": "b"}]}',
        'the key "text" comes twice',
    ),
    "an escaped key twice": ('{"source": "s", "references": ["a"], "\\u0073ource": 1}', 'the key "source" comes twice'),
    "a reference without width": ('{"source": "s", "references": ["\u200b\u2060"]}', "reference 1 is blank"),
    "broken JSON": (
        '{"source": "s", "references": ["a" "b"]}',
        "broken JSON: Expecting ',' delimiter at column",
    ),
    "JSON that is cut off": ('{"source": "s", "referen', "broken JSON: Unterminated string"),
    "a line of another format": ("a cat sleeps\tthe cat", "broken JSON: Expecting value at column 1"),
    "two records on a line": (GOOD.strip() * 2, "broken JSON: Extra data"),
    "a line that is a list": ('["a cat"]', "the line holds a list, not an object"),
    "a line that is a text": ('"a cat"', "the line holds a string, not an object"),
    "a line that is a number": ("12", "the line holds a number, not an object"),
    "a line that is null": ("null", "the line holds null, not an object"),
    "no references": (
        '{"source": "s", "notes": []}',
        '"references" is missing; add it, or name another key',
    ),
    "no source": ('{"fact": "s", "references": ["a"]}', '"source" is missing; add it, or name another key'),
    "references that are a text": (
        with_references('"a cat"'),
        '"references" is a string; give a list of strings',
    ),
    "references that are an object": (with_references("{}"), '"references" is an object'),
    "references that are null": (with_references("null"), '"references" is null'),
    "empty references": (with_references("[]"), '"references" is empty; give at least one'),
    "a reference that is a number": (with_references('["a", 5]'), "reference 2 is a number; give a string"),
    "a reference that is null": (with_references("[null]"), "reference 1 is null"),
    "a reference that is a list": (with_references('[["a"]]'), "reference 1 is a list"),
    "a reference that is a truth value": (with_references("[true]"), "reference 1 is true or false"),
    "a reference without text": (with_references('[{"weight": 2}]'), 'reference 1 has no "text"'),
    "a reference whose text is a number": (with_references('[{"text": 5}]'), "reference 1 is a number"),
    "an empty reference": (with_references('["a", ""]'), "reference 2 is blank; give a text, or take it out"),
    "a blank reference": (with_references('[" \\t\\u00a0"]'), "reference 1 is blank"),
    "a blank text": (with_references('[{"text": " "}]'), "reference 1 is blank"),
    "half a surrogate pair": (
        with_references('["a \\ud83d cat"]'),
        '"references" holds half a surrogate pair; repair the \\u escapes',
    ),
    "a source with half a surrogate pair": (
        '{"source": "\\udc80", "references": ["a"]}',
        '"source" holds half a surrogate pair',
    ),
    "a nested value with half a surrogate pair": (
        with_keys('"url": {"a": [1, {"b": "\\uDC80"}]}'),
        '"url" holds half a surrogate pair',
    ),
    "a key with half a surrogate pair": (with_keys('"\\udc80": 1'), '"\\udc80" holds half a surrogate pair'),
    "a key of a reference with half a surrogate pair": (
        with_references('[{"text": "a", "by": "\\udc80"}]'),
        '"references" holds half a surrogate pair',
    ),
    "a weight that is a text": (
        with_references('[{"text": "a", "weight": "2"}]'),
        "the weight of reference 1 is a string",
    ),
    "a weight that is null": (
        with_references('[{"text": "a", "weight": null}]'),
        "the weight of reference 1 is null",
    ),
    "a weight that is a truth value": (
        with_references('[{"text": "a", "weight": true}]'),
        "the weight of reference 1 is true or false; give a number above 0",
    ),
    "a weight of zero": (with_references('[{"text": "a", "weight": 0}]'), "the weight of reference 1 is 0"),
    "a negative weight": (
        with_references('["b", {"text": "a", "weight": -1.5}]'),
        "the weight of reference 2 is -1.5",
    ),
    "a weight without end": (
        with_references('[{"text": "a", "weight": 1e400}]'),
        "the weight of reference 1 is",
    ),
    "a weight of 400 digits": (
        with_references(f'[{{"text": "a", "weight": 1{"0" * 400}}}]'),
        "the weight of reference 1 is",
    ),
    "an id with half a surrogate pair": (with_keys('"id": "\\ud83d"'), '"id" holds half a surrogate pair'),
    "an id that is a list": (with_keys('"id": [1]'), '"id" is a list; give a string or a whole number'),
    "an id that is an object": (with_keys('"id": {}'), '"id" is an object'),
    "an id that is a fraction": (with_keys('"id": 1.5'), '"id" is the number 1.5; give a string or a whole number'),
    "an id that is a truth value": (with_keys('"id": false'), '"id" is true or false'),
    "an id that comes twice": (
        GOOD.strip(),
        'the id "good" comes twice (first on line 1); give each example its own',
    ),
    "NaN": (with_keys('"extra": NaN'), "broken JSON: NaN is not a JSON value; use null or a number"),
    "Infinity": (with_keys('"extra": [Infinity]'), "broken JSON: Infinity is not a JSON value"),
    "minus Infinity": (with_keys('"extra": -Infinity'), "broken JSON: -Infinity is not a JSON value"),
    "a whole number of 5,000 digits": (with_keys(f'"extra": {"7" * 5000}'), "a number has too many digits"),
    "deep nesting": (with_keys(f'"extra": {"[" * DEEP}{"]" * DEEP}'), "the JSON is nested more than 200 deep"),
    "deep nesting of objects": ('{"a": ' * DEEP + "1" + "}" * DEEP, "the JSON is nested more than 200 deep"),
    "deep nesting that never closes": ("[" * DEEP, "the JSON is nested more than 200 deep"),
    "old pseudo-references that are a text": (
        with_keys('"pseudo_references": "a"'),
        '"pseudo_references" is a string',
    ),
    "an old pseudo-reference that is a text": (
        with_keys('"pseudo_references": ["a"]'),
        "pseudo-reference 1 is a string",
    ),
    "an old pseudo-reference without a score": (
        with_keys('"pseudo_references": [{"text": "a"}]'),
        'the "bleu" of pseudo-reference 1 is null',
    ),
    "an old pseudo-reference with a score of 400 digits": (
        with_keys(f'"pseudo_references": [{{"text": "a", "bleu": 1{"0" * 400}}}]'),
        'the "bleu" of pseudo-reference 1 is',
    ),
    "a fluency that is a text": (
        with_fluency('"-2.3"'),
        'the "fluency" of pseudo-reference 1 is a string; give a finite',
    ),
    "a fluency that is a truth value": (with_fluency("false"), 'the "fluency" of pseudo-reference 1 is true or false'),
    "a fluency above 0": (
        with_fluency("0.5"),
        'the "fluency" of pseudo-reference 1 is 0.5; give a finite number that is at most 0, or take the key out',
    ),
    "a fluency without end": (with_fluency("-1e400"), 'the "fluency" of pseudo-reference 1 is -inf'),
    "a fluency of 400 digits": (with_fluency(f"-1{'0' * 400}"), 'the "fluency" of pseudo-reference 1 is -inf'),
    "a fluency that is NaN": (with_fluency("NaN"), "broken JSON: NaN is not a JSON value"),
    "an old pseudo-reference that is blank": (
        with_keys('"pseudo_references": [{"text": "", "bleu": 1}]'),
        "the text of pseudo-reference 1 is blank",
    ),
    "a lattice of somebody else": (
        with_keys('"lattice": "diamond"'),
        '"lattice" is a string; take the key out',
    ),
    "a lattice with a count that is a number": (
        with_keys('"lattice": {"sentences": 5, "penalty": null, "exact": true}'),
        '"sentences" of "lattice" is not a whole number in a string',
    ),
    "a lattice with a penalty that is a text": (
        with_keys('"lattice": {"sentences": "5", "penalty": "0.6", "exact": true}'),
        '"penalty" of "lattice" is a string',
    ),
    "a lattice that does not say whether it is exact": (
        with_keys('"lattice": {"sentences": "5", "penalty": null}'),
        '"exact" of "lattice" is null',
    ),
    "a kept lattice that is a list": (
        with_kept("[[1, 2]]"),
        '"kept" of "lattice" is a list; take the key out, or expand again and keep lattices',
    ),
    "a kept lattice without states": (
        with_kept('{"tokenizer": "words", "fold_case": true}'),
        '"states" in "kept" of "lattice" is null',
    ),
    "a kept lattice of more references than there are": (
        with_kept('{"states": [[1, 2], [1, 3]], "tokenizer": "words", "fold_case": true}'),
        '"states" in "kept" of "lattice" is for 2 references, and there are 1',
    ),
    "a kept lattice with a state that is true": (
        with_kept('{"states": [[true, 2]], "tokenizer": "words", "fold_case": true}'),
        '"kept" of "lattice" has no states for reference 1: a list of whole numbers above 0',
    ),
    "a kept lattice with a state that is 0": (
        with_kept('{"states": [[0, 1]], "tokenizer": "words", "fold_case": true}'),
        '"kept" of "lattice" has no states for reference 1: a list of whole numbers above 0',
    ),
    "a kept lattice with an endless state": (
        with_kept('{"states": [[1, 2147483648]], "tokenizer": "words", "fold_case": true}'),
        '"kept" of "lattice" has no states for reference 1: a list of whole numbers above 0',
    ),
    "a kept lattice of an unknown tokenizer": (
        with_kept('{"states": [[1, 2]], "tokenizer": "moses", "fold_case": true}'),
        '"tokenizer" in "kept" of "lattice" is none of words, whitespace, characters',
    ),
    "a kept lattice that does not say whether case counts": (
        with_kept('{"states": [[1, 2]], "tokenizer": "words", "fold_case": 1}'),
        '"fold_case" in "kept" of "lattice" is a number',
    ),
    **{
        f"a {name} of {value[:12]}": (with_judgement(name, value), f'the "{name}" of pseudo-reference 1 is')
        for name, (values, _) in _NO_JUDGEMENTS.items()
        for value in values
    },
    **{
        f"a {name} and what it should be": (with_judgement(name, values[0]), f"{float(values[0])}; {cure}")
        for name, (values, cure) in _NO_JUDGEMENTS.items()
    },
    "rules that are an object": (with_rules("{}"), '"rules" in "kept" of "lattice" is an object; take the key out, or'),
    **{f"a rule {name}": (with_rules(f"[[0, 1, 0], {rule}]"), f"rule 2 {_RULE}") for name, rule in _NO_RULES.items()},
    "rules without end": (
        with_rules(f"[{', '.join(['[0, 1' + ', 7' * 998 + ']'] * 1001)}]"),
        '"rules" in "kept" of "lattice" has 1,001,000 numbers, and 1,000,000 are the most; take the key out, or',
    ),
}

_GZ = "examples.jsonl.gz"
_MANY = "".join([GOOD.replace("good", f"example {number}") for number in range(50)])
_PACKED = gzip.compress(_MANY.encode(), mtime=0)
_CORRUPT = _PACKED[:20] + bytes(byte ^ 0x55 for byte in _PACKED[20:40]) + _PACKED[40:]
_FIVE = '{"id": 5, "source": 1, "references": ["a"]}\n'
_FIVE_AGAIN = (_FIVE + "\n" + _FIVE.replace("5", '"5"')).encode()
_LINE_NUMBER = (_FIVE.replace("5", "2") + with_references('["a"]')).encode()
_TOO_LONG = "the line is longer than 90 bytes; is this one record per line? raise "

_FILES = [
    Malformed("an id as a number and as a text", _FIVE_AGAIN, '"5" comes twice (first on line 1)', 3),
    Malformed("an id that is another's line number", _LINE_NUMBER, '"2" comes twice (first on line 1)'),
    Malformed("bad UTF-8", GOOD.encode() + b'{"references": ["\xff"]}', "not UTF-8 at byte 18 of the line; save"),
    Malformed("UTF-16", GOOD.encode("utf-16"), "not UTF-8 at byte 1 of the line", 1),
    Malformed("a truncated .gz", _PACKED[:-12], "the gzip data ends too early", None, _GZ),
    Malformed("a truncated .gz under another name", _PACKED[:-12], "the gzip data ends too early", None),
    Malformed("a .gz that is none", GOOD.encode(), "the name ends in .gz, but this is not gzip", None, _GZ),
    Malformed("a corrupt .gz", _CORRUPT, "the gzip data is broken", None, _GZ),
    Malformed("a .gz with something behind it", _PACKED + b"more", "the gzip data is broken", None, _GZ),
    Malformed("a broken record in a .gz", gzip.compress(GOOD.encode() + b"{"), "broken JSON", 2, _GZ),
    Malformed("an empty file", b"", "the file is empty; give at least one example", None),
    Malformed("an empty .gz", gzip.compress(b""), "the file is empty", None, _GZ),
    Malformed("a .gz of no bytes at all", b"", "the file is empty", None, _GZ),
    Malformed("a file of blank lines", b"\n \n\t\r\n", "the file is empty", None),
    Malformed("a file of a byte-order mark", BYTE_ORDER_MARK, "the file is empty", None),
    Malformed("a line over the limit", GOOD.encode() + b"x" * 91, _TOO_LONG, max_line_bytes=90),
    Malformed("a first line over the limit", b"x" * 91, _TOO_LONG, 1, max_line_bytes=90),
    Malformed("a long line behind a byte-order mark", BYTE_ORDER_MARK + b"x" * 120, _TOO_LONG, 1, max_line_bytes=90),
]

MALFORMED = [
    *[Malformed(name, f"{GOOD}{record}\n".encode(), says) for name, (record, says) in _RECORDS.items()],
    *_FILES,
]


def _npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _zip(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


def _corrupt_deflate() -> bytes:
    """An npz whose compressed bytes are damaged, while its table of contents is not."""
    stream = io.BytesIO()
    np.savez_compressed(stream, words=_WORDS, vectors=np.arange(2000.0).reshape(2, 1000))
    content = stream.getvalue()
    start = content.rindex(b"vectors.npy", 0, content.index(b"PK\x01\x02")) + 60
    return content[:start] + bytes(byte ^ 0x55 for byte in content[start : start + 40]) + content[start + 40 :]


_WORDS = np.array(["cat", "dog"])
_VECTORS = np.eye(2)

# Tables of word vectors: npz by the arrays that were saved, or by their bytes, and GloVe text.
_ARRAYS = {
    "no array of words": ({"vectors": _VECTORS}, "there is no array `words` (only: vectors)"),
    "no array of vectors": ({"words": _WORDS}, "there is no array `vectors` (only: words)"),
    "pickled words": ({"words": _WORDS.astype(object), "vectors": _VECTORS}, "cannot be read as npz"),
    "pickled vectors": ({"words": _WORDS, "vectors": _VECTORS.astype(object)}, "cannot be read as npz"),
    "words as bytes": ({"words": _WORDS.astype("S"), "vectors": _VECTORS}, "`words` is an array of |S3"),
    "words as a table": ({"words": _WORDS[:, None], "vectors": _VECTORS}, "`words` is an array of"),
    "vectors in a row": (
        {"words": _WORDS, "vectors": np.ones(2)},
        "`vectors` is an array of float64 with shape (2,)",
    ),
    "vectors of no size": ({"words": _WORDS, "vectors": np.ones((2, 0))}, "with shape (2, 0)"),
    "vectors of texts": (
        {"words": _WORDS, "vectors": np.array([["1"], ["2"]])},
        "`vectors` is an array of <U1",
    ),
    "too many vectors": ({"words": _WORDS, "vectors": np.eye(3)}, "2 words, but 3 vectors"),
    "vectors with NaN": (
        {"words": _WORDS, "vectors": _VECTORS * np.nan},
        "holds numbers that are not finite",
    ),
    "an npz of no words": ({"words": _WORDS[:0], "vectors": _VECTORS[:0]}, "the table is empty"),
}
_ARCHIVES = {
    "a truncated npz": (_npz(words=_WORDS, vectors=_VECTORS)[:-30], "cannot be read as npz"),
    "a corrupt npz": (_corrupt_deflate(), "cannot be read as npz"),
    "an npz whose members are no arrays": (_zip(words=b"cat", vectors=b"1 2"), "`words` is"),
}
_TEXTS = {
    "an empty table": (b"", "the table is empty; give at least one word", None),
    "a header and no more": (b"2 3\n", "the table is empty", None),
    "bad UTF-8": (b"cat 1 2\n\xff 1 2\n", "not UTF-8; save the table as UTF-8", 2),
    "a word without numbers": (b"cat\n", "not a word and its numbers; give GloVe text or npz", 1),
    "too few numbers": (b"cat 1 2 3\ndog 1 2\n", "not a word and 3 numbers", 2),
    "a number that is none": (b"cat 1 2\ndog 1 x\n", "not a word and 2 numbers", 2),
    "numbers without a word": (b"cat 1 2\n1 2\n", "not a word and 2 numbers", 2),
    "a number that is not finite": (b"cat 1 2\ndog 1 inf\n", "not a word and 2 numbers", 2),
}

MALFORMED_TABLES = [
    *[Malformed(name, _npz(**arrays), says, None, "table.npz") for name, (arrays, says) in _ARRAYS.items()],
    *[Malformed(name, content, says, None, "table.npz") for name, (content, says) in _ARCHIVES.items()],
    *[Malformed(name, content, says, line, "table.txt") for name, (content, says, line) in _TEXTS.items()],
]


def each(cases: list[Malformed]) -> pytest.MarkDecorator:
    """One test per case, under the case's name."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)
