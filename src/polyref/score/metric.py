"""What a metric is, and what all metrics share: checks, tokens, signatures.

In:   hypotheses and references, as somebody hands them over.
Out:  a score with its signature; an error that says what is wrong with the texts.
Not:  the metrics (one module each, and their dict in __init__.py), tokenizers (tokens.py).

sacreBLEU keeps references the other way round, as K lists of N, and cuts what does not fit without a word. Here
`transposed` is the only function that turns one into the other, and `check_texts` notices what was not turned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from polyref.errors import InputError
from polyref.score.tokens import Tokenizer, tokenizer
from polyref.settings import setting, settings

Tokens = list[str]


@settings
class CaptionSettings:
    """CIDEr and ROUGE-L, on the tokens that captions are scored on; those are always in lower case."""

    tokenizer: Tokenizer = setting("ptb", "Tokens that are counted.")
    fold_case: bool = setting(False, "Score without case (ptb always does).")


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of a system, and the settings that it was computed with, on one line."""

    score: float
    signature: str

    def details(self) -> dict[str, Any]:
        """What else a report shows."""
        return {}


@dataclass(frozen=True, slots=True)
class MeanScore(Scored):
    """`scores` has one number per hypothesis; `score` is their mean."""

    scores: npt.NDArray[np.float64] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as reports, recipes and trainers see it.

    `score(hypotheses, references, settings)` checks the texts and scores them: references[k] are those of
    hypotheses[k]. `settings` is a class with a default for everything, `tokenizer` and `fold_case` at least.
    """

    title: str  # "CIDEr"
    scale: str  # "0 to 10"
    score: Callable[..., Scored]
    settings: type[Any] = CaptionSettings
    aliases: tuple[str, ...] = ()
    digits: int = 4  # that a person is shown


def mean_score(
    scores_of: Callable[[list[Tokens], list[list[Tokens]]], npt.ArrayLike],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: CaptionSettings | None = None,
    **parts: float,
) -> MeanScore:
    """The mean of `scores_of(hypotheses, references)`, which gets tokens and gives one number per hypothesis.

    `parts` are the constants of the metric, for its signature.
    """
    said, others, signature = prepared(hypotheses, references, settings, **parts)
    scores = np.asarray(scores_of(said, others), np.float64)
    return MeanScore(float(scores.mean()), signature, scores)


def prepared(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], settings: CaptionSettings | None, **parts: float
) -> tuple[list[Tokens], list[list[Tokens]], str]:
    """The tokens of hypotheses and of the references of each, and a signature; texts that cannot be scored are refused.

    A signature has the form of sacreBLEU's, such as nrefs:5|case:lc|tok:ptb|version:polyref-0.1.0.
    """
    from polyref import __version__

    settings = settings or CaptionSettings()
    check_texts(hypotheses, references)
    cut = tokenizer(settings.tokenizer, fold_case=settings.fold_case)
    signature = {
        "nrefs": references_per_example(references) or "var",
        "case": "lc" if settings.fold_case or settings.tokenizer == "ptb" else "mixed",
        "tok": settings.tokenizer,
        **{name: f"{value:g}" for name, value in parts.items()},
        "version": f"polyref-{__version__}",
    }
    signed = "|".join(f"{name}:{value}" for name, value in signature.items())
    tokens = [[cut(text).split() for text in texts] for texts in references]
    return [cut(text).split() for text in hypotheses], tokens, signed


def references_per_example(references: Sequence[Sequence[str]]) -> int | None:
    """Their number; None where it varies."""
    counts = {len(texts) for texts in references}
    return counts.pop() if len(counts) == 1 else None


# -- texts as somebody hands them over ------------------------------------------------------------------------------


def transposed(streams: Sequence[Sequence[str | None]]) -> list[list[str]]:
    """The references of each example, from K lists with one text per example; None and blank texts are left out."""
    if len({len(stream) for stream in streams}) > 1:
        lengths = ", ".join(f"{len(stream):,}" for stream in streams)
        raise InputError(f"the lists of references are of different lengths ({lengths})", "give every example a place")
    return [[text for text in texts if text and not text.isspace()] for texts in zip(*streams, strict=True)]


def check_texts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse what cannot be scored, and references that are the other way round."""
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise InputError("a single text is given where a list belongs", "give a list with one item per example")
    if not len(hypotheses):
        raise InputError("there are no hypotheses", "give at least one")
    if any(isinstance(texts, str) for texts in references):
        problem = "the references of an example are a text, not a list"
        raise InputError(problem, 'give each hypothesis a list of references, such as ["a cat", "the cat"]')
    if len(hypotheses) != len(references):
        _refuse_count(len(hypotheses), [len(texts) for texts in references])
    for position, hypothesis in enumerate(hypotheses):
        if not isinstance(hypothesis, str):
            problem = f"hypothesis {position} is not a string ({type(hypothesis).__name__})"
            raise InputError(problem, "give one text per example")
    for position, texts in enumerate(references):
        if not len(texts):
            raise InputError(f"hypothesis {position} has no reference", "give it at least one, or leave both out")
        for number, text in enumerate(texts):
            name = f"reference {number} of hypothesis {position}"
            if not isinstance(text, str):
                raise InputError(f"{name} is not a string ({type(text).__name__})", "give strings only")
            if not text or text.isspace():
                raise InputError(f"{name} is blank", "leave it out")


def _refuse_count(hypotheses: int, references: Sequence[int]) -> None:
    if references and all(count == hypotheses for count in references):
        raise InputError(
            f"the references seem to be the other way round: {len(references):,} lists of {hypotheses:,}, "
            f"for {hypotheses:,} hypotheses",
            f"give {hypotheses:,} lists, one per hypothesis; polyref.score.transposed(references) makes them",
        )
    problem = f"there are {hypotheses:,} hypotheses, but references for {len(references):,}"
    raise InputError(problem, "give one list of references for each hypothesis")
