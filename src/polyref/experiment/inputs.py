"""What a run reads: its files, looked for first; the expanded training set; the subwords.

In:   a recipe, or one of its stages.
Out:  the path of what is trained on; the subwords of sources and targets, kept in the folder of the run.
Not:  expanding (scale/), byte-pair encoding (text/subwords.py).
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from polyref.data import Input, ReadSettings, read, write
from polyref.data.corpus import Corpus
from polyref.data.opening import open_input
from polyref.encode import VectorSettings
from polyref.encode.opening import is_encoder
from polyref.errors import InputError, OutputError
from polyref.example import Example
from polyref.experiment.recipe import DataSection, Recipe, Stage
from polyref.features.features import Features
from polyref.feed import Stream, StreamSettings
from polyref.files import reading
from polyref.fit import fingerprint
from polyref.fit.checkpoint import has_checkpoint
from polyref.model.folder import TARGET, Vocabularies
from polyref.model.settings import KINDS
from polyref.remote import Place, path_at
from polyref.scale import Job, expand_file
from polyref.schedule import ScheduleSettings
from polyref.text.subwords import Subwords

_GONE = "there is no such file"
_KEEP = "expand it anew with keep_lattice, or set expand.per_example and expand.keep_lattice = true"
_AT_ONCE = 1 << 14
_log = logging.getLogger(__name__)


def check_files(recipe: Recipe) -> None:
    """Refuse a recipe that names a file which is not there. What a stage leaves to the next one need not be there."""
    for number, stage in enumerate(recipe.stages):
        for key, path, problem in _missing(stage, is_first=number == 0):
            where = f'stage "{stage.name}": {key}' if stage.name else key
            raise InputError(problem, "check the path", file=f"{where}: {path}")


def check_contents(recipe: Recipe) -> None:
    """Refuse what training would refuse only later: a bad record, images without features, a file as output."""
    check_files(recipe)
    for stage in recipe.stages:
        data, place = stage.data, Path(stage.run.output)
        while not os.path.lexists(place):
            place = place.parent
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
            problem = "is not a folder" if not place.is_dir() else "cannot be written to"
            raise OutputError(f"{stage.run.output}: {place} {problem}; give another output")
        features = Features.open(data.features, data.feature_ids or None) if data.features else None
        for path in dict.fromkeys(filter(None, (data.train, data.dev, data.test))):
            sources, wants = [], stage.wants_lattices if path == data.train and not stage.expands else ""
            for example in Input.of(path, ReadSettings(fields=data.fields)).examples():
                sources.append(example.source)
                if wants and (example.lattice is None or example.lattice.kept is None):
                    problem = f"has no kept lattice, which {wants} needs"
                    raise InputError(problem, _KEEP, file=path, line=example.line)
            if not sources:
                raise InputError("holds no examples", "give some", file=path)
            if features is not None:
                features.check([str(source) for source in sources], size=getattr(stage.model, "feature_size", None))


def _missing(stage: Stage, *, is_first: bool) -> Iterator[tuple[str, str, str]]:
    """Keys, what they name, and what is wrong with that."""
    data, subwords = stage.data, stage.subwords
    named = {"data.train": data.train, "data.dev": data.dev, "data.test": data.test}
    for key, path in {**named, "subwords.learn_from": subwords.learn_from}.items():
        if path and (problem := _unreadable(path)):
            yield key, path, problem
    for key in ("features", "feature_ids"):
        path = getattr(stage.data, key)
        if path and not Path(path).is_file():
            yield f"data.{key}", path, _GONE
    for key in ("encoder", "language_model"):
        name = getattr(stage.expand.tools, key)
        if name and not is_encoder(name):
            yield f"expand.{key}", name, f"there is no such {key.replace('_', ' ')}"
    if is_first and stage.run.init_from and not Path(stage.run.init_from).is_dir():
        yield "run.init_from", stage.run.init_from, "there is no such folder"


def _unreadable(path: str) -> str:
    """What keeps a data set from being opened. It may be several files of parallel text with one name."""
    try:
        for file in Input.of(path).files:
            if file != "-":
                with open_input(file):
                    pass
    except InputError as error:
        return error.problem
    return ""


# -- the training set -------------------------------------------------------------------------------------------------


def expanded(
    stage: Stage, folder: Path, before: Callable[[str], None] = lambda path: None, *, make: bool = True
) -> str:
    """The file to train on: the training set, or what it is expanded to, in a folder that stages and runs may share.

    A file takes its name when it is whole, and the name tells all that it was made from: what another stage has
    expanded, or a run that was stopped, is not expanded again. `before` is told of a file that must be made; without
    `make` none is made, and no path is given where one would be.
    """
    path = cut_down(stage, folder, make=make)
    fields, settings, tools = stage.data.fields, stage.expand.settings, stage.expand.tools
    if not stage.expands or not path:
        return path
    if settings.align.align == "hard":  # which asks no encoder
        tools = replace(tools, encoder=None, cache=None, vectors=VectorSettings())
    if not settings.reads:
        tools = replace(tools, language_model=None)
    files = Input.of(path).files
    stamps = [_stamp(path_at(file)) for file in files], _stamps(tools.encoder), _stamps(tools.language_model)
    # Neither the number of processes nor the engine changes the result.
    how = asdict(settings), asdict(tools.vectors), tools.encoder, tools.language_model, asdict(fields)
    output = folder / f"expanded-{fingerprint(how, path, stamps)}.jsonl"
    if output.exists():
        _log.info("%s: %s is used again", path, output)
    else:
        if not make:
            return ""
        before(path)
        _log.info("%s: expanded to %s", path, output)
        expand_file(Job(path, str(output), settings, ReadSettings(fields=fields), tools))
    return str(output)


def cut_down(stage: Stage, folder: Path, *, make: bool = True) -> str:
    """The training set, or a file in this folder with those of its examples and references that are wanted."""
    data = stage.data
    wanted = data.examples, data.references, data.at_least, data.at_most
    if wanted == (0, 0, 1, None):
        return data.train
    input = Input.of(data.train, ReadSettings(fields=data.fields))
    stamps = [_stamp(path_at(file)) for file in input.files]
    output = folder / f"taken-{fingerprint(wanted, data.train, stamps, asdict(data.fields))}.jsonl"
    if not output.exists():
        if not make:
            return ""
        most = data.at_most or math.inf
        found = [one for one in input.examples() if data.at_least <= len(one.references) <= most]
        if not found:
            problem = "no example has as many references as data.at_least and data.at_most ask for"
            raise InputError(problem, "change them", file=data.train)
        if data.examples:
            drawn = sorted(found, key=lambda one: hashlib.blake2b(one.id.encode(), digest_size=16).digest())
            names = {one.id for one in drawn[: data.examples]}
            found = [one for one in found if one.id in names]
        write((_with_fewer(one, data) for one in found), output, fields=data.fields)
    return str(output)


def _with_fewer(example: Example, data: DataSection) -> Example:
    """An example with those of its gold references that are wanted."""
    kept = example.references[: data.references or None]
    if len(kept) < len(example.references) and example.pseudo_references:
        problem = f"has pseudo-references made of more references than data.references = {data.references} keeps"
        raise InputError(problem, "name the data set before it was expanded", file=data.train, line=example.line)
    return replace(example, references=kept)


def _stamp(path: Place) -> tuple[str, int, int]:
    with reading(path):
        found = path.stat()
    return path.name, found.st_size, found.st_mtime_ns


def _stamps(name: str | None) -> list[tuple[str, int, int]]:
    """Of the files of an encoder that is in a folder: it may be trained anew under the same name."""
    place = Path((name or "").removeprefix("vectors:"))
    if not name or not place.exists():
        return []
    return [_stamp(path) for path in (sorted(place.iterdir()) if place.is_dir() else [place])]


# -- subwords ---------------------------------------------------------------------------------------------------------


def find_vocabularies(stage: Stage, folder: Path, corpus: Corpus) -> Vocabularies:
    """Those of the run in the folder if it has begun, of the model that it starts from, or new ones."""
    init_from = stage.run.init_from
    if has_checkpoint(folder):
        try:
            return Vocabularies.load(folder, stage.kind)
        except InputError as error:
            error.cure = f"put it back as it was, or delete {folder} to train from the start"
            raise
    if init_from and not (Path(init_from) / TARGET).exists():
        raise InputError(f"holds no {TARGET}", "name a model folder to start from", file=init_from)
    found = Vocabularies.load(Path(init_from), stage.kind) if init_from else _learned(stage, corpus)
    found.save(folder)
    return found


def _learned(stage: Stage, corpus: Corpus) -> Vocabularies:
    settings, folded = stage.subwords, str.lower if stage.data.fold_case else str
    if settings.learn_from:
        corpus = Corpus.of(read(settings.learn_from, stage.data.fields))
    references = map(folded, _references(corpus))
    if KINDS[stage.kind].reads_images:
        return Vocabularies(None, Subwords.learn(references, settings.target))
    sources = map(folded, texts_of(corpus, "sources"))
    if settings.joint:
        both = Subwords.learn(chain(sources, references), settings.target)
        return Vocabularies(both, both)
    return Vocabularies(Subwords.learn(sources, settings.source), Subwords.learn(references, settings.target))


def texts_of(corpus: Corpus, name: Literal["ids", "sources"]) -> Iterator[str]:
    """Those of all examples."""
    for first in range(0, len(corpus), _AT_ONCE):
        some = corpus.texts[name].many(np.arange(first, min(first + _AT_ONCE, len(corpus))))
        yield from (text.decode() for text in some)


def _references(corpus: Corpus) -> Iterator[str]:
    """Gold references: pseudo-references are made of their words, and there may be any number of them."""
    gold = Stream(corpus, StreamSettings(ScheduleSettings("uniform"), gold_only=True))
    for block in gold.schedule.blocks(0, size=_AT_ONCE):
        yield from (text.decode() for text in gold.references(block))
