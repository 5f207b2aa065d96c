"""What a number was computed with, in the form of sacreBLEU's signatures.

In:   the references and the settings of a score.
Out:  one line, such as `nrefs:5|case:lc|tok:ptb|version:polyref-0.1.0`.
Not:  BLEU's line, which is sacreBLEU's own (corpus_bleu.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyref.score.settings import CaptionSettings


def signature(
    references: Sequence[Sequence[str]], settings: CaptionSettings, parts: Mapping[str, str] | None = None
) -> str:
    """How many references, case and tokens, what the metric itself can vary, and our version."""
    from polyref import __version__

    each = references_per_example(references)
    found = {
        "nrefs": "var" if each is None else str(each),
        "case": "lc" if settings.fold_case or settings.tokenizer == "ptb" else "mixed",
        "tok": settings.tokenizer,
        **(parts or {}),
        "version": f"polyref-{__version__}",
    }
    return "|".join(f"{name}:{value}" for name, value in found.items())


def references_per_example(references: Sequence[Sequence[str]]) -> int | None:
    """Their number; None where it varies."""
    counts = {len(texts) for texts in references}
    return counts.pop() if len(counts) == 1 else None
