"""A pair as a prompt and its completion, as fine-tuning libraries of the TRL kind want it.

In:   a pair whose source is a text, or the messages of a chat.
Out:  {"prompt": ..., "completion": ...}: two texts, or two lists of messages.
Not:  data sets of them (huggingface/data.py), lines of output (lines.py).
"""

from __future__ import annotations

from typing import Any

from polyref.errors import InputError
from polyref.feed.stream import Pair

_CURE = 'give a text, or a list of {"role": ..., "content": ...}'


def prompt_completion(pair: Pair, *, separator: str = " ") -> dict[str, Any]:
    """The pair as one record.

    Trainers put the two texts together as they are. So the completion begins with the separator, unless white space is
    there already. Messages need none: the reference becomes the assistant's answer.
    """
    source = pair.source
    if isinstance(source, str):
        return {"prompt": source, "completion": _gap(source, pair.reference, separator) + pair.reference}
    _check_messages(source, pair.id)
    return {"prompt": source, "completion": [{"role": "assistant", "content": pair.reference}]}


def _gap(prompt: str, completion: str, separator: str) -> str:
    return "" if not prompt or prompt[-1].isspace() or completion[:1].isspace() else separator


def _check_messages(source: Any, id: str) -> None:
    if not isinstance(source, list) or not source:
        raise InputError(f'the source of "{id}" is no prompt', _CURE)
    for number, message in enumerate(source, 1):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or "content" not in message:
            raise InputError(f'message {number} in the source of "{id}" has no role or no content', _CURE)
    if source[-1]["role"] == "assistant":
        # The reference is the answer: a second one behind it is what no chat template expects.
        raise InputError(f'the messages of "{id}" end with an answer of the assistant', "take it out of the source")
