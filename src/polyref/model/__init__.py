"""The paper's two models, and the search for their best output (Section 4).

A new kind of model is one file, and one line of KINDS with its settings (settings.py). Its class has what Translator
has: `batch(sources, targets=None, changes=None)`, `loss(batch)` -> (summed cross-entropy, number of target tokens), and
the steps of a search (beam.py). `changes` say where a target is more than one word (layers.py). A model knows numbers
of words, nothing of references, schedules or files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyref.errors import load_extra
from polyref.fit import Device

if TYPE_CHECKING:
    from polyref.model.folder import TrainedModel


def load_model(folder: str | Path, device: Device = "auto") -> TrainedModel:
    """The model of a folder that `polyref train` has made: `load_model(folder).generate(["a source", ...])`.

    `device`: auto takes a GPU where there is one; cpu; cuda. Needs torch: pip install "polyref[torch]".
    """
    load_extra("torch", purpose="a trained model", extra="torch")
    from polyref.model import folder as folders

    return folders.load_model(folder, device)
