"""A pair as a prompt and its completion."""

from __future__ import annotations

import pytest

from polyref.errors import InputError
from polyref.feed.lines import prompt_completion
from polyref.feed.stream import Pair

QUESTION = {"role": "user", "content": "Say it in English: Guten Morgen"}


def pair(source: object, reference: str = "Good morning") -> Pair:
    return Pair("7", source, reference, True)


@pytest.mark.parametrize(
    ("source", "reference", "completion"),
    [
        ("Guten Morgen", "Good morning", " Good morning"),
        ("Guten Morgen\n", "Good morning", "Good morning"),
        ("Guten Morgen", "\tGood morning", "\tGood morning"),
        ("", "Good morning", "Good morning"),
    ],
)
def test_a_text_and_its_reference_stay_apart_when_they_are_put_together(source, reference, completion):
    assert prompt_completion(pair(source, reference)) == {"prompt": source, "completion": completion}


def test_what_stands_between_them_can_be_chosen():
    assert prompt_completion(pair("早上好"), separator="")["completion"] == "Good morning"
    assert prompt_completion(pair("Guten Morgen"), separator=" => ")["completion"] == " => Good morning"


def test_messages_are_answered_by_the_assistant():
    source = [{"role": "system", "content": "Be brief."}, QUESTION]
    found = prompt_completion(pair(source))
    assert found == {"prompt": source, "completion": [{"role": "assistant", "content": "Good morning"}]}


def test_a_message_may_have_parts_and_other_keys():
    source = [{"role": "user", "content": [{"type": "text", "text": "Guten Morgen"}], "name": "Ada"}]
    assert prompt_completion(pair(source))["prompt"] == source


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, 'the source of "7" is not a prompt; give a text'),
        ({"name": "Aromi"}, 'the source of "7" is not a prompt; give a text'),
        ([], 'the source of "7" is not a prompt; give a text'),
        (["Guten Morgen"], 'message 1 in the source of "7" has no role or no content'),
        ([QUESTION, {"role": "user"}], 'message 2 in the source of "7" has no role or no content'),
        ([{"role": 3, "content": "x"}], 'message 1 in the source of "7" has no role or no content'),
        ([QUESTION, {"role": "assistant", "content": "Hi"}], "end with an answer of the assistant; take it out"),
    ],
)
def test_what_is_no_prompt_is_refused(source, says):
    with pytest.raises(InputError) as refused:
        prompt_completion(pair(source))
    assert says in str(refused.value)
