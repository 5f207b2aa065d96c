"""Write parallel text: `out.src`, and `out.ref0`, `out.ref1` and so on.

In:   records. Out: a file of sources and as many files of references as any example has; where an example has fewer,
      its lines in the last files are blank.
Not:  reading (parallel.py).
"""

from __future__ import annotations

import re

from polyref.data.formats import without_compression
from polyref.data.losses import Losses
from polyref.data.output import open_outputs
from polyref.data.parallel import SOURCE, files_beside
from polyref.data.parts import Shape, Spool
from polyref.data.settings import WriteSettings
from polyref.errors import OutputError

_BREAKS = re.compile(rb"[\r\n]+")


def prefix_of(path: str) -> tuple[str, str]:
    """What the files' names begin with, and what they end in for the sake of compression."""
    bare = without_compression(path)
    return bare.removesuffix(SOURCE), path[len(bare) :]


def write_parallel(spool: Spool, shape: Shape, path: str, settings: WriteSettings, losses: Losses) -> list[str]:
    """Write the files; what comes back is their names."""
    prefix, packing = prefix_of(path)
    paths = [prefix + SOURCE + packing, *[f"{prefix}.ref{n}{packing}" for n in range(shape.most_references)]]
    for _, older in files_beside(prefix):
        if older not in paths:
            raise OutputError(
                f"{older}: this would be taken for a file of the new ones; remove it, or choose another name"
            )
    with open_outputs(paths) as streams:
        for number, parts in enumerate(spool.parts(), 1):
            id = number if parts.id is None else parts.id
            source = parts.source if isinstance(parts.source, str) else parts.source_json or ""
            texts = [source, *[reference.text for reference in parts.references]]
            for stream, text in zip(streams, texts + [""] * (len(streams) - len(texts)), strict=True):
                if number == 1 and text.startswith("\ufeff"):
                    text = "\ufeff" + text  # the first one of a file is taken for a byte-order mark
                stream.write(_one_line(text, f'{path}: a text of example "{id}"', settings, losses) + b"\n")
    _count_losses(shape, losses)
    return paths


def _one_line(text: str, what: str, settings: WriteSettings, losses: Losses) -> bytes:
    try:
        line = text.encode("utf-8")
    except UnicodeEncodeError:
        raise OutputError(f"{what} holds half a surrogate pair; repair it") from None
    if b"\n" not in line and b"\r" not in line:
        return line
    if settings.line_breaks == "refuse":
        problem = f"{what} has a line break, which parallel text cannot hold"
        raise OutputError(f"{problem}; choose another format, or --line-breaks space")
    losses.add("texts with line breaks (written as spaces)")
    return _BREAKS.sub(b" ", line)


def _count_losses(shape: Shape, losses: Losses) -> None:
    losses.add("ids", shape.ids)
    losses.add("sources that are no texts (written as JSON)", shape.other_sources)
    losses.add("weights of references", shape.weights)
    losses.add("pseudo-references", shape.pseudo)
    losses.add("lattice summaries", shape.lattices)
    losses.add("kept lattices", shape.kept)
    for key, count in {**shape.more, **shape.of_reference}.items():
        losses.add(f'values of the key "{key}"', count)
