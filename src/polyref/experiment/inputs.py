"""What a run reads: its files, looked for first; the expanded training set; the subwords.

In:   a recipe, or one of its stages.
Out:  the path of what is trained on; the subwords of sources and targets, kept in the folder of the run.
Not:  expanding (scale/), byte-pair encoding (text/subwords.py), what the files hold (training.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from polyref.data import Input, ReadSettings
from polyref.data.corpus import Corpus
from polyref.data.opening import open_input
from polyref.encode.opening import is_encoder
from polyref.errors import InputError
from polyref.experiment.recipe import Recipe, Stage, SubwordsSection
from polyref.files import reading
from polyref.fit import fingerprint
from polyref.fit.checkpoint import has_checkpoint
from polyref.model.folder import SOURCE, TARGET
from polyref.scale import Job, expand_file
from polyref.text.subwords import Subwords

_GONE = "there is no such file"
_AT_ONCE = 1 << 14


def check_files(recipe: Recipe) -> None:
    """Refuse a recipe that names a file which is not there. What a stage leaves to the next one need not be there."""
    for number, stage in enumerate(recipe.stages):
        for key, path, problem in _missing(stage, is_first=number == 0):
            where = f'stage "{stage.name}": {key}' if stage.name else key
            raise InputError(problem, "check the path", file=f"{where}: {path}")


def _missing(stage: Stage, *, is_first: bool) -> Iterator[tuple[str, str, str]]:
    """Keys, what they name, and what is wrong with that."""
    for key in ("train", "dev"):
        path = getattr(stage.data, key)
        problem = _unreadable(path)
        if problem:
            yield f"data.{key}", path, problem
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


def expanded(stage: Stage, folder: Path) -> str:
    """The file to train on: the training set, or what it is expanded to, in a folder that stages and runs may share.

    A file takes its name when it is whole, and the name tells all that it was made from: what another stage has
    expanded, or a run that was stopped, is not expanded again.
    """
    path, fields, settings, tools = stage.data.train, stage.data.fields, stage.expand.settings, stage.expand.tools
    if not stage.expands:
        return path
    if settings.align.align == "hard":  # which asks no encoder
        tools = replace(tools, encoder=None, cache=None)
    if settings.fluency is None:
        tools = replace(tools, language_model=None)
    files = Input.of(path).files
    stamps = [_stamp(Path(file)) for file in files], _stamps(tools.encoder), _stamps(tools.language_model)
    # Neither the number of processes nor the engine changes the result.
    how = asdict(settings), tools.encoder, tools.language_model, asdict(fields)
    output = folder / f"expanded-{fingerprint(how, path, stamps)}.jsonl"
    if not output.exists():
        expand_file(Job(path, str(output), settings, ReadSettings(fields=fields), tools))
    return str(output)


def _stamp(path: Path) -> tuple[str, int, int]:
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


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """`source` is None where sources are images."""

    source: Subwords | None
    target: Subwords

    def save(self, folder: Path) -> None:
        if self.source is not None:
            self.source.save(folder / SOURCE)
        self.target.save(folder / TARGET)  # last: where it is, the other one is as well

    @classmethod
    def load(cls, folder: Path, *, with_source: bool) -> Vocabularies:
        source = Subwords.load(folder / SOURCE) if with_source else None
        return cls(source, Subwords.load(folder / TARGET))


def find_vocabularies(
    folder: Path, init_from: str, corpus: Corpus, settings: SubwordsSection, *, with_source: bool, fold_case: bool
) -> Vocabularies:
    """Those of the run in the folder if it has begun, of the model that it starts from, or new ones."""
    if has_checkpoint(folder):
        return _of_run(folder, with_source)
    if init_from:
        if not (Path(init_from) / TARGET).exists():
            raise InputError(f"holds no {TARGET}", "name a model folder to start from", file=init_from)
        found = Vocabularies.load(Path(init_from), with_source=with_source)
    else:
        found = _learned(corpus, settings, with_source, fold_case)
    found.save(folder)
    return found


def _of_run(folder: Path, with_source: bool) -> Vocabularies:
    try:
        return Vocabularies.load(folder, with_source=with_source)
    except InputError as error:
        error.cure = f"put it back as it was, or delete {folder} to train from the start"
        raise


def _learned(corpus: Corpus, settings: SubwordsSection, with_source: bool, fold_case: bool) -> Vocabularies:
    if with_source and settings.joint:
        texts = (text for some in (_sources(corpus), _references(corpus)) for text in some)
        both = Subwords.learn(_folded(texts, fold_case), settings.target)
        return Vocabularies(both, both)
    source = Subwords.learn(_folded(_sources(corpus), fold_case), settings.source) if with_source else None
    return Vocabularies(source, Subwords.learn(_folded(_references(corpus), fold_case), settings.target))


def _sources(corpus: Corpus) -> Iterator[str]:
    for first in range(0, len(corpus), _AT_ONCE):
        some = corpus.texts["sources"].many(np.arange(first, min(first + _AT_ONCE, len(corpus))))
        yield from (text.decode() for text in some)


def _references(corpus: Corpus) -> Iterator[str]:
    """Gold references: pseudo-references are made of their words, and there may be any number of them."""
    for first in range(0, len(corpus), _AT_ONCE):
        examples = np.arange(first, min(first + _AT_ONCE, len(corpus)))
        counts = corpus.numbers["gold"][examples].astype(np.int64)
        slots = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers = np.repeat(np.asarray(corpus.starts)[examples], counts) + slots
        yield from (text.decode() for text in corpus.texts["references"].many(numbers))


def _folded(texts: Iterator[str], fold_case: bool) -> Iterator[str]:
    return (text.lower() for text in texts) if fold_case else texts
