"""Feed Hugging Face: data sets, `Dataset.map`, `Trainer`."""

from polyref.feed.huggingface.data import from_dataset, prompt_dataset, to_dataset
from polyref.feed.huggingface.expansion import Expander, expander

__all__ = ["Expander", "expander", "from_dataset", "prompt_dataset", "to_dataset"]
