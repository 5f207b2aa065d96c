"""A trained model in a folder, and what it generates.

In:   a model with its vocabularies; a folder.
Out:  the folder, with weights as safetensors and everything else as JSON; a TrainedModel that generates text.
Not:  training (experiment/), searching (beam.py), checkpoints of a run (fit/checkpoint.py).

A model that is loaded computes in double precision. Single precision rounds by the size of a batch, so that scores, and
now and then a text, would depend on what else is in it.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file

from polyref.errors import InputError, SettingsError
from polyref.features.features import Features
from polyref.files import make_folder, whole_path, write_whole, writing
from polyref.fit import Device
from polyref.fit.checkpoint import has_checkpoint, read_tensors
from polyref.fit.processes import device_named
from polyref.model.beam import search
from polyref.model.layers import on_device
from polyref.model.settings import KINDS, BeamSettings, check_size, kind_of
from polyref.text.subwords import Subwords

VERSION = 1
_log = logging.getLogger(__name__)
ABOUT, WEIGHTS, SOURCE, TARGET = "model.json", "weights.safetensors", "source.json", "target.json"
_TRAINING_ONLY = ("dropout", "label_smoothing")
_CURE = "give a folder that polyref train has made"
Inputs = Iterable[str] | npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Generated:
    """A text that a model has generated; `score` is what the search ranks by, `log_prob` the model's own."""

    text: str
    score: float
    log_prob: float


@dataclass(frozen=True)
class TrainedModel:
    """A model with its vocabularies. `source` is None where sources are features of images.

    `fold_case`: it was trained on lower-cased text, and reads and writes nothing else. `beam` is how it searches unless
    it is told otherwise.
    """

    model: Any  # of one of the KINDS
    source: Subwords | None
    target: Subwords
    beam: BeamSettings
    fold_case: bool = False

    @property
    def kind(self) -> str:
        return kind_of(self.model.settings)

    def generate(
        self,
        inputs: Inputs,
        *,
        features: Features | str | Path | None = None,
        beam: BeamSettings | None = None,
        best: int | None = None,
        batch: int = 32,
    ) -> list[list[Generated]]:
        """The best texts for each input, best first.

        Inputs are sources for a translator; for a captioner rows of features, or ids with `features` to look them up.
        `best` different texts each, or fewer, with a beam that is at least as wide. The size of a batch changes the
        speed and the memory that it takes, not the result.
        """
        beam = self.beam if beam is None else beam
        if not isinstance(beam, BeamSettings):
            raise SettingsError(f"the beam is {beam!r}; give BeamSettings(beam={beam!r})")
        if best is not None:
            check_size("best", best)
            beam = replace(beam, best=best, beam=max(beam.beam, best))
        check_size("batch", batch)
        rows = self._images(inputs, features) if self.source is None else self._texts(inputs, features, self.source)
        # Like lengths together: less is padded, and a batch ends with its longest.
        order = sorted(range(len(rows)), key=lambda place: (len(rows[place]), place))
        device = next(self.model.parameters()).device
        found: list[list[Generated]] = [[] for _ in rows]
        for first in range(0, len(order), batch):
            places = order[first : first + batch]
            given = on_device(self.model.batch([rows[place] for place in places]), device)
            for place, hypotheses in zip(places, search(self.model, given, beam), strict=True):
                decode = self.target.decode
                texts: dict[str, Generated] = {}
                for one in hypotheses:  # different subwords may give the same text: the best of them stands for it
                    text = decode(one.tokens)
                    texts.setdefault(text, Generated(text, one.score, one.log_prob))
                found[place] = list(texts.values())
        return found

    def _texts(self, inputs: Inputs, features: object, subwords: Subwords) -> Sequence[Sequence[int]]:
        if features is not None:
            raise SettingsError(f"a {self.kind} reads texts; leave the features out")
        texts = _strings(inputs, f"a {self.kind} reads texts")
        return subwords.encode_all([text.lower() for text in texts] if self.fold_case else texts)

    def _images(self, inputs: Inputs, features: Features | str | Path | None) -> Sequence[npt.NDArray[np.float32]]:
        if isinstance(inputs, np.ndarray):
            ids = [str(row) for row in range(len(inputs))]
            features = Features(ids, inputs, name="the inputs")
        elif features is None:
            raise SettingsError(f"a {self.kind} reads features of images; give the file that holds them")
        else:
            ids = _strings(inputs, f"a {self.kind} reads ids of images, or an array of their features")
            features = features if isinstance(features, Features) else Features.open(features)
        features.check(ids, size=self.model.settings.feature_size)
        return list(features.rows(ids))


def _strings(inputs: object, reads: str) -> list[str]:
    cure = "give a list of strings"
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        raise SettingsError(f"{reads}, but the input is {inputs!r}; {cure}")
    texts = list(inputs)
    if wrong := next((type(text) for text in texts if not isinstance(text, str)), None):
        raise SettingsError(f"{reads}, but one of the inputs is of the type {wrong.__name__}; {cure}")
    return texts


class Vocabularies(NamedTuple):
    """The subwords of sources and targets; `source` is None where sources are features of images."""

    source: Subwords | None
    target: Subwords

    def save(self, folder: Path) -> None:
        if self.source is not None:
            self.source.save(folder / SOURCE)
        self.target.save(folder / TARGET)  # last: where it is, the other one is as well

    @classmethod
    def load(cls, folder: Path, kind: str) -> Vocabularies:
        """Those of a kind of model."""
        source = None if KINDS[kind].reads_images else Subwords.load(folder / SOURCE)
        return cls(source, Subwords.load(folder / TARGET))


def new_model(settings: Any, source: Subwords | None, target: Subwords) -> Any:
    """A model with fresh weights, for settings of one of the KINDS and for vocabularies."""
    words = {} if source is None else {"source_words": len(source)}
    return resolve_name(KINDS[kind_of(settings)].model)(settings, **words, target_words=len(target))


# -- the folder -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _About:
    """What model.json holds."""

    kind: str
    fold_case: bool
    settings: Any
    beam: BeamSettings


def save_model(trained: TrainedModel, folder: str | Path, *, weights: Path | None = None) -> None:
    """Write a model into a folder; `load_model` reads it back. `weights`: those of a file, not the model's own.

    A folder that already holds such a model with other weights can be read at any moment; in any other, model.json is
    written last.
    """
    folder = make_folder(folder)
    about = _About(trained.kind, trained.fold_case, trained.model.settings, trained.beam)
    with writing(folder, "give another folder"):
        is_there = _holds(folder, about, trained)
        if not is_there:
            (folder / ABOUT).unlink(missing_ok=True)
        with whole_path(folder / WEIGHTS) as new:
            if weights is not None:
                shutil.copyfile(weights, new)
            else:  # as they were trained; what was loaded is in double precision
                save_file({name: one.float().contiguous() for name, one in trained.model.state_dict().items()}, new)
        if is_there:
            return
        Vocabularies(trained.source, trained.target).save(folder)
        write_whole(folder / ABOUT, (json.dumps({"version": VERSION, **asdict(about)}, indent=1) + "\n").encode())


def _holds(folder: Path, about: _About, trained: TrainedModel) -> bool:
    """Whether a folder has this model in it, whatever its weights are."""
    words = trained.source, trained.target
    try:
        return _about(folder) == about and Vocabularies.load(folder, about.kind) == words
    except InputError:
        return False


def start_from(folder: str | Path, model: Any, *, fold_case: bool) -> None:
    """Give a model the weights of a folder; refuse another kind or size. What only training uses may differ."""
    settings, kind, about = model.settings, kind_of(model.settings), _about(Path(folder))
    if about.kind != kind:
        problem = f"it is a {about.kind}, and the recipe trains a {kind}"
        raise InputError(problem, f"start from a {kind}, or change model.kind", file=str(folder))
    pairs = {
        f"model.{one.name}": (getattr(about.settings, one.name), getattr(settings, one.name))
        for one in fields(settings)
        if one.name not in _TRAINING_ONLY
    }
    for key, (old, new) in (pairs | {"data.fold_case": (about.fold_case, fold_case)}).items():
        if old != new:
            problem = f"{key} is {json.dumps(old)} there and {json.dumps(new)} in the recipe"
            raise InputError(problem, f"set it to {json.dumps(old)}, or start from another model", file=str(folder))
    load_weights(model, Path(folder) / WEIGHTS)


def load_model(folder: str | Path, device: Device = "auto") -> TrainedModel:
    """The model of a folder that `polyref train` has made, on a device: auto is a GPU where there is one."""
    place = device_named(device)
    folder = Path(folder)
    about = _about(folder)
    words = Vocabularies.load(folder, about.kind)
    with torch.device("meta"):  # no memory for sizes that the weights do not have
        model = new_model(about.settings, *words)
    load_weights(model, folder / WEIGHTS)
    _log.info("%s: %s loaded, on %s", folder, about.kind, place)
    return TrainedModel(model.double().to(place).eval(), *words, about.beam, about.fold_case)


def load_weights(model: torch.nn.Module, path: Path) -> None:
    """Give a model the weights of a file; those of another model are refused by name.

    A model on torch's device "meta" gets memory when they are known to fit.
    """
    wanted = model.state_dict()
    try:
        weights = read_tensors(path, wanted)
    except ValueError as error:
        cure = "put back the files that the model was trained with, or train it again"
        raise InputError(f"the weights cannot be read ({error})", cure, file=str(path)) from None
    if any(weight.is_meta for weight in wanted.values()):
        model.to_empty(device="cpu")
    model.load_state_dict(weights)


def _about(folder: Path) -> _About:
    def refusal(problem: str, cure: str = _CURE) -> InputError:
        return InputError(problem, cure, file=str(folder))

    if not folder.is_dir():
        raise refusal("this is a file" if folder.is_file() else "there is no such folder")
    try:
        about = json.loads((folder / ABOUT).read_bytes())
    except FileNotFoundError:
        if has_checkpoint(folder):
            problem = f"there is no {ABOUT} in it: its training has not come to a model yet"
            raise refusal(problem, "go on with it: polyref train") from None
        raise refusal(f"there is no {ABOUT} in it") from None
    except (OSError, ValueError, RecursionError) as error:
        raise refusal(f"{ABOUT} cannot be read ({error})") from None
    if not isinstance(about, dict) or "version" not in about:
        raise refusal(f"{ABOUT} does not describe a model")
    if about["version"] != VERSION:
        problem = f"the model is of version {about['version']}, and this polyref reads {VERSION}"
        raise refusal(problem, "train it again, or use the polyref that made it")
    for key, kind in (("kind", str), ("fold_case", bool), ("settings", dict), ("beam", dict)):
        if not isinstance(about.get(key), kind):
            raise refusal(f'{ABOUT} has no "{key}"')
    if about["kind"] not in KINDS:
        raise refusal(f'{ABOUT} is about an unknown kind of model, "{about["kind"]}"')
    try:
        settings, beam = KINDS[about["kind"]].settings(**about["settings"]), BeamSettings(**about["beam"])
    except (TypeError, SettingsError) as error:
        raise refusal(f"{ABOUT} does not describe a model ({error})") from None
    return _About(about["kind"], about["fold_case"], settings, beam)
