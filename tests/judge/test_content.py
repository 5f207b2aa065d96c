"""What sentences must say and must not say, as an example's gold references and its file set it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

import pytest
from samples import CAT, Families

from polyref import Lattice
from polyref.align import AlignSettings
from polyref.errors import InputError
from polyref.judge import Usage, explain, kept_rules, restored_rules, rules_of
from polyref.judge import usage as usage_module
from polyref.lattice import SearchSettings
from polyref.text import TextSettings

NOTHING = Usage()


def why(references: Sequence[str], sentence: str, usage: Usage = NOTHING, **settings: object) -> str | None:
    """Why a sentence of the references' lattice is left out."""
    lattice = Lattice.from_references(references, engine="plain", **settings)  # type: ignore[arg-type]
    found = lattice.sentence(sentence)
    assert found is not None, "the lattice has no such sentence"
    lattice.rules = rules_of(lattice, usage)
    return explain(lattice, found.words)


# -- twice ------------------------------------------------------------------------------------------------------------

MILL = ["near rivers mill", "mill near rivers"]


def test_no_word_may_be_said_more_often_than_by_the_reference_that_says_it_most():
    assert why(MILL, "mill near rivers mill") == 'says "mill" twice'
    assert why([*MILL, "old mill near rivers mill"], "mill near rivers mill") is None


def test_a_word_that_people_repeat_may_be_said_again():
    assert why(MILL, "mill near rivers mill", Usage(repeated={"mill": True})) is None


def test_short_words_may_be_repeated_unless_the_file_tells_otherwise():
    references = ["a dog and the cat", "the dog and a cat sit"]
    assert why(references, "a dog and a cat sit", Usage(repeated={"the": True})) == (
        'does not say "the", which every reference says'
    )
    known = Usage(repeated={"a": False})
    assert why(["a dog sees the cat", "dog sees a cat"], "a dog sees a cat", known) == 'says "a" twice'
    assert why(["a dog sees the cat", "dog sees a cat"], "a dog sees a cat") is None


@pytest.mark.parametrize(("one", "other"), [("walk", "walking"), ("inexpensive", "cheap")])
def test_words_that_count_as_one_are_not_said_together(one, other):
    usage = Usage(alternatives={"cheap": {"inexpensive": 9.0}, "inexpensive": {"cheap": 9.0}})
    references = [f"they {one} there all day", f"there all day some {other}"]
    said = why(references, f"they {one} there all day some {other}", usage)
    assert said == f'says "{one}" and "{other}", which count as the same'


def test_the_own_references_are_no_evidence_for_alternatives():
    references = ["they dine there all day", "there all day some drink"]
    sentence = "they dine there all day some drink"
    assert why(references, sentence, Usage(alternatives={"drink": {"dine": 0.4}, "dine": {"drink": 0.4}})) is None
    assert why(references, sentence, Usage(alternatives={"drink": {"dine": 0.5}, "dine": {"drink": 0.5}})) is not None


# -- lost, negation ---------------------------------------------------------------------------------------------------


def test_what_all_references_say_must_be_said():
    assert why(MILL, "near rivers") == 'does not say "mill", which every reference says'
    assert why([*MILL, "near rivers flows water"], "near rivers") is None


def test_what_all_references_say_in_other_words_must_be_said_too():
    usage = Usage(alternatives={"cheap": {"inexpensive": 9.0}, "inexpensive": {"cheap": 9.0}})
    references = ["cheap pub here", "pub here inexpensive"]
    assert why(references, "pub here", usage) == 'does not say "cheap" or "inexpensive", which every reference says'
    assert why(references, "pub here") is None


def test_negations_are_as_many_as_gold_has():
    references = ["not open mondays", "open mondays never"]
    assert why(references, "not open mondays never") == 'says "not" and "never", which count as the same'
    assert why(references, "open mondays") == 'does not say "not" or "never", which every reference says'


def test_a_hyphened_word_is_compared_part_by_part():
    references = ["a family-friendly pub by the sea", "the pub by the sea welcomes each family"]
    assert why(references, "a family-friendly pub by the sea welcomes each family") == (
        'says "family-friendly" and "family", which count as the same'
    )


# -- form -------------------------------------------------------------------------------------------------------------


def test_an_open_bracket_is_seen():
    references = ["it lies here (to the south) of us.", "it lies here to the south."]
    assert why(references, "it lies here (to the south.") == 'leaves "(" and ")" open'


@pytest.mark.parametrize("quotes", ['""', "“”", "„“", "«»", "»«"])
def test_quotes_come_in_pairs(quotes):
    references = [f"the {quotes[0]}big{quotes[1]} mill is old", "the big mill is old"]
    said = why(references, f"the {quotes[0]}big mill is old")
    assert said is not None
    assert said.startswith("leaves ")


@pytest.mark.parametrize("brackets", ["（）", "《》", "【】", "[]"])
def test_brackets_of_other_scripts_are_closed(brackets):
    references = [f"it lies here {brackets[0]}to the south{brackets[1]} of us.", "it lies here to the south."]
    said = why(references, f"it lies here {brackets[0]}to the south.")
    assert said == f'leaves "{brackets[0]}" and "{brackets[1]}" open'


@pytest.mark.parametrize("fold_case", [True, False])
def test_punctuation_and_case_make_no_new_sentence(fold_case):
    references = ["The mill is old.", "the mill is old", "mill, old"]
    text = TextSettings(fold_case=fold_case)
    lattice = Lattice.from_references(references, text=text, engine="plain")
    lattice.rules = rules_of(lattice, NOTHING)
    said = [explain(lattice, sentence.words) for sentence in lattice.sentences()]
    assert "differs from a reference by punctuation or case alone" in said


def test_of_two_that_differ_by_marks_only_the_better_one_is_chosen():
    references = ["a man sits on a horse .", "a man rides a horse", "one man sits on his horse"]
    lattice = Lattice.from_references(references, engine="plain")
    by_bleu = [sentence.words for sentence in lattice.best(50, SearchSettings(min_bleu=0))]
    lattice.rules = rules_of(lattice, NOTHING)
    chosen = [sentence.words for sentence in lattice.best(50, SearchSettings(min_bleu=0))]
    cores = [tuple(word for word in words if word != ".") for words in chosen]
    assert len(set(cores)) == len(cores)
    assert len({tuple(word for word in words if word != ".") for words in by_bleu}) < len(by_bleu)


# -- rules and lattices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("align", [AlignSettings(), AlignSettings("soft", penalty=0.3)], ids=["hard", "soft"])
@pytest.mark.parametrize("usage", [NOTHING, Usage.of([[one.split() for one in CAT]])], ids=["nothing", "own"])
def test_gold_references_keep_every_rule(align, usage):
    lattice = Lattice.from_references(CAT, align=align, engine="plain")
    rules = rules_of(lattice, usage)
    assert rules.rules
    for reference in lattice.numbering.references:
        assert rules.broken(reference) is None


def test_linked_words_count_as_the_same():
    align = AlignSettings("soft", "cosine", 0.5, veto=(), position=0.0)
    encoder = Families([(0.72, "aged elder")]).encoder()
    references = ["aged man walks home", "elder man walks home aged"]
    assert why(references, "elder man walks home aged", align=align, encoder=encoder) == "it is a reference itself"
    references = ["aged man walks", "elder man walks", "man walks aged"]
    said = why(references, "elder man walks aged", align=align, encoder=encoder)
    assert said == 'says "elder" and "aged", which count as the same'
    assert why(references, "elder man walks aged") is None


def test_kept_rules_come_back_as_they_were():
    lattice = Lattice.from_references(CAT, engine="plain")
    rules = rules_of(lattice, NOTHING)
    again = restored_rules(lattice, kept_rules(rules))
    assert (again.rules, again.same) == (rules.rules, rules.same)


@pytest.mark.parametrize(
    "kept",
    [[(1, -1, 99)], [(0, 0, 0)], [(5, 5, 0)], [(0, 1, *[0] * 500)], [(0, 3, 0)] * 500],
    ids=["an unknown word", "gold says it", "gold says it less", "long", "many"],
)
def test_kept_rules_of_another_example_are_refused(kept):
    lattice = Lattice.from_references(["a cat sits", "a cat sleeps"], engine="plain")
    with pytest.raises(InputError, match="the kept rules do not fit"):
        restored_rules(lattice, kept)


def test_content_is_the_share_of_what_most_references_say():
    lattice = Lattice.from_references(["dogs jump fast", "dogs jump home", "cats sleep"], engine="plain")
    rules = rules_of(lattice, NOTHING)
    numbers = {word: number for number, word in enumerate(lattice.numbering.vocabulary)}
    sentences = [[numbers[word] for word in text.split()] for text in ("dogs jump", "dogs sleep", "cats sleep")]
    assert rules.contents(list(map(rules.covered, sentences))) == [1.0, 0.5, 0.0]


# -- what a file tells ------------------------------------------------------------------------------------------------


def file_of(pairs: Sequence[tuple[str, str]], times: int = 12) -> Usage:
    return Usage.of([[one.split(), other.split()] for one, other in pairs] * times)


def test_words_of_which_a_reference_has_one_or_the_other_are_alternatives():
    usage = file_of([("a cheap pub", "an inexpensive pub"), ("a red car", "this car red"), ("big dog", "large dog")])
    assert "inexpensive" in usage.alternatives["cheap"]
    assert "cheap" in usage.alternatives["inexpensive"]
    assert "large" in usage.alternatives["big"]
    assert "red" not in usage.alternatives.get("car", {})
    assert "big" not in usage.alternatives.get("cheap", {})


def test_what_is_repeated_is_known_where_enough_references_say_it(monkeypatch):
    monkeypatch.setattr(usage_module, "ENOUGH", 4)
    usage = Usage.of([[["of", "of", "it"], ["of", "it", "rare"]]] * 3)
    assert usage.repeated == {"it": False, "of": True}
    assert usage.may_repeat("of")
    assert not usage.may_repeat("it")
    assert not usage.may_repeat("rare")
    assert usage.may_repeat("new")
    assert not usage.may_repeat("新")


def test_examples_that_share_no_word_tell_nothing():
    usage = Usage.of([[["a"], ["b"]], [["c"], ["d"]]])
    assert usage.alternatives == {}


def test_usage_can_be_sent_and_is_the_same_for_any_order_of_hashes():
    usage = file_of([("a cheap pub", "an inexpensive pub")])
    assert pickle.loads(pickle.dumps(usage)) == usage
    assert list(usage.common) == sorted(usage.common, key=lambda word: (-usage.common[word], word))
    assert replace(usage, common={}) != usage
