"""Facts that outputs lack: exact words only, and only where references use them."""

from __future__ import annotations

import pytest

from polyref.errors import InputError
from polyref.score.facts import facts, is_said, missing_of, slots_of

EAGLE = "name[The Eagle], food[Fast food], familyFriendly[yes]"
REFERENCES = ["The Eagle sells fast food to families.", "Families eat fast food at the Eagle."]


def test_slots_and_their_values_are_read():
    assert slots_of(EAGLE) == {"name": "The Eagle", "food": "Fast food", "familyFriendly": "yes"}
    assert slots_of("customer rating[5 out of 5],priceRange[£20-25] ") == {
        "customer rating": "5 out of 5",
        "priceRange": "£20-25",
    }
    assert slots_of("near[Café Brazil, by the river]") == {"near": "Café Brazil, by the river"}


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ("Fast food", "It has fast food.", True),
        ("pub", "The public likes it.", False),
        ("£20-25", "It costs £20-25.", True),
        ("French", "Frenchmen like it.", False),
        ("", "anything", True),
    ],
)
def test_a_value_is_said_by_its_whole_words(value, text, expected):
    assert is_said(value, text) is expected


def test_outputs_without_a_value_are_counted():
    sources = [EAGLE, "name[Aromi]"]
    outputs = ["The Eagle is kid-friendly.", "It is a pub."]
    found = facts(sources, outputs, [REFERENCES, ["Aromi is a pub."]])
    assert list(found) == ["name", "food", "familyFriendly"]
    assert (found["name"].given, found["name"].missing, found["name"].in_references) == (2, 1, 1.0)
    assert (found["food"].given, found["food"].missing) == (1, 1)
    assert missing_of(sources[0], outputs[0]) == ["food", "familyFriendly"]


def test_a_slot_that_references_say_in_other_words_does_not_count():
    found = facts([EAGLE], ["The Eagle sells fast food."], [REFERENCES])["familyFriendly"]
    assert (found.missing, found.in_references) == (None, 0.0)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("Ein Hund läuft.", "the source has no slots; give sources such as"),
        ("", "the source has no slots"),
        (None, "the source has no slots"),
        (["a"], "the source has no slots"),
        ("name[The Eagle], and more", "the source is not slots only"),
        ("name[The Eagle", "the source has no slots"),
    ],
)
def test_sources_of_another_form_are_refused(source, says):
    with pytest.raises(InputError, match=says):
        slots_of(source)


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="not as many sources"):
        facts([EAGLE], [], [REFERENCES])
