"""A trained model in a folder, and what it says.

In:   a model with its vocabularies; a folder.
Out:  the folder, with weights as safetensors and everything else as JSON; a TrainedModel that generates text.
Not:  training (experiment/), searching (beam.py), checkpoints of a run (fit/checkpoint.py).

A model that is loaded computes in double precision. Single precision rounds by the size of a batch, so that scores, and
now and then a text, would depend on what else is in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch

from polyref.errors import InputError, OutputError, SettingsError
from polyref.features.features import Features
from polyref.fit.checkpoint import has_checkpoint
from polyref.fit.device import device_named
from polyref.fit.settings import Device
from polyref.model.batch import CaptionBatch, TranslationBatch, on_device
from polyref.model.beam import search
from polyref.model.captioner import Captioner
from polyref.model.settings import BeamSettings, CaptionerSettings, TranslatorSettings, check_size
from polyref.model.translator import Translator
from polyref.model.weights import check_weights, copy_weights, load_weights, replacing, save_weights, shapes_of
from polyref.text.subwords import Subwords

Kind = Literal["translator", "captioner"]
VERSION = 1
ABOUT, WEIGHTS, SOURCE, TARGET = "model.json", "weights.safetensors", "source.json", "target.json"
_TARGET_WORDS = "words.vectors.weight"
_TRAINING_ONLY = ("dropout", "label_smoothing")
_CURE = "give a folder that polyref train has made"


@dataclass(frozen=True, slots=True)
class Generated:
    """A text that a model has generated; `score` is what the search ranks by, `log_prob` the model's own."""

    text: str
    score: float
    log_prob: float


@dataclass(frozen=True)
class TrainedModel:
    """A model with its vocabularies. `source` is None for a captioner, whose sources are features of images.

    `fold_case`: it was trained on lower-cased text, and reads and says nothing else. `beam` is how it searches unless
    it is told otherwise.
    """

    model: Translator | Captioner
    source: Subwords | None
    target: Subwords
    beam: BeamSettings
    fold_case: bool = False

    @property
    def kind(self) -> Kind:
        return "translator" if isinstance(self.model, Translator) else "captioner"

    def generate(
        self,
        inputs: Iterable[str] | npt.NDArray[np.float32],
        *,
        features: Features | str | Path | None = None,
        beam: BeamSettings | None = None,
        best: int | None = None,
        batch: int = 32,
    ) -> list[list[Generated]]:
        """The best texts for each input, best first.

        Inputs are sources for a translator; for a captioner rows of features, or ids with `features` to look them up.
        `best` texts each, with a beam that is at least as wide. The size of a batch changes the speed and the memory
        that it takes, not the result.
        """
        beam = self.beam if beam is None else beam
        if not isinstance(beam, BeamSettings):
            raise SettingsError(f"the beam is {beam!r}; give BeamSettings(beam={beam!r})")
        if best is not None:
            check_size("best", best)
            beam = replace(beam, best=best, beam=max(beam.beam, best))
        check_size("batch", batch)
        rows = self.rows(inputs, features)
        # Like lengths together: less is padded, and a batch ends with its longest.
        order = sorted(range(len(rows)), key=lambda place: (len(rows[place]), place))
        found: list[list[Generated]] = [[] for _ in rows]
        for first in range(0, len(order), batch):
            places = order[first : first + batch]
            for place, texts in zip(places, self._search([rows[place] for place in places], beam), strict=True):
                found[place] = texts
        return found

    def rows(
        self, inputs: Iterable[str] | npt.NDArray[np.float32], features: Features | str | Path | None = None
    ) -> Sequence[Any]:
        """What the model reads: token numbers of sources, or features of images."""
        if isinstance(self.model, Captioner):
            return self._images(inputs, features)
        if features is not None:
            raise SettingsError("a translator reads texts; leave the features out")
        texts = _texts(inputs, "a translator reads texts")
        assert self.source is not None
        return self.source.encode_all([text.lower() for text in texts] if self.fold_case else texts)

    def _images(
        self, inputs: Iterable[str] | npt.NDArray[np.float32], features: Features | str | Path | None
    ) -> Sequence[Any]:
        if isinstance(inputs, np.ndarray):
            ids = [str(row) for row in range(len(inputs))]
            features = Features(ids, inputs, name="the inputs")
        elif features is None:
            raise SettingsError("a captioner reads features of images; give the file that holds them")
        else:
            ids = _texts(inputs, "a captioner reads ids of images, or an array of their features")
            features = features if isinstance(features, Features) else Features.open(features)
        assert isinstance(self.model, Captioner)
        features.check(ids, size=self.model.settings.feature_size)
        return list(features.rows(ids))

    def _search(self, rows: Sequence[Any], beam: BeamSettings) -> list[list[Generated]]:
        device = next(self.model.parameters()).device
        if isinstance(self.model, Translator):
            found = search(self.model, on_device(TranslationBatch.of(rows), device), beam)
        else:
            found = search(self.model, on_device(CaptionBatch.of(np.stack(rows)), device), beam)
        return [
            [Generated(self.target.decode(one.tokens), one.score, one.log_prob) for one in of_one] for of_one in found
        ]


def _texts(inputs: Iterable[str], reads: str) -> list[str]:
    if isinstance(inputs, str):
        raise SettingsError(f"{reads}, but the input is one text; give a list of them")
    try:
        texts = list(inputs)
    except TypeError:
        raise SettingsError(f"{reads}, but the input is {inputs!r}; give a list of texts") from None
    if wrong := next((type(text) for text in texts if not isinstance(text, str)), None):
        raise SettingsError(f"{reads}, but one of the inputs is of the type {wrong.__name__}; give a list of texts")
    return texts


def new_model(
    kind: Kind, settings: dict[str, Any], source: Subwords | None, target: Subwords
) -> Translator | Captioner:
    """A model with fresh weights, for vocabularies; the settings are those of model/settings.py."""
    if kind == "translator":
        assert source is not None
        return Translator(TranslatorSettings(**settings), source_words=len(source), target_words=len(target))
    return Captioner(CaptionerSettings(**settings), words=len(target))


def save_model(trained: TrainedModel, folder: str | Path, *, weights: Path | None = None) -> None:
    """Write a model into a folder; `load_model` reads it back. `weights`: those of a file, not the model's own.

    A folder that already holds such a model with other weights can be read at any moment; in any other, what it is
    about is written last.
    """
    folder = Path(folder)
    about = {
        "version": VERSION,
        "kind": trained.kind,
        "fold_case": trained.fold_case,
        "settings": asdict(trained.model.settings),
        "beam": asdict(trained.beam),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_there = _holds(folder, about, trained)
        if not is_there:
            (folder / ABOUT).unlink(missing_ok=True)
        if weights is None:
            # As they were trained; what was loaded has been made wider.
            save_weights(deepcopy(trained.model).float(), folder / WEIGHTS)
        else:
            copy_weights(weights, folder / WEIGHTS)
        if is_there:
            return
        trained.target.save(folder / TARGET)
        if trained.source is not None:
            trained.source.save(folder / SOURCE)
        with replacing(folder / ABOUT) as new:
            new.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); give another place") from None


def _holds(folder: Path, about: dict[str, Any], trained: TrainedModel) -> bool:
    """Whether a folder has this model in it, whatever its weights are."""
    try:
        return (
            _about(folder) == about
            and Subwords.load(folder / TARGET) == trained.target
            and (trained.source is None or Subwords.load(folder / SOURCE) == trained.source)
        )
    except InputError:
        return False


def check_start(
    folder: str | Path, *, kind: Kind, settings: TranslatorSettings | CaptionerSettings, fold_case: bool
) -> None:
    """Refuse a folder whose weights are no start for such a model. What only training looks at may differ."""
    folder = Path(folder)
    about = _about(folder)
    if about["kind"] != kind:
        problem = f"it is a {about['kind']}, and the recipe trains a {kind}"
        raise InputError(problem, f"start from a {kind}, or change model.kind", file=str(folder))
    there = _settings_of(about, folder)
    pairs = {
        f"model.{one.name}": (getattr(there, one.name), getattr(settings, one.name))
        for one in fields(settings)
        if one.name not in _TRAINING_ONLY
    }
    for key, (old, new) in (pairs | {"data.fold_case": (about["fold_case"], fold_case)}).items():
        if old != new:
            problem = f"{key} is {json.dumps(old)} there and {json.dumps(new)} in the recipe"
            raise InputError(problem, f"set it to {json.dumps(old)}, or start from another model", file=str(folder))


def _settings_of(about: dict[str, Any], folder: Path) -> TranslatorSettings | CaptionerSettings:
    try:
        return (TranslatorSettings if about["kind"] == "translator" else CaptionerSettings)(**about["settings"])
    except (TypeError, SettingsError) as error:
        raise InputError(f"{ABOUT} does not describe a model ({error})", _CURE, file=str(folder)) from None


def load_model(folder: str | Path, device: Device = "auto") -> TrainedModel:
    """The model of a folder that `polyref train` has made, on a device: auto is a GPU where there is one."""
    place = device_named(device)
    folder = Path(folder)
    about = _about(folder)
    target = Subwords.load(folder / TARGET)
    source = Subwords.load(folder / SOURCE) if about["kind"] == "translator" else None
    _check_sizes(folder, source, target)
    try:
        beam = BeamSettings(**about["beam"])
        with torch.device("meta"):  # no memory for sizes that the weights do not have
            check_weights(new_model(about["kind"], about["settings"], source, target), folder / WEIGHTS)
        with torch.random.fork_rng(devices=[]):  # weights are drawn only to be replaced
            model = new_model(about["kind"], about["settings"], source, target)
    except (TypeError, SettingsError) as error:
        raise InputError(f"{ABOUT} does not describe a model ({error})", _CURE, file=str(folder)) from None
    load_weights(model, folder / WEIGHTS)
    return TrainedModel(model.double().to(place).eval(), source, target, beam, about["fold_case"])


def _check_sizes(folder: Path, source: Subwords | None, target: Subwords) -> None:
    """Refuse subwords that the weights are not for."""
    path = folder / WEIGHTS
    shapes = shapes_of(path)
    for name, file, subwords in (("source.weight", SOURCE, source), (_TARGET_WORDS, TARGET, target)):
        if subwords is not None and name in shapes and shapes[name][:1] != (len(subwords),):
            size = shapes[name][0] if shapes[name] else 0
            problem = f"the weights are for {size:,} subwords, but {file} has {len(subwords):,}"
            raise InputError(problem, "put back the file that the model was trained with", file=str(path))


def _about(folder: Path) -> dict[str, Any]:
    if folder.is_file():
        raise InputError("this is a file", "give the folder that polyref train has made", file=str(folder))
    if not folder.is_dir():
        raise InputError("there is no such folder", _CURE, file=str(folder))
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if has_checkpoint(folder):
            problem = f"there is no {ABOUT} in it: its training has not come to a model yet"
            raise InputError(problem, "go on with it: polyref train", file=str(folder)) from None
        raise InputError(f"there is no {ABOUT} in it", _CURE, file=str(folder)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{ABOUT} cannot be read ({error})", _CURE, file=str(folder)) from None
    if not isinstance(about, dict) or "version" not in about:
        raise InputError(f"{ABOUT} is about no model", _CURE, file=str(folder))
    if about["version"] != VERSION:
        raise InputError(
            f"the model is of version {about['version']}, and this polyref reads {VERSION}",
            "train it again, or use the polyref that made it",
            file=str(folder),
        )
    for key, kind in (("kind", str), ("fold_case", bool), ("settings", dict), ("beam", dict)):
        if not isinstance(about.get(key), kind):
            raise InputError(f'{ABOUT} says no "{key}"', _CURE, file=str(folder))
    if about["kind"] not in get_args(Kind):
        raise InputError(f'{ABOUT} is about an unknown kind of model, "{about["kind"]}"', _CURE, file=str(folder))
    return about
