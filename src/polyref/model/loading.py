"""Open a trained model, and load torch only then.

In:   a model folder. Out: a TrainedModel. Not: what is in a folder (folder.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyref.errors import load_extra
from polyref.fit.settings import Device

if TYPE_CHECKING:
    from polyref.model.folder import TrainedModel


def load_model(folder: str | Path, device: Device = "auto") -> TrainedModel:
    """The model of a folder that `polyref train` has made: `load_model(folder).generate(["a source", ...])`.

    `device`: auto takes a GPU where there is one; cpu; cuda.
    """
    load_extra("torch", purpose="a trained model", extra="torch")
    from polyref.model import folder as folders

    return folders.load_model(folder, device)
