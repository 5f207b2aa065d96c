"""Captions as COCO has them, and as Karpathy's splits have them.

In:   one JSON document. COCO: "images", and "annotations" with "image_id" and "caption". Karpathy: "images", each with
      "sentences", of which "raw" is the text.
Out:  one record per image, numbered by its place; its other keys pass through. And the way back: other keys stand in
      the image or in the caption.
Not:  what a record means (jsonl.py).

A document is read as a whole: memory grows with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, BinaryIO, Literal

from polyref.data.formats.documents import first_members
from polyref.data.formats.format import FileFormat, Losses, Parts, Reading, ReferencePart, Spool, as_json
from polyref.data.formats.jsonl import LATTICE, PSEUDO_REFERENCES, Fields, dump, json_of, record_line
from polyref.data.opening import HEAD_BYTES, Line, open_output
from polyref.text import TextSettings, tokenize

ANNOTATION_IDS = "annotation_ids"
SENTENCE_IDS = "sentids"
IMAGE_NUMBER = "imgid"
_OF_CAPTION = ("id", "image_id", "caption", "raw", "tokens", IMAGE_NUMBER, "sentid")
_GIVE = "give COCO or Karpathy JSON"
_EMPTY: tuple[Any, ...] = (None, [], {}, "")
_TOKENS = TextSettings()
_WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
Member = tuple[str, str]  # a key, and its value as JSON


def is_captions(reading: Reading) -> bool:
    """Whether this is one JSON document of images and captions, of either kind, rather than one record per line."""
    if not reading.file.first.startswith(b"{"):
        return False
    text = reading.file.look(HEAD_BYTES).decode("utf-8", "replace")
    is_list = {key: mark.startswith("[") for key, mark, _ in first_members(text)}
    return reading.fields.references not in is_list and any(is_list.get(key) for key in ("images", "annotations"))


# -- reading --------------------------------------------------------------------------------------------------------


def read_captions(reading: Reading, format: Literal["coco", "karpathy"]) -> Iterator[Line]:
    """The records of a document. What is taken for COCO and has no "annotations" is read as Karpathy's."""
    opened, losses = reading.file, reading.losses
    document = json_of(opened.text(), opened.name, cure="is the file complete?")
    if not isinstance(document, dict):
        raise reading.wrong("this is not a JSON object", _GIVE)
    images = _objects(document, "images", reading)
    for key, value in document.items():
        if key not in ("images", "annotations", "dataset", "type") and value not in _EMPTY:
            losses.add(f'top-level keys ("{key}")')
    is_coco = format == "coco" and "annotations" in document
    captions = _coco(document, images, reading) if is_coco else _karpathy(images, reading)
    size = opened.position()
    bare = 0
    for place, (image, references) in enumerate(zip(images, captions, strict=True), 1):
        if not references:
            bare += 1
            continue
        yield Line(place, _record(image, references, reading.fields, losses), size * place // len(images))
    losses.add("images without a caption", bare)
    if bare == len(images):
        raise reading.wrong("no image has a caption", "give at least one")


def _objects(document: dict[str, Any], key: str, reading: Reading) -> list[dict[str, Any]]:
    found = document.get(key)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        problem = f'"{key}" is missing' if key not in document else f'"{key}" is not a list of objects'
        raise reading.wrong(problem, _GIVE)
    if not found:
        raise reading.wrong(f'"{key}" is empty', "give at least one")
    return found


def _coco(document: dict[str, Any], images: list[dict[str, Any]], reading: Reading) -> list[list[Any]]:
    """The references of each image."""
    places: dict[Any, int] = {}
    for place, image in enumerate(images):
        id = _id_of(image, ("id",), place, reading)
        if id in places:
            problem = f"the image id {dump(id)[:80]} comes twice (first at place {places[id] + 1})"
            raise reading.wrong(problem, "give each image its own", place + 1)
        places[id] = place
    found: list[list[Any]] = [[] for _ in images]
    ids: list[list[Any]] = [[] for _ in images]
    for number, annotation in enumerate(_objects(document, "annotations", reading), 1):
        image_id = annotation.get("image_id")
        if isinstance(image_id, bool) or not isinstance(image_id, str | int) or image_id not in places:
            problem = f"caption {number} is for the image id {dump(image_id)[:80]}, which no image has"
            raise reading.wrong(problem, 'add the image to "images", or take the caption out')
        if not isinstance(annotation.get("caption"), str):
            raise reading.wrong(f'caption {number} has no string in "caption"', "give one")
        place = places[image_id]
        found[place].append(_reference(annotation, "caption", ("id", "image_id")))
        ids[place].append(annotation.get("id"))
    _keep_ids(images, ids, ANNOTATION_IDS, first=1)
    return found


def _karpathy(images: list[dict[str, Any]], reading: Reading) -> list[list[Any]]:
    """The references of each image."""
    found: list[list[Any]] = []
    ids: list[list[Any]] = []
    for place, image in enumerate(images):
        _id_of(image, ("id", "cocoid", IMAGE_NUMBER), place, reading)
        sentences = image.pop("sentences", None)
        if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
            problem = 'the file has no "annotations", and the image no list of "sentences"'
            raise reading.wrong(problem, _GIVE, place + 1)
        for number, sentence in enumerate(sentences, 1):
            if not isinstance(sentence.get("raw"), str):
                raise reading.wrong(f'sentence {number} has no string in "raw"', "give one", place + 1)
            reading.losses.add("lists of tokens (made anew on writing)", "tokens" in sentence)
        found.append([_reference(sentence, "raw", ("tokens", IMAGE_NUMBER, "sentid")) for sentence in sentences])
        ids.append([sentence.get("sentid") for sentence in sentences])
    _keep_ids(images, ids, SENTENCE_IDS, first=0)
    if all(image.get(IMAGE_NUMBER) == place for place, image in enumerate(images)):
        for image in images:
            image.setdefault("id", image.get("cocoid", image[IMAGE_NUMBER]))
            del image[IMAGE_NUMBER]
    return found


def _reference(caption: dict[str, Any], text: str, known: tuple[str, ...]) -> Any:
    """A caption as a reference: what is not known about it stays beside its text."""
    more = {key: value for key, value in caption.items() if key != text and key not in known}
    return {"text": caption[text], **more} if more else caption[text]


def _keep_ids(images: list[dict[str, Any]], ids: list[list[Any]], key: str, *, first: int) -> None:
    """Put the ids of captions beside them, unless they only count: then they are made anew on writing."""
    running = count(first)
    if all(id == next(running) for image in ids for id in image):
        for image in images:
            image.pop(key, None)
        return
    for image, of_image in zip(images, ids, strict=True):
        image[key] = of_image


def _id_of(image: dict[str, Any], keys: tuple[str, ...], place: int, reading: Reading) -> Any:
    id = next((image[key] for key in keys if image.get(key) is not None), None)
    if isinstance(id, bool) or not isinstance(id, str | int):
        problem = f'the image has no "{keys[0]}"' if id is None else f'the "{keys[0]}" of the image is {dump(id)[:80]}'
        raise reading.wrong(problem, "give a string or a whole number", place + 1)
    return id


def _record(image: dict[str, Any], references: list[Any], fields: Fields, losses: Losses) -> bytes:
    """An image as a record; where it has a key that a field is named after, that is the field's."""
    id_key = next(key for key in (fields.id, "id", "cocoid", IMAGE_NUMBER) if image.get(key) is not None)
    source_key = next((key for key in (fields.source, "source") if key in image), id_key)
    record = {fields.id: image[id_key], fields.source: image[source_key], fields.references: references}
    if fields.references in image:
        losses.add(f'values of the key "{fields.references}"')
    used = {source_key, id_key} & {"id", "source"}  # the others are keys of their own as well
    return record_line(record | {key: value for key, value in image.items() if key not in used and key not in record})


# -- writing --------------------------------------------------------------------------------------------------------


def write_coco(spool: Spool) -> None:
    spool.shape.check_ids("COCO")
    own_ids = _has_own_ids(spool, ANNOTATION_IDS)
    _count_losses(spool, {"id", "source"})
    with open_output(spool.path) as stream:
        stream.write(b'{"info": {}, "licenses": [], "type": "captions", "images": [\n')
        _write_lines(stream, map(_coco_image, spool.parts()))
        stream.write(b'\n], "annotations": [\n')
        _write_lines(stream, _annotations(spool, own_ids))
        stream.write(b"\n]}\n")


def write_karpathy(spool: Spool) -> None:
    shape = spool.shape
    shape.check_ids("Karpathy JSON")
    own_ids = _has_own_ids(spool, SENTENCE_IDS)
    own_numbers = shape.more_kinds.get(IMAGE_NUMBER) == {"int"} and shape.more[IMAGE_NUMBER] == shape.examples
    _count_losses(spool, {"id", "source", "sentences"})
    with open_output(spool.path) as stream:
        stream.write(b'{"dataset": "polyref", "images": [\n')
        _write_lines(stream, _karpathy_images(spool, own_ids, own_numbers))
        stream.write(b"\n]}\n")


def _has_own_ids(spool: Spool, key: str) -> bool:
    """Whether every example brings an id for each of its references, no id twice; else they are counted."""
    if spool.shape.more.get(key) != spool.shape.examples:
        return False
    seen: set[int] = set()
    for parts in spool.parts():
        ids = json.loads(parts.more[key])
        if not isinstance(ids, list) or len(ids) != len(parts.references) or not all(type(id) is int for id in ids):
            return False
        if len(set(ids)) < len(ids) or not seen.isdisjoint(ids):
            return False
        seen.update(ids)
    return True


def _count_losses(spool: Spool, taken: set[str]) -> None:
    for key, number in spool.shape.more.items():
        if key in taken - {spool.fields.id, spool.fields.source}:
            spool.losses.add(f'values of the key "{key}"', number)
    for key, number in spool.shape.of_reference.items():
        if key in _OF_CAPTION:
            spool.losses.add(f'values of the key "{key}" of references', number)


def _write_lines(stream: BinaryIO, objects: Iterable[Sequence[Member]]) -> None:
    for number, members in enumerate(objects):
        stream.write(((",\n" if number else "") + _object(members)).encode())


def _object(members: Iterable[Member]) -> str:
    return f"{{{', '.join([f'{json.dumps(key)}: {value}' for key, value in members])}}}"


def _coco_id(parts: Parts) -> str:
    """The id as JSON: a whole number where it is one, as the programs that read COCO expect."""
    id = parts.name
    return id if isinstance(id, str) and _WHOLE_NUMBER.fullmatch(id) else dump(id)


def _coco_image(parts: Parts) -> list[Member]:
    id = _coco_id(parts)
    return [("id", id), *_image(parts, id, {ANNOTATION_IDS}), *_result(parts)]


def _annotations(spool: Spool, own_ids: bool) -> Iterator[list[Member]]:
    running = count(1)
    for parts in spool.parts():
        image_id = _coco_id(parts)
        ids = json.loads(parts.more[ANNOTATION_IDS]) if own_ids else [next(running) for _ in parts.references]
        for id, reference in zip(ids, parts.references, strict=True):
            yield [("id", str(id)), ("image_id", image_id), ("caption", dump(reference.text)), *_more(reference)]


def _karpathy_images(spool: Spool, own_ids: bool, own_numbers: bool) -> Iterator[list[Member]]:
    running = count(0)
    for place, parts in enumerate(spool.parts()):
        number = parts.more[IMAGE_NUMBER] if own_numbers else str(place)
        ids = json.loads(parts.more[SENTENCE_IDS]) if own_ids else [next(running) for _ in parts.references]
        id = dump(parts.name)
        sentences = [_sentence(reference, number, id) for id, reference in zip(ids, parts.references, strict=True)]
        yield [
            *([] if id == parts.more.get("cocoid", number) else [("id", id)]),
            *_image(parts, id, {"sentences", SENTENCE_IDS, IMAGE_NUMBER}),
            (IMAGE_NUMBER, number),
            (SENTENCE_IDS, json.dumps(ids)),
            ("sentences", f"[{', '.join(sentences)}]"),
            *_result(parts),
        ]


def _sentence(reference: ReferencePart, number: str, id: int) -> str:
    # As Karpathy's tokens are: small letters, and no punctuation.
    words = [word for word in tokenize(reference.text, _TOKENS).words if any(map(str.isalnum, word))]
    known = [("tokens", dump(words)), ("raw", dump(reference.text)), (IMAGE_NUMBER, number), ("sentid", str(id))]
    return _object([*known, *_more(reference)])


def _image(parts: Parts, id: str, skipped: set[str]) -> list[Member]:
    """The source of an image where it is not its id, and its other keys."""
    source = [("source", parts.source_json)] if parts.source_json is not None and parts.source_json != id else []
    return source + [item for item in parts.more.items() if item[0] not in skipped | {"id", "source"}]


def _more(reference: ReferencePart) -> list[Member]:
    """What else is said about a reference."""
    weight = [("weight", json.dumps(reference.weight))] if reference.weight != 1.0 else []
    return weight + [item for item in reference.more.items() if item[0] not in _OF_CAPTION]


def _result(parts: Parts) -> list[Member]:
    """The pseudo-references stand in the image, where no program takes them for captions that people wrote."""
    pseudo = [(PSEUDO_REFERENCES, as_json(parts.pseudo))] if parts.pseudo else []
    return pseudo + ([(LATTICE, as_json(parts.lattice))] if parts.lattice is not None else [])


COCO = FileFormat((".json",), partial(read_captions, format="coco"), write_coco, is_captions)
# Its documents look like COCO's until they have been read; its name is given where it is written.
KARPATHY = FileFormat((), partial(read_captions, format="karpathy"), write_karpathy)
