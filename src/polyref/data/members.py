"""The members of a JSON object as texts, so that a record can be changed and all else stay to the letter.

In:   the text of a well-formed JSON object.
Out:  its keys with the texts of their values; the object without some of them, or with others in their place.
Not:  what the keys mean (jsonl.py, render.py).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

_SPACE = " \t\r\n"


class Member(NamedTuple):
    key: str
    start: int  # where the key begins
    value: int  # where the value begins
    stop: int  # behind the value


def members(record: str) -> Iterator[Member]:
    """Where the keys and values of an object stand."""
    decode = json.JSONDecoder().raw_decode
    position = record.index("{") + 1
    while True:
        start = _skip(record, position, "," + _SPACE)
        if record[start] == "}":
            return
        key, position = decode(record, start)
        value = _skip(record, position, ":" + _SPACE)
        _, position = decode(record, value)
        yield Member(key, start, value, position)


def values(record: str) -> dict[str, str]:
    """The text of each value by its key; the last one of a key that comes twice."""
    return {member.key: record[member.value : member.stop] for member in members(record)}


def without(record: str, keys: Collection[str]) -> str:
    """The record without some keys."""
    found = list(members(record))
    opening = record[: found[0].start] if found else record
    text, end = "", 0
    for member in found:
        if member.key not in keys:
            # With what stood before it: a comma, and whatever spaces there were.
            text += (record[end : member.start] if text else opening) + record[member.start : member.stop]
        end = member.stop
    return (text or opening) + record[end:]


def with_values(record: str, changes: Mapping[str, str]) -> str:
    """The record with other values, given as JSON; keys that it lacks come behind the others."""
    text, end = "", 0
    missing = dict(changes)
    for member in members(record):
        if member.key in changes:
            text += record[end : member.value] + changes[member.key]
            end = member.stop
            missing.pop(member.key, None)
    return with_members(text + record[end:], missing)


def with_members(record: str, added: Mapping[str, str]) -> str:
    """The record with more keys behind the others; their values are given as JSON."""
    if not added:
        return record
    head = record[: record.rindex("}")].rstrip()
    more = ", ".join([f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in added.items()])
    return f"{head}{'' if head.endswith('{') else ', '}{more}}}"


def _skip(text: str, position: int, skipped: str) -> int:
    while text[position] in skipped:
        position += 1
    return position
