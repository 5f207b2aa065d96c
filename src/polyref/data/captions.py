"""Read captions as COCO has them, and as Karpathy's splits have them.

In:   one JSON document. COCO: "images", and "annotations" with "image_id" and "caption". Karpathy: "images", each with
      "sentences", of which "raw" is the text.
Out:  a record an image, numbered by its place; its other keys pass through.
Not:  writing (captions_output.py).

A document is read as a whole: memory grows with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Literal, NoReturn

from polyref.data.assemble import record_line
from polyref.data.jsonl import Fields
from polyref.data.lines import Line
from polyref.data.losses import Losses
from polyref.data.opening import Opened
from polyref.errors import InputError

ANNOTATION_IDS = "annotation_ids"
SENTENCE_IDS = "sentids"
IMAGE_NUMBER = "imgid"
_EMPTY: tuple[Any, ...] = (None, [], {}, "")


def read_captions(
    opened: Opened, fields: Fields, losses: Losses, format: Literal["coco", "karpathy"] | None = None
) -> Iterator[Line]:
    """The records of a document; without a `format`, the document itself tells which it is."""
    name = opened.name
    document = _document(opened)
    images = _objects(document, "images", name)
    if format is None:
        format = "coco" if "annotations" in document else "karpathy"
    for key, value in document.items():
        if key not in ("images", "annotations", "dataset", "type") and value not in _EMPTY:
            losses.add(f'top-level keys ("{key}")')
    captions = _coco(document, images, name) if format == "coco" else _karpathy(images, losses, name)
    size = opened.position()
    bare = 0
    for place, (image, references) in enumerate(zip(images, captions, strict=True), 1):
        if not references:
            bare += 1
            continue
        yield Line(place, _record(image, references, fields, losses), size * place // len(images))
    losses.add("images without a caption", bare)
    if bare == len(images):
        raise InputError("no image has a caption", "give at least one", file=name)


def _document(opened: Opened) -> dict[str, Any]:
    try:
        document = json.loads(opened.all().decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start + 1}", "save it as UTF-8", file=opened.name) from None
    except json.JSONDecodeError as error:
        problem = f"broken JSON: {error.msg} at column {error.colno}"
        raise InputError(problem, "is the file complete?", file=opened.name, line=error.lineno) from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply", "give COCO or Karpathy JSON", file=opened.name) from None
    except _ConstantError as error:
        raise InputError(f"broken JSON: {error} is no JSON value", "use null or a number", file=opened.name) from None
    except ValueError:  # Python's own limit on the digits of a whole number
        raise InputError("a number has too many digits", "write it as a text", file=opened.name) from None
    if not isinstance(document, dict):
        raise InputError("this is no JSON object", "give COCO or Karpathy JSON", file=opened.name)
    return document


class _ConstantError(Exception):
    """NaN or Infinity, which Python's reader would let pass."""


def _no_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _objects(document: dict[str, Any], key: str, name: str) -> list[dict[str, Any]]:
    found = document.get(key)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        problem = f'"{key}" is missing' if key not in document else f'"{key}" is no list of objects'
        raise InputError(problem, "give COCO or Karpathy JSON", file=name)
    if not found:
        raise InputError(f'"{key}" is empty', "give at least one", file=name)
    return found


# -- COCO -----------------------------------------------------------------------------------------------------------


def _coco(document: dict[str, Any], images: list[dict[str, Any]], name: str) -> list[list[Any]]:
    """The references of each image."""
    annotations = _objects(document, "annotations", name)
    places: dict[Any, int] = {}
    for place, image in enumerate(images):
        id = _id_of(image, ("id",), place, name)
        if id in places:
            problem = f"the image id {_shown(id)} comes twice (first at place {places[id] + 1})"
            raise InputError(problem, "give each image its own", file=name, line=place + 1)
        places[id] = place
    found: list[list[Any]] = [[] for _ in images]
    ids: list[list[Any]] = [[] for _ in images]
    for number, annotation in enumerate(annotations, 1):
        image_id = annotation.get("image_id")
        if isinstance(image_id, bool) or not isinstance(image_id, str | int) or image_id not in places:
            problem = f"caption {number} is for the image id {_shown(image_id)}, which no image has"
            raise InputError(problem, 'add the image to "images", or take the caption out', file=name)
        if not isinstance(annotation.get("caption"), str):
            raise InputError(f'caption {number} has no text in "caption"', "give a text", file=name)
        place = places[image_id]
        more = {key: value for key, value in annotation.items() if key not in ("id", "image_id", "caption")}
        text = annotation["caption"]
        found[place].append({"text": text, **more} if more else text)
        ids[place].append(annotation.get("id"))
    _keep_ids(images, ids, ANNOTATION_IDS, first=1)
    return found


def _keep_ids(images: list[dict[str, Any]], ids: list[list[Any]], key: str, *, first: int) -> None:
    """Put the ids of captions beside them, unless they only count: then they are made anew on writing."""
    running = count(first)
    if all(id == next(running) for image in ids for id in image):
        for image in images:
            image.pop(key, None)
        return
    for image, of_image in zip(images, ids, strict=True):
        image[key] = of_image


# -- Karpathy -------------------------------------------------------------------------------------------------------


def _karpathy(images: list[dict[str, Any]], losses: Losses, name: str) -> list[list[Any]]:
    """The references of each image."""
    found: list[list[Any]] = []
    ids: list[list[Any]] = []
    for place, image in enumerate(images):
        _id_of(image, ("id", "cocoid", IMAGE_NUMBER), place, name)
        sentences = image.pop("sentences", None)
        if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
            problem = 'the file has no "annotations", and the image no list of "sentences"'
            raise InputError(problem, "give COCO or Karpathy JSON", file=name, line=place + 1)
        references: list[Any] = []
        for number, sentence in enumerate(sentences, 1):
            if not isinstance(sentence.get("raw"), str):
                problem = f'sentence {number} has no text in "raw"'
                raise InputError(problem, "give a text", file=name, line=place + 1)
            losses.add("lists of tokens (made anew on writing)", "tokens" in sentence)
            known = ("raw", "tokens", IMAGE_NUMBER, "sentid")
            more = {key: value for key, value in sentence.items() if key not in known}
            references.append({"text": sentence["raw"], **more} if more else sentence["raw"])
        found.append(references)
        ids.append([sentence.get("sentid") for sentence in sentences])
    _keep_ids(images, ids, SENTENCE_IDS, first=0)
    if all(image.get(IMAGE_NUMBER) == place for place, image in enumerate(images)):
        for image in images:
            image.setdefault("id", image.get("cocoid", image[IMAGE_NUMBER]))
            del image[IMAGE_NUMBER]
    return found


# -- both -----------------------------------------------------------------------------------------------------------


def _id_of(image: dict[str, Any], keys: tuple[str, ...], place: int, name: str) -> Any:
    id = next((image[key] for key in keys if image.get(key) is not None), None)
    if isinstance(id, bool) or not isinstance(id, str | int):
        problem = f'the image has no "{keys[0]}"' if id is None else f'the "{keys[0]}" of the image is {_shown(id)}'
        raise InputError(problem, "give a text or a whole number", file=name, line=place + 1)
    return id


def _shown(id: Any) -> str:
    return json.dumps(id)[:80]


def _record(image: dict[str, Any], references: list[Any], fields: Fields, losses: Losses) -> bytes:
    """An image as a record; where it has a key that a field is named after, that is the field's."""
    id_key = next(key for key in (fields.id, "id", "cocoid", IMAGE_NUMBER) if image.get(key) is not None)
    source_key = next((key for key in (fields.source, "source") if key in image), id_key)
    record: dict[str, Any] = {
        fields.id: image[id_key],
        fields.source: image[source_key],
        fields.references: references,
    }
    if fields.references in image:
        losses.add(f'values of the key "{fields.references}"')
    used = {source_key, id_key} & {"id", "source"}  # the others are keys of their own as well
    for key, value in image.items():
        if key not in used and key not in record:
            record[key] = value
    return record_line(record)
