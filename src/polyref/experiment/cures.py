"""What other rooms advise, in the words of a recipe.

In:   errors whose cure is an option of some command.
Out:  the same errors; the cure is a key of a recipe.
Not:  finding anything wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from polyref.errors import InputError, OutputError, SettingsError

_KEEP = "set expand.per_example, and expand.keep_lattice = true"
_WORDS = {
    r"--(id|source|references)-field": r"data.\1_field",
    r"(make it with|run) polyref expand --keep-lattice( again)?": _KEEP,
    r"write it with polyref expand --keep-lattice": _KEEP,
    r"--(similarity|align|encoder) ": r"expand.\1 = ",
    r" raise the limit with --max-line-bytes": "",
    r"name the format with --from": "give one record a line",
    r"give one file, or --from parallel": "give one file",
    r"name another folder with --index": "make it writable, or move the file",
}


@contextmanager
def in_recipe_words() -> Iterator[None]:
    """Errors that pass are given the cures that `polyref train` has."""
    try:
        yield
    except InputError as error:
        error.cure = _translated(error.cure)
        raise
    except (SettingsError, OutputError) as error:
        raise type(error)(_translated(str(error))) from None


def _translated(cure: str) -> str:
    for option, key in _WORDS.items():
        cure = re.sub(option, key, cure)
    return cure
