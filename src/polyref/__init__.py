"""Train text generators on all of an example's references, and on pseudo-references read off their lattice.

A name is imported when it is first used: `import polyref` takes no time, and the command heeds signals at once.
"""

TYPE_CHECKING = False  # as in typing, which need not be loaded for it

if TYPE_CHECKING:
    from polyref.align import AlignSettings as AlignSettings
    from polyref.data import Fields as Fields
    from polyref.data import Losses as Losses
    from polyref.data import WriteReport as WriteReport
    from polyref.data import WriteSettings as WriteSettings
    from polyref.data import read as read
    from polyref.data import render as render
    from polyref.data import sample_examples as sample_examples
    from polyref.data import write as write
    from polyref.encode import Encoder as Encoder
    from polyref.encode import Encoding as Encoding
    from polyref.encode import VectorSettings as VectorSettings
    from polyref.encode import WordVectors as WordVectors
    from polyref.encode import open_encoder as open_encoder
    from polyref.errors import InputError as InputError
    from polyref.errors import MissingExtraError as MissingExtraError
    from polyref.errors import OutputError as OutputError
    from polyref.errors import PolyrefError as PolyrefError
    from polyref.errors import SettingsError as SettingsError
    from polyref.example import Example as Example
    from polyref.example import LatticeSummary as LatticeSummary
    from polyref.example import PseudoReference as PseudoReference
    from polyref.example import Reference as Reference
    from polyref.expansion import ExpandSettings as ExpandSettings
    from polyref.expansion import expand as expand
    from polyref.experiment import train as train
    from polyref.feed import Pair as Pair
    from polyref.feed import Stream as Stream
    from polyref.feed import stream as stream  # type: ignore[no-redef]
    from polyref.feed.huggingface import expander as expander
    from polyref.feed.pytorch import PairDataset as PairDataset
    from polyref.feed.pytorch import ScheduleBatchSampler as ScheduleBatchSampler
    from polyref.feed.pytorch import ScheduleSampler as ScheduleSampler
    from polyref.feed.ray import expand_dataset as expand_dataset
    from polyref.judge import JudgeSettings as JudgeSettings
    from polyref.lattice import Lattice as Lattice
    from polyref.lattice import SearchSettings as SearchSettings
    from polyref.lattice import Sentence as Sentence
    from polyref.model import load_model as load_model
    from polyref.schedule.batches import BatchSettings as BatchSettings
    from polyref.score import evaluate as evaluate
    from polyref.score import sentence_bleu as sentence_bleu  # type: ignore[no-redef]
    from polyref.stats import statistics as statistics
    from polyref.text import TextSettings as TextSettings

__version__ = "0.1.0"

_FRONT = {
    "align": "AlignSettings",
    "data": "Fields Losses WriteReport WriteSettings read render sample_examples write",
    "draw": "Lattice",  # with the methods that draw it
    "encode": "Encoder Encoding VectorSettings WordVectors open_encoder",
    "errors": "InputError MissingExtraError OutputError PolyrefError SettingsError",
    "example": "Example LatticeSummary PseudoReference Reference",
    "expansion": "ExpandSettings expand",
    "experiment": "train",
    "feed": "Pair Stream stream",
    "feed.huggingface": "expander",
    "feed.pytorch": "PairDataset ScheduleBatchSampler ScheduleSampler",
    "feed.ray": "expand_dataset",
    "judge": "JudgeSettings",
    "lattice": "SearchSettings Sentence",
    "model": "load_model",
    "schedule.batches": "BatchSettings",
    "score": "evaluate sentence_bleu",
    "stats": "statistics",
    "text": "TextSettings",
}
_ROOMS = {name: room for room, names in _FRONT.items() for name in names.split()}
__all__ = sorted(name for name, room in _ROOMS.items() if room != "feed.pytorch")  # which needs torch


def __getattr__(name: str) -> object:
    from importlib import import_module
    from importlib.util import find_spec

    if name in _ROOMS:
        globals()[name] = found = getattr(import_module(f"polyref.{_ROOMS[name]}"), name)
        return found
    if not name.startswith("_") and find_spec(f"polyref.{name}") is not None:
        return import_module(f"polyref.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
