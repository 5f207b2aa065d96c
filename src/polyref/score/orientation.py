"""References are kept inside their example: one list for each hypothesis.

In:   hypotheses and references, as somebody hands them over; files of references, one text an example in each.
Out:  an error that says what is wrong with them; the same references, one list an example.
Not:  files (hypotheses.py), scoring.

sacreBLEU keeps references the other way round, as K lists of N, and cuts what does not fit without a word. Here
`transposed` is the only function that turns one into the other, and `check_texts` notices what was not turned.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyref.errors import InputError


def transposed(streams: Sequence[Sequence[str | None]]) -> list[list[str]]:
    """The references of each example, from K lists that hold one text an example; None and blank texts are left out."""
    if len({len(stream) for stream in streams}) > 1:
        lengths = ", ".join(f"{len(stream):,}" for stream in streams)
        raise InputError(f"the lists of references are of different lengths ({lengths})", "give every example a place")
    return [[text for text in texts if text and not text.isspace()] for texts in zip(*streams, strict=True)]


def check_texts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse what cannot be scored, and references that are the other way round."""
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise InputError("a single text is given where a list belongs", "give a list, with one item an example")
    if not len(hypotheses):
        raise InputError("there are no hypotheses", "give at least one")
    for position, hypothesis in enumerate(hypotheses):
        if not isinstance(hypothesis, str):
            kind = type(hypothesis).__name__
            raise InputError(f"hypothesis {position} is no text ({kind})", "give one text an example")
    if any(isinstance(texts, str) for texts in references):
        problem = "the references of an example are a text, not a list"
        raise InputError(problem, 'give each hypothesis a list of references, such as ["a cat", "the cat"]')
    _check_count(len(hypotheses), [len(texts) for texts in references])
    for position, texts in enumerate(references):
        _check_references(position, texts)


def _check_count(hypotheses: int, references: Sequence[int]) -> None:
    if len(references) == hypotheses:
        return
    if references and all(count == hypotheses for count in references):
        raise InputError(
            f"the references seem to be the other way round: {len(references):,} lists of {hypotheses:,}, "
            f"for {hypotheses:,} hypotheses",
            f"give {hypotheses:,} lists, one a hypothesis; polyref.score.transposed(references) makes them",
        )
    problem = f"there are {hypotheses:,} hypotheses, but references for {len(references):,}"
    raise InputError(problem, "give one list of references for each hypothesis")


def _check_references(position: int, texts: Sequence[str]) -> None:
    if not len(texts):
        raise InputError(f"hypothesis {position} has no reference", "give it at least one, or leave both out")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"reference {number} of hypothesis {position} is no text ({kind})", "give texts only")
        if not text or text.isspace():
            raise InputError(f"reference {number} of hypothesis {position} is blank", "leave it out")
