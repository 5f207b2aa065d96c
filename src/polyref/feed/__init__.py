"""Feed trainers: streams of pairs, PyTorch, Hugging Face, and files for everyone else."""

from polyref.feed.stream import Pair, Stream, StreamSettings, stream

__all__ = ["Pair", "Stream", "StreamSettings", "stream"]
