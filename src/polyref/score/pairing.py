"""Bring hypotheses together with their references.

In:   the hypotheses of one file, and the references of others.
Out:  the hypotheses in the order of the examples that the references belong to.
Not:  reading the files (data/hypotheses.py), scoring.

Hypotheses with ids find their example by it, those without by their place. Whatever does not fit is refused with the
file and the line: a score of hypotheses that are off by one line looks like any other.
"""

from __future__ import annotations

from polyref.data.hypotheses import Hypotheses, References
from polyref.errors import InputError


def paired(hypotheses: Hypotheses, references: References) -> list[str]:
    """The hypotheses in the order of the references' examples, one for each."""
    if hypotheses.ids is not None and references.ids is not None and set(hypotheses.ids) & set(references.ids):
        return _by_id(hypotheses, hypotheses.ids, references, references.ids)
    _check_orientation(hypotheses, references)
    if hypotheses.ids is not None and references.ids is not None:
        raise _unknown(hypotheses, 0, references)
    if len(hypotheses.texts) != len(references.texts):
        found = _counted(len(hypotheses.texts), "hypothesis", "hypotheses")
        problem = f"{found}, but {references.name} has references for {len(references.texts):,}"
        raise InputError(problem, "give one hypothesis for each example, in the same order", file=hypotheses.name)
    return hypotheses.texts


def _by_id(hypotheses: Hypotheses, ids: list[str], references: References, examples: list[str]) -> list[str]:
    found = dict(zip(ids, hypotheses.texts, strict=True))
    known = set(examples)
    for place, id in enumerate(ids):
        if id not in known:
            raise _unknown(hypotheses, place, references)
    missing = [id for id in examples if id not in found]
    if missing:
        others = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        problem = f'there is no hypothesis for "{missing[0]}"{others} of {references.name}'
        raise InputError(problem, "give one for each example", file=hypotheses.name)
    return [found[id] for id in examples]


def _unknown(hypotheses: Hypotheses, place: int, references: References) -> InputError:
    id = hypotheses.ids[place] if hypotheses.ids else ""
    problem = f'{references.name} has no example with the id "{id}"'
    cure = "give the references of the same examples, or leave the ids out to go by order"
    return InputError(problem, cure, file=hypotheses.name, line=hypotheses.lines[place])


def _check_orientation(hypotheses: Hypotheses, references: References) -> None:
    """Refuse K examples of N references where N examples of K are meant."""
    count, examples = len(hypotheses.texts), len(references.texts)
    if examples == count or count == 1 or any(len(texts) != count for texts in references.texts):
        return
    if references.ids is None:
        given = f"{count:,} files of {_counted(examples, 'line', 'lines')}"
        cure = "let line k of each file be a reference of example k"
    else:
        given = f"{_counted(examples, 'record', 'records')} of {count:,} references"
        cure = f"give {count:,} records, each with the references of one example"
    problem = f"the references seem to be the other way round: {given}, for {count:,} hypotheses"
    raise InputError(problem, cure, file=references.name)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
