"""Small trained models in folders: with weights that nobody trained, but that say different things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from polyref.model.folder import TrainedModel, new_model, save_model
from polyref.model.settings import KINDS, BeamSettings
from polyref.text.subwords import Subwords

SOURCES = ["two dogs run", "A cat sleeps on the mat", "", "the mat", "Kühe auf der Wiese, und noch mehr Wiesen", "x"]
TEXTS = ["a cat sleeps on the mat", "the cat is asleep on a mat", "two dogs run along the beach", "dogs are running"]
FEATURE_SIZE = 5


def small_model(kind: Any = "translator", *, fold_case: bool = False, seed: int = 0) -> TrainedModel:
    target = Subwords.learn(TEXTS * 3, 290)
    source = Subwords.learn(TEXTS[:2] * 3, 275) if kind == "translator" else None
    settings: dict[str, Any] = {"embedding_size": 16, "state_size": 16, "layers": 1, "dropout": 0.0}
    if kind == "captioner":
        settings["feature_size"] = FEATURE_SIZE
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        model = new_model(KINDS[kind].settings(**settings), source, target)
        for weight in model.parameters():
            if weight.requires_grad:
                weight.uniform_(-1.5, 1.5)
        model.words.bias[3:259] -= 6  # single bytes are rare, as in text
        model.words.bias[2] += 4 if kind == "translator" else 1  # and texts end
    beam = BeamSettings(beam=4, longest=12, scoring="rewarded", bound=1 if kind == "translator" else 6)
    return TrainedModel(model.eval(), source, target, beam, fold_case)


def small_folder(folder: Path, kind: Any = "translator", **choices: Any) -> Path:
    save_model(small_model(kind, **choices), folder)
    return folder
