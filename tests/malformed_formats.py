"""Every way in which a file of another format than JSON Lines can be wrong, with what the message must say about it.

The tests of data/ read each of these files.
"""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pyarrow
import pyarrow.parquet
import zstandard
from malformed import Malformed


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


def twice_named() -> bytes:
    stream = io.BytesIO()
    column = pyarrow.array(["a"])
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays([column, column], ["source", "source"]), stream)
    return stream.getvalue()


def named_in_latin_1(**columns: Any) -> bytes:
    """A file in which the letters ZZZ of the columns' names are something else than UTF-8."""
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream, store_schema=False)
    return stream.getvalue().replace(b"ZZZ", b"Z\xffZ")


_GOOD = parquet(source=["s", "t"], references=[["a cat"], ["a dog"]])
_DAMAGED = _GOOD[:8] + bytes(byte ^ 0x55 for byte in _GOOD[8:60]) + _GOOD[60:]
_PARQUET = {
    "a Parquet without references": (
        parquet(source=["s"], notes=[["a"]]),
        'there is no column "references"; name another with references_field (the columns here: "source", "notes")',
        None,
    ),
    "a Parquet without source": (
        parquet(fact=["s"], references=[["a"]]),
        'there is no column "source"; name another with source_field (the columns here: "fact", "references")',
        None,
    ),
    "references that are texts": (
        parquet(source=["s"], references=["a"]),
        '"references" is a string; give a list of strings',
        1,
    ),
    "references that are lists of numbers": (
        parquet(source=["s"], references=[[1, 2]]),
        "reference 1 is a number; give a string",
        1,
    ),
    "references that are lists of bytes": (
        parquet(source=["s"], references=[[b"a"]]),
        "binary>, which JSON cannot hold; give strings",
        None,
    ),
    "references that are structs without text": (
        parquet(source=["s"], references=[[{"caption": "a"}]]),
        'reference 1 has no "text"; write {"text": "...", "weight": 2.0}',
        1,
    ),
    "a Parquet with a column that is named in Latin-1": (
        named_in_latin_1(source=["s"], references=[["a"]], ZZZ=["x"]),
        "the name of a column is not UTF-8; make the file again with another name",
        None,
    ),
    "a Parquet with a nested column that is named in Latin-1": (
        named_in_latin_1(source=["s"], references=[[{"text": "a", "ZZZ": "x"}]]),
        "the name of a column is not UTF-8",
        None,
    ),
    "a Parquet with a column twice": (twice_named(), 'the column "source" comes twice', None),
    "a Parquet without rows": (
        parquet(source=pyarrow.array([], "string"), references=pyarrow.array([], pyarrow.list_(pyarrow.string()))),
        "the file has no rows; give at least one",
        None,
    ),
    "a row without references": (
        parquet(source=["s", "t"], references=[["a"], []]),
        '"references" is empty; give at least one',
        2,
    ),
    "a row whose references are null": (
        parquet(source=["s", "t"], references=[["a"], None]),
        '"references" is missing',
        2,
    ),
    "a reference that is null": (parquet(source=["s"], references=[["a", None]]), "reference 2 is null", 1),
    "a blank reference": (parquet(source=["s"], references=[["a", " "]]), "reference 2 is blank", 1),
    "a row whose source is null": (parquet(source=["s", None], references=[["a"], ["b"]]), '"source" is missing', 2),
    "a fluency above 0": (
        parquet(source=["s"], references=[["a"]], pseudo_references=[[{"text": "b", "bleu": 1.0, "fluency": 0.5}]]),
        'the "fluency" of pseudo-reference 1 is 0.5; give a finite number that is at most 0',
        1,
    ),
    "crossings that are not whole": (
        parquet(source=["s"], references=[["a"]], pseudo_references=[[{"text": "b", "bleu": 1.0, "crossings": 0.5}]]),
        'the "crossings" of pseudo-reference 1 is 0.5; give a whole number from 0 on',
        1,
    ),
    "an id twice": (
        parquet(id=[7, 8, 7], source=["s"] * 3, references=[["a"]] * 3),
        'the id "7" comes twice (first on line 1)',
        3,
    ),
    "a column of JSON that is none": (
        parquet(**{"source:json": ["{"], "references": [["a"]]}),
        '"source:json" is not JSON; a column whose name ends in ":json" must hold JSON',
        1,
    ),
    "a column of JSON with more behind it": (
        parquet(**{"source": ["s"], "x:json": ['1, "references": ["b"]'], "references": [["a"]]}),
        '"x:json" is not JSON',
        1,
    ),
    "a truncated Parquet": (_GOOD[:-20], "cannot be read as Parquet (", None),
    "a Parquet of its first bytes only": (b"PAR1", "cannot be read as Parquet (", None),
    "a damaged Parquet": (_DAMAGED, "cannot be read as Parquet (", None),
    "a Parquet in gzip": (
        gzip.compress(_GOOD),
        "Parquet cannot be read from inside gzip or zstd; decompress the file",
        None,
    ),
}


def coco(images: Any, annotations: Any, **more: Any) -> bytes:
    return json.dumps({"images": images, "annotations": annotations, **more}).encode()


_CAPTION = {"id": 1, "image_id": 1, "caption": "a cat"}
_COCO = {
    "a caption for an image that is not there": (
        coco([{"id": 1}], [_CAPTION, {"id": 2, "image_id": 99, "caption": "b"}]),
        'caption 2 is for the image id 99, which no image has; add the image to "images", or take the caption out',
        None,
    ),
    "a caption for the number as a text": (
        coco([{"id": 1}], [{**_CAPTION, "image_id": "1"}]),
        'caption 1 is for the image id "1", which no image has',
        None,
    ),
    "a caption for no image": (coco([{"id": 1}], [{"caption": "b"}]), "caption 1 is for the image id null", None),
    "a caption for a list": (coco([{"id": 1}], [{"image_id": [1]}]), "caption 1 is for the image id [1]", None),
    "a caption for true": (coco([{"id": 1}], [{"image_id": True}]), "caption 1 is for the image id true", None),
    "a caption without text": (coco([{"id": 1}], [{"image_id": 1}]), 'caption 1 has no string in "caption"', None),
    "a blank caption": (coco([{"id": 1}], [{**_CAPTION, "caption": " "}]), "reference 1 is blank", 1),
    "an image without id": (coco([{"file_name": "x"}], [_CAPTION]), 'the image has no "id"', 1),
    "an image whose id is a list": (coco([{"id": [1]}], [_CAPTION]), 'the "id" of the image is [1]', 1),
    "a key twice in an image": (
        coco([{"id": 1, "url": "u"}], [_CAPTION]).replace(b'"url"', b'"id"'),
        'the key "id" comes twice in an object; keep one of the two',
        None,
    ),
    "an image id twice": (
        coco([{"id": 1}, {"id": 2}, {"id": 1}], [_CAPTION]),
        "the image id 1 comes twice (first at place 1); give each image its own",
        3,
    ),
    "an image id as a number and as a text": (
        coco([{"id": 1}, {"id": "1"}], [_CAPTION, {**_CAPTION, "image_id": "1"}]),
        'the id "1" comes twice (first on line 1)',
        2,
    ),
    "images that are an object": (coco({}, [_CAPTION]), '"images" is not a list of objects', None),
    "images that are texts": (coco(["x.jpg"], [_CAPTION]), '"images" is not a list of objects', None),
    "no images": (b'{"annotations": [{}]}', '"images" is missing; give COCO or Karpathy JSON', None),
    "empty images": (coco([], [_CAPTION]), '"images" is empty', None),
    "empty annotations": (coco([{"id": 1}], []), '"annotations" is empty', None),
    "annotations that are texts": (coco([{"id": 1}], ["a cat"]), '"annotations" is not a list of objects', None),
    "neither annotations nor sentences": (
        b'{"images": [{"id": 1}]}',
        'the file has no "annotations", and the image no list of "sentences"; give COCO or Karpathy JSON',
        1,
    ),
    "sentences that are texts": (
        b'{"images": [{"imgid": 1, "sentences": ["a"]}]}',
        'and the image no list of "sentences"',
        1,
    ),
    "a sentence without raw": (
        b'{"images": [{"imgid": 1, "sentences": [{"raw": "a"}, {"tokens": []}]}]}',
        'sentence 2 has no string in "raw"; give one',
        1,
    ),
    "no sentence at all": (b'{"images": [{"imgid": 1, "sentences": []}]}', "no image has a caption", None),
    "a document that is cut off": (
        b'{"images": [\n{"id": 1}\n],\n"annotations": [{"id',
        "broken JSON: Unterminated string",
        4,
    ),
    "a document with NaN": (
        b'{"images": [{"id": 1, "x": NaN}],\n"annotations": []}',
        "broken JSON: NaN is not a JSON value",
        None,
    ),
    "a document with a number of 5,000 digits": (
        b'{"images": [{"id": ' + b"7" * 5000 + b"}],\n",
        "a number has too many digits; write it as a string",
        None,
    ),
    "a document that is not UTF-8": (b'{"images": [\n"\xff"]}', "not UTF-8 at byte 15; save the file as UTF-8", None),
    "a document nested too deeply": (
        b'{"images": [\n' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
        "the JSON is nested too deeply",
        None,
    ),
    "a document with half a surrogate pair": (
        b'{"images": [{"id": 1}],\n"annotations": [{"id": 1, "image_id": 1, "caption": "a \\ud83d"}]}',
        '"references" holds half a surrogate pair',
        1,
    ),
}

_CSV = {
    "a table without references": (
        b"id,source,note\n1,s,a\n",
        'there is no column "reference"; name another with references_field (the columns here: "id", "source", "note")',
        1,
    ),
    "a table without source": (b"id,fact,ref\n", 'there is no column "source"; name another with source_field', 1),
    "a column twice": (b"source,ref,ref\n", 'the column "ref" comes twice', 1),
    "a header only": (b"source,ref\n", "the table has no rows; give at least one", None),
    "a header of columns only": (b"source,ref0,ref1\n", "the table has no rows", None),
    "too few cells": (b"source,ref\ns,a\nt\n", "the row has 1 cell, but the header has 2; give every row as many", 3),
    "too many cells": (b"source,ref\ns,a,b\n", "the row has 3 cells, but the header has 2", 2),
    "a blank reference in a row": (b"source,ref\ns,a\ns, \n", "the reference is blank", 3),
    "all references blank": (b"source,ref0,ref1\ns,a,\nt, ,\n", "all references are blank; give at least one", 3),
    "a quote that is never closed": (b'source,ref\ns,"a\nt,b\n', "broken CSV: unexpected end of data", 2),
    "a quote that is closed too early": (b'source,ref\ns,"a" b\n', "broken CSV: ',' expected after '\"'", 2),
    "a weight that is no number": (b"source,ref,weight\ns,a,heavy\n", '"weight" is not a number; give one', 2),
    "a weight that is not finite": (b"source,ref,weight\ns,a,inf\n", '"weight" is not a number', 2),
    "a weight of zero": (b"source,ref,weight\ns,a,0\n", "the weight of reference 1 is 0", 2),
    "a score that is not a number": (b"source,ref,bleu\ns,a,\ns,b,good\n", '"bleu" is not a number', 3),
    "a score over 100": (b"source,ref,bleu\ns,a,\ns,b,101\n", 'the "bleu" of pseudo-reference 1 is not between', 2),
    "a fluency that is not a number": (b"source,ref,bleu,fluency\ns,a,,\ns,b,1,good\n", '"fluency" is not a number', 3),
    "a fluency that is not finite": (b"source,ref,bleu,fluency\ns,a,,\ns,b,1,-inf\n", '"fluency" is not a number', 3),
    "a fluency above 0": (
        b"source,ref,bleu,fluency\ns,a,,\ns,b,1,2\n",
        'the "fluency" of pseudo-reference 1 is 2.0; give a finite number that is at most 0',
        2,
    ),
    "a content above 1": (
        b"source,ref,bleu,content\ns,a,,\ns,b,1,2\n",
        'the "content" of pseudo-reference 1 is 2.0; give a number from 0 to 1',
        2,
    ),
    "crossings that are not whole": (
        b"source,ref,bleu,crossings\ns,a,,\ns,b,1,0.5\n",
        'the "crossings" of pseudo-reference 1 is 0.5; give a whole number from 0 on',
        2,
    ),
    "a risk that is not a number": (b"source,ref,bleu,risk\ns,a,,\ns,b,1,low\n", '"risk" is not a number', 3),
    "pseudo-references only": (b"source,ref,bleu\ns,a,50\n", "the example has pseudo-references only", 2),
    "a repeat that is neither": (
        b"source,ref,bleu,repeat\ns,a,,\ns,b,1,yes\n",
        '"repeat" is neither true nor false',
        3,
    ),
    "one id with two sources": (
        b"id,source,ref\n1,s,a\n1,t,b\n",
        'the source is not that of line 2, although "id" is the same; give each example its own id',
        3,
    ),
    "a cell of JSON that is none": (b"source:json,ref\n{,a\n", '"source:json" is not JSON', 2),
    "a table that is not UTF-8": (b"source,ref\ns,\xff\n", "not UTF-8 at byte 3 of the line", 2),
    "carriage returns alone": (b"source,ref\rs,a\rt,b\r", "broken CSV: new-line character seen in unquoted field", 1),
}
_TSV = {
    "a TSV without a header": (
        b"ein Hund\ta dog\n",
        'there is no column "reference"; name another with references_field (the columns here: "ein Hund", "a dog")',
        1,
    ),
    "a TSV row with a tab too many": (b"source\tref\ns\ta\tb\n", "the row has 3 cells, but the header has 2", 2),
    "a TSV with a blank reference": (b"source\tref\ns\t\n", "the reference is blank", 2),
    "a TSV of cells too long": (b"source\tref\n" + b"x" * 200, "the line is longer than 100 bytes", 2),
}

_SOURCES: dict[str, Any] = {"line": None, "file": "data.src"}
_PARALLEL = [
    Malformed(
        "unequal line counts",
        b"s\nt\nu\n",
        "data.ref1 has 1, ",
        others={"data.ref0": b"a\nb\nc\n", "data.ref1": b"a\n", "data.ref2": b"1\n2\n3\n4\n5\n"},
        **_SOURCES,
    ),
    Malformed("too few sources", b"s\n", "1 line, but ", others={"data.ref0": b"a\nb\nc\n"}, **_SOURCES),
    Malformed(
        "a line without any reference",
        b"s\nt\n",
        "line 2 is blank in every file of references; give at least one reference",
        others={"data.ref0": b"a\n\n", "data.ref1": b"b\n \n"},
        line=2,
        file="data.src",
    ),
    Malformed(
        "a gap among the files",
        b"s\n",
        "data.ref1 is missing, but ",
        others={"data.ref0": b"a\n", "data.ref2": b"a\n"},
        **_SOURCES,
    ),
    Malformed(
        "two files with one number",
        b"s\n",
        "data.ref0 is there too, with the same number; remove one of the two",
        others={"data.ref0": b"a\n", "data.ref0.gz": gzip.compress(b"a\n")},
        blamed="data.ref0.gz",
        **_SOURCES,
    ),
    Malformed("empty parallel text", b"", "the file is empty", others={"data.ref0": b""}, **_SOURCES),
    Malformed(
        "references that are not UTF-8",
        b"s\nt\n",
        "not UTF-8 at byte 1 of the line",
        others={"data.ref0": b"a\n\xff\n"},
        blamed="data.ref0",
        line=2,
        file="data.src",
    ),
    Malformed("sources alone", b"s\n", "there are no files of references; name them behind it", **_SOURCES),
    Malformed(
        "sources alone that are said to be parallel text",
        b"s\n",
        "there are no files of references; name them behind it",
        format="parallel",
        **_SOURCES,
    ),
]

_PACKED = zstandard.compress(b'{"source": 1, "references": ["a cat"]}\n' * 50)
_ZSTD = {
    "a truncated .zst": (_PACKED[:-3], "the zstd data ends too early; the file is cut off", None),
    "a .zst of its first bytes only": (_PACKED[:4], "the zstd data ends too early", None),
    "a .zst that is none": (b"{}", "the name ends in .zst, but this is not zstd data", None),
    "a damaged .zst": (
        _PACKED[:9] + bytes(byte ^ 0xFF for byte in _PACKED[9:16]) + _PACKED[16:],
        "the zstd data is broken (",
        None,
    ),
    "a .zst with something behind it": (_PACKED + b"more", "the zstd data is broken (", None),
    "an empty .zst": (zstandard.compress(b""), "the file is empty", None),
}


def _cases(table: dict[str, tuple[bytes, str, int | None]], file: str, **more: Any) -> list[Malformed]:
    return [Malformed(name, content, says, line, file, **more) for name, (content, says, line) in table.items()]


_PROSE = {
    "prose": (
        b"Hello, world\nhow are you\n",
        "this is neither JSON, nor Parquet, nor a table with a header, nor image#0, a tab and a caption; set format",
        None,
    ),
}

_ONE = b'[{"image": "a", "captions": ["x"]}'
_DOCUMENTS = {
    "an empty array": (b"[]", "the array is empty; give at least one record", 1),
    "an array of arrays": (b'[["a", "b"]]', "place 1 holds a list, not an object; give an array of objects", 1),
    "an array of many kinds": (_ONE + b", 3]", "place 2 holds a number, not an object", 2),
    "an array cut off behind a record": (_ONE, "the file ends where ',' or ']' should stand; is the file complete?", 1),
    "an array cut off in a record": (_ONE + b',\n{"image": "b', "broken JSON: Unterminated string starting", 2),
    "an array without a comma": (_ONE + b'\n{"image": "b"}]', "broken JSON: no ',' or ']' here", 2),
    "more behind an array": (_ONE + b"]\n{}", "something stands behind the end of the document", 2),
    "an array nested too deeply": (b"[" * 100_000, "the JSON is nested too deeply", 1),
    "an array that is not UTF-8": (_ONE + b',\xff"]', "not UTF-8 at byte 36; save the file as UTF-8", None),
    "a list by id with a number": (b'{"a.jpg": ["x", 3]}', "reference 2 is a number; give a string", 1),
    "an id with two lists": (b'{"a.jpg": ["x"], "a.jpg": ["y"]}', 'the id "a.jpg" comes twice', 2),
}
_FLICKR = {
    "a line without an image": (b"a.jpg#0\tx\nhello\n", "the line is not an image, # and a number, a tab and", 2),
    "a caption that is blank": (b"a.jpg#0\tx\na.jpg#1\t \n", "the caption is blank", 2),
}

MALFORMED_FILES = [
    *_cases(_DOCUMENTS, "array.json"),
    *_cases(_FLICKR, "captions.txt"),
    *_cases(_PROSE, "prose.txt"),
    *_cases(_PARQUET, "examples.parquet"),
    *_cases(_COCO, "captions.json"),
    *_cases(_CSV, "examples.csv"),
    *_cases(_TSV, "examples.tsv", max_line_bytes=100),
    *_PARALLEL,
    *_cases(_ZSTD, "examples.jsonl.zst"),
]
