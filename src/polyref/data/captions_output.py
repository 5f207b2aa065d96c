"""Write captions as COCO has them, and as Karpathy's splits have them.

In:   records. Out: one JSON document, an image or a caption a line; other keys stand in the image or in the caption.
Not:  reading (captions.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, BinaryIO

from polyref.data.captions import ANNOTATION_IDS, IMAGE_NUMBER, SENTENCE_IDS
from polyref.data.jsonl import LATTICE, PSEUDO_REFERENCES, Fields
from polyref.data.losses import Losses
from polyref.data.output import open_output
from polyref.data.parts import Parts, ReferencePart, Shape, Spool, as_json
from polyref.errors import OutputError
from polyref.text import TextSettings, tokenize

_WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_TOKENS = TextSettings()
Member = tuple[str, str]  # a key, and its value as JSON


def write_coco(spool: Spool, shape: Shape, path: str, losses: Losses) -> list[str]:
    """Write the file; what comes back is its name."""
    _check_ids(shape, "COCO")
    own_ids = _has_own_ids(spool, shape, ANNOTATION_IDS)
    _count_losses(shape, losses, spool.fields, {"id", "source"})
    with open_output(path) as stream:
        stream.write(b'{"info": {}, "licenses": [], "type": "captions", "images": [\n')
        _lines(stream, (_coco_image(parts, n, spool.fields) for n, parts in enumerate(spool.parts(), 1)))
        stream.write(b'\n], "annotations": [\n')
        _lines(stream, _annotations(spool, own_ids))
        stream.write(b"\n]}\n")
    return [path]


def write_karpathy(spool: Spool, shape: Shape, path: str, losses: Losses) -> list[str]:
    """Write the file; what comes back is its name."""
    _check_ids(shape, "Karpathy JSON")
    own_ids = _has_own_ids(spool, shape, SENTENCE_IDS)
    own_numbers = shape.more_kinds.get(IMAGE_NUMBER) == {"int"} and shape.more[IMAGE_NUMBER] == shape.examples
    _count_losses(shape, losses, spool.fields, {"id", "source", "sentences"})
    with open_output(path) as stream:
        stream.write(b'{"dataset": "polyref", "images": [\n')
        _lines(stream, _karpathy_images(spool, own_ids, own_numbers))
        stream.write(b"\n]}\n")
    return [path]


def _check_ids(shape: Shape, format: str) -> None:
    if 0 < shape.ids < shape.examples:
        without = shape.examples - shape.ids
        problem = f"{without:,} of {shape.examples:,} examples have no id, which {format} needs"
        raise OutputError(f"{problem}; give all of them one, or none")


def _has_own_ids(spool: Spool, shape: Shape, key: str) -> bool:
    """Whether every example brings an id for each of its references, no id twice; else they are counted."""
    if shape.more.get(key) != shape.examples:
        return False
    seen: set[int] = set()
    for parts in spool.parts():
        ids = json.loads(parts.more[key])
        if not isinstance(ids, list) or len(ids) != len(parts.references):
            return False
        if any(isinstance(id, bool) or not isinstance(id, int) for id in ids):
            return False
        if len(set(ids)) < len(ids) or not seen.isdisjoint(ids):
            return False
        seen.update(ids)
    return True


def _count_losses(shape: Shape, losses: Losses, fields: Fields, taken: set[str]) -> None:
    for key, number in shape.more.items():
        if key in taken - {fields.id, fields.source}:
            losses.add(f'values of the key "{key}"', number)
    for key, number in shape.of_reference.items():
        if key in _OF_CAPTION:
            losses.add(f'values of the key "{key}" of references', number)


_OF_CAPTION = ("id", "image_id", "caption", "raw", "tokens", IMAGE_NUMBER, "sentid")


def _lines(stream: BinaryIO, objects: Iterable[Sequence[Member]]) -> None:
    for number, object in enumerate(objects):
        text = ", ".join([f"{json.dumps(key)}: {value}" for key, value in object])
        stream.write(f"{',' if number else ''}{chr(10) if number else ''}{{{text}}}".encode())


# -- COCO -----------------------------------------------------------------------------------------------------------


def _coco_id(parts: Parts, number: int) -> str:
    """The id as JSON: a whole number where it is one, as the programs that read COCO expect."""
    id: Any = number if parts.id is None else parts.id
    if isinstance(id, str) and _WHOLE_NUMBER.fullmatch(id):
        return id
    return json.dumps(id, ensure_ascii=False)


def _coco_image(parts: Parts, number: int, fields: Fields) -> list[Member]:
    id = _coco_id(parts, number)
    image = [("id", id)]
    if parts.source_json is not None and parts.source_json != id:
        image.append(("source", parts.source_json))
    skipped = {"id", "source", ANNOTATION_IDS}
    return [*image, *[item for item in parts.more.items() if item[0] not in skipped], *_result(parts)]


def _annotations(spool: Spool, own_ids: bool) -> Iterator[list[Member]]:
    running = count(1)
    for number, parts in enumerate(spool.parts(), 1):
        image_id = _coco_id(parts, number)
        ids = json.loads(parts.more[ANNOTATION_IDS]) if own_ids else [next(running) for _ in parts.references]
        for id, reference in zip(ids, parts.references, strict=True):
            text = json.dumps(reference.text, ensure_ascii=False)
            yield [("id", str(id)), ("image_id", image_id), ("caption", text), *_more(reference)]


# -- Karpathy -------------------------------------------------------------------------------------------------------


def _karpathy_images(spool: Spool, own_ids: bool, own_numbers: bool) -> Iterator[list[Member]]:
    running = count(0)
    for place, parts in enumerate(spool.parts()):
        number = parts.more[IMAGE_NUMBER] if own_numbers else str(place)
        ids = json.loads(parts.more[SENTENCE_IDS]) if own_ids else [next(running) for _ in parts.references]
        id = json.dumps(place + 1 if parts.id is None else parts.id, ensure_ascii=False)
        image = [] if id == parts.more.get("cocoid", number) else [("id", id)]
        if parts.source_json is not None and parts.source_json != id:
            image.append(("source", parts.source_json))
        skipped = {"id", "source", "sentences", SENTENCE_IDS, IMAGE_NUMBER}
        image += [item for item in parts.more.items() if item[0] not in skipped]
        sentences = [_sentence(reference, number, id) for id, reference in zip(ids, parts.references, strict=True)]
        yield [
            *image,
            (IMAGE_NUMBER, number),
            (SENTENCE_IDS, json.dumps(ids)),
            ("sentences", f"[{', '.join(sentences)}]"),
            *_result(parts),
        ]


def _sentence(reference: ReferencePart, number: str, id: int) -> str:
    # As Karpathy's tokens are: small letters, and no punctuation.
    words = [word for word in tokenize(reference.text, _TOKENS).words if any(map(str.isalnum, word))]
    members = [
        ("tokens", json.dumps(words, ensure_ascii=False)),
        ("raw", json.dumps(reference.text, ensure_ascii=False)),
        (IMAGE_NUMBER, number),
        ("sentid", str(id)),
        *_more(reference),
    ]
    return f"{{{', '.join([f'{json.dumps(key)}: {value}' for key, value in members])}}}"


# -- both -----------------------------------------------------------------------------------------------------------


def _more(reference: ReferencePart) -> list[Member]:
    """What else is said about a reference."""
    weight = [("weight", json.dumps(reference.weight))] if reference.weight != 1.0 else []
    return weight + [item for item in reference.more.items() if item[0] not in _OF_CAPTION]


def _result(parts: Parts) -> list[Member]:
    """The pseudo-references stand in the image, where no program takes them for captions that people wrote."""
    pseudo = [(PSEUDO_REFERENCES, as_json(parts.pseudo))] if parts.pseudo else []
    return pseudo + ([(LATTICE, as_json(parts.lattice))] if parts.lattice is not None else [])
