"""The rules of content: whatever the references say, the kernel makes the rules that plain Python makes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyref import AlignSettings, TextSettings
from polyref.judge import Usage, rules_of
from polyref.lattice import CompiledEngine, Lattice, PlainEngine

# Stems, alternatives, hyphens, negations, case, brackets and quotes: whatever the rules look at.
SAID = """
    a of the cat cats dog dogs moderate moderately cheap inexpensive family-friendly friendly no-no not don't Cat ( ) "
    « » . , 2 two price pricey priced
"""
USAGE = Usage({"the": True, "two": False}, {"a": 9}, {"cheap": {"inexpensive": 2.5}, "dog": {"cat": 0.4, "two": 9.0}})

texts = st.lists(st.sampled_from(SAID.split()), min_size=1, max_size=9).map(" ".join)


@pytest.mark.compiled
@given(st.lists(texts, min_size=1, max_size=5), st.booleans(), st.data())
def test_both_engines_make_the_same_rules(
    compiled: CompiledEngine, references: list[str], fold_case: bool, data: st.DataObject
) -> None:
    text = TextSettings(fold_case=fold_case)
    lattice = Lattice.from_references(references, align=AlignSettings(), text=text, engine=compiled)
    if data.draw(st.booleans(), "as if by soft alignment"):
        lattice.penalty = 0.5
        lattice.after = [1 + place // 2 for place in range(len(lattice.after))]
    fast = rules_of(lattice, USAGE)
    lattice.engine = PlainEngine()
    plain = rules_of(lattice, USAGE)
    assert (fast.rules, fast.same, fast.shared) == (plain.rules, plain.same, plain.shared)


def test_rules_are_the_same_behind_their_numbers() -> None:
    lattice = Lattice.from_references(['a cat ( "', "not cats"], engine="plain")
    rules = rules_of(lattice, USAGE)
    again = type(rules).of_arrays(*rules.arrays)
    assert (again.rules, again.same, again.shared) == (rules.rules, rules.same, rules.shared)
