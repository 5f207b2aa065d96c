"""Train text generators on all of an example's references, and on pseudo-references read off their lattice."""

from typing import TYPE_CHECKING

from polyref.align import AlignSettings
from polyref.data import Fields, Losses, WriteReport, WriteSettings, read, render, sample_examples, write
from polyref.draw import draw_lattice, lattice_in_notebook, lattice_steps, save_lattice
from polyref.encode import Encoder, Encoding, WordVectors, open_encoder
from polyref.errors import InputError, MissingExtraError, OutputError, PolyrefError, SettingsError
from polyref.example import Example, LatticeSummary, PseudoReference, Reference
from polyref.expansion import ExpandSettings, expand
from polyref.experiment import train
from polyref.feed import Pair, Stream, stream
from polyref.feed.huggingface import expander
from polyref.lattice import Lattice, SearchSettings, Sentence
from polyref.model import load_model
from polyref.schedule.batches import BatchSettings
from polyref.score import evaluate, sentence_bleu
from polyref.stats import statistics
from polyref.text import TextSettings

if TYPE_CHECKING:
    from polyref.feed.pytorch import PairDataset, ScheduleBatchSampler

# Drawing stands below the lattice in the rooms' order, so a lattice gets these methods here.
Lattice.draw, Lattice.save, Lattice.steps = draw_lattice, save_lattice, lattice_steps
Lattice._repr_svg_ = lattice_in_notebook

__version__ = "0.1.0"

__all__ = [
    "AlignSettings",
    "BatchSettings",
    "Encoder",
    "Encoding",
    "Example",
    "ExpandSettings",
    "Fields",
    "InputError",
    "Lattice",
    "LatticeSummary",
    "Losses",
    "MissingExtraError",
    "OutputError",
    "Pair",
    "PairDataset",
    "PolyrefError",
    "PseudoReference",
    "Reference",
    "ScheduleBatchSampler",
    "SearchSettings",
    "Sentence",
    "SettingsError",
    "Stream",
    "TextSettings",
    "WordVectors",
    "WriteReport",
    "WriteSettings",
    "evaluate",
    "expand",
    "expander",
    "load_model",
    "open_encoder",
    "read",
    "render",
    "sample_examples",
    "sentence_bleu",
    "statistics",
    "stream",
    "train",
    "write",
]


def __getattr__(name: str) -> object:
    """What needs torch, which is slow to load and an extra."""
    if name in ("PairDataset", "ScheduleBatchSampler"):
        from polyref.feed import pytorch

        return getattr(pytorch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
