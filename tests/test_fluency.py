"""Sentences that are less fluent than what people wrote are left out, and the next best take their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from judges import Asked, Drawn, Table
from samples import CAT, captions

from polyref.align import AlignSettings
from polyref.encode import default_encoder
from polyref.errors import InputError, SettingsError
from polyref.example import Example, PseudoReference, Reference
from polyref.expansion import ExpandSettings, Tools, expand
from polyref.judge import LOOKED_AT, Chosen, JudgeSettings, Reader, choose_read
from polyref.lattice import Engine, Lattice, PlainEngine, SearchSettings
from polyref.stats import Tally

BY_BLEU = JudgeSettings("bleu")
MAT = ["a cat sits on the mat today", "the cat sits on a mat today"]
NEW = ["a cat sits on a mat today", "the cat sits on the mat today"]


def lattice_of(references: Sequence[str], engine: Engine | None = None) -> Lattice:
    return Lattice.from_references(references, engine=engine or PlainEngine())


def chosen(
    references: Sequence[str] | Lattice, wanted: int, margin: float, model: Asked, search: SearchSettings | None = None
) -> Chosen:
    lattice = references if isinstance(references, Lattice) else lattice_of(references)
    [choice] = choose_read([lattice], [wanted], Reader(model, margin), search or SearchSettings())
    return choice


def texts(found: Chosen) -> list[str]:
    return [pseudo.text for pseudo in found.pseudo_references]


def not_fluent(found: Chosen) -> int:
    return found.left_out.get("fluency", 0)


def bleus(found: Chosen) -> list[float]:
    return [pseudo.bleu for pseudo in found.pseudo_references]


def fluencies(found: Chosen) -> list[float | None]:
    return [pseudo.fluency for pseudo in found.pseudo_references]


# -- the floor --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("margin", "kept"),
    [
        (0.4999, []),
        (0.5, NEW[:1]),
        (0.5999, NEW[:1]),
        (0.6, NEW),
        (0.0, []),
        (-1.0, []),
        (100.0, NEW),
    ],
)
def test_a_sentence_may_lie_below_the_least_fluent_gold_reference_by_the_margin(margin, kept):
    model = Table({MAT[0]: -1.0, MAT[1]: -2.0, NEW[0]: -2.5, NEW[1]: -2.6})
    found = chosen(MAT, 5, margin, model)
    assert sorted(texts(found)) == kept
    assert not_fluent(found) == 2 - len(kept)


@pytest.mark.parametrize(("margin", "kept"), [(-1.0, NEW[:1]), (-0.7, NEW[:1]), (-0.6999, NEW), (0.0, NEW)])
def test_a_margin_below_zero_asks_for_more_than_gold_has(margin, kept):
    model = Table({MAT[0]: -1.0, MAT[1]: -2.0, NEW[0]: -1.0, NEW[1]: -1.3001})
    assert sorted(texts(chosen(MAT, 5, margin, model))) == kept


@pytest.mark.parametrize(
    ("gold", "margin", "value"),
    [(-0.7, 0.1, -0.8), (-1.1, 2.2, -3.3), (-0.1234, 0.25, -0.3734), (-2.0, 1 / 3, -2.3333)],
)
def test_a_sentence_that_lies_right_at_the_floor_is_kept(gold, margin, value):
    """-0.7 - 0.1 is a little more than -0.8 to a computer."""
    at, below = (Table({**dict.fromkeys(MAT, gold), **dict.fromkeys(NEW, value - less)}) for less in (0, 0.0001))
    assert not_fluent(chosen(MAT, 2, margin, at)) == 0
    assert texts(chosen(MAT, 2, margin, below)) == []


def test_every_lattice_has_a_floor_of_its_own():
    model = Table({"a b c d x": -3.0, "a b c d e f": -0.1, "q b c d e g": -0.1})
    low, high = lattice_of(["a b c d x", "q b c d z"]), lattice_of(["a b c d e f", "q b c d e g"])
    found = choose_read([low, high], [5, 5], Reader(model, 0.0), SearchSettings())
    assert len(texts(found[0])) == 2
    assert texts(found[1]) == []


# -- which ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [-0.2, 0.0, 0.3])
def test_what_is_chosen_keeps_its_order_by_bleu(margin):
    found = chosen(CAT, 40, margin, Drawn(CAT))
    best = [sentence.text for sentence in lattice_of(CAT).best(10_000)]
    assert [best.index(text) for text in texts(found)] == sorted(best.index(text) for text in texts(found))
    assert bleus(found) == sorted(bleus(found), reverse=True)
    assert len(texts(found)) == 40


def test_the_wanted_are_counted_after_leaving_out():
    model = Drawn(CAT)
    found = chosen(CAT, 15, 0.0, model)
    assert len(texts(found)) == len(bleus(found)) == len(fluencies(found)) == 15
    assert not_fluent(found) > 0
    assert min(fluencies(found)) >= -0.5


def test_left_out_are_those_before_the_last_one_chosen():
    found = chosen(CAT, 15, 0.0, Drawn(CAT))
    best = [sentence.text for sentence in lattice_of(CAT).best(10_000)]
    assert best.index(texts(found)[-1]) + 1 == 15 + not_fluent(found)


def test_a_margin_that_leaves_out_nothing_gives_the_best_by_bleu():
    found = chosen(CAT, 15, 100.0, Drawn(CAT))
    best = lattice_of(CAT).best(15)
    assert (texts(found), bleus(found)) == ([one.text for one in best], [one.bleu for one in best])
    assert (not_fluent(found), found.exact) == (0, True)


def test_scores_are_those_of_the_sentences_they_stand_beside():
    lattice, model = lattice_of(CAT), Drawn(CAT)
    found = chosen(lattice, 25, 0.0, model)
    assert bleus(found) == [lattice.bleu(text) for text in texts(found)]
    assert fluencies(found) == model.fluency([text.split() for text in texts(found)])


def test_words_are_judged_as_they_are_compared_not_as_they_are_written():
    model = Table({})
    found = chosen(["The cat sleeps on a mat.", "the cat sleeps on a rug, now."], 3, 0.0, model)
    asked = [sentence for call in model.calls for sentence in call]
    assert "the cat sleeps on a mat ." in asked
    assert all(sentence == sentence.lower() for sentence in asked)
    assert all(text.startswith("The cat") for text in texts(found))


# -- how many are asked about -----------------------------------------------------------------------------------


def test_a_lattice_that_is_exhausted_gives_what_it_has():
    model = Table({NEW[0]: -9.0})
    found = chosen(MAT, 5, 0.5, model)
    assert (texts(found), not_fluent(found), found.exact) == (NEW[1:], 1, True)
    assert len(model.calls) == 2  # gold, and all there is


def test_more_are_asked_about_as_long_as_too_few_are_fluent():
    lattice = lattice_of(CAT)
    best = [sentence.text for sentence in lattice.best(100)]
    model = Table({**dict.fromkeys(best, -9.0), best[2]: -1.0, best[40]: -1.0})
    found = chosen(lattice, 2, 0.0, model)
    assert texts(found) == [best[2], best[40]]
    assert [len(call) for call in model.calls] == [5, 4, 4, 8, 16, 32]
    assert not_fluent(found) == 39


def test_no_sentence_is_asked_about_twice():
    model = Table(dict.fromkeys([sentence.text for sentence in lattice_of(CAT).best(10_000)], -9.0))
    chosen(CAT, 20, 0.0, model)
    asked = [sentence for call in model.calls for sentence in call]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("wanted", [1, 3, 7])
def test_no_more_than_the_best_few_dozen_are_looked_at_for_each_that_is_wanted(wanted):
    model = Table(dict.fromkeys([sentence.text for sentence in lattice_of(CAT).best(10_000)], -9.0))
    found = chosen(CAT, wanted, 0.0, model)
    assert texts(found) == []
    assert not_fluent(found) == sum(len(call) for call in model.calls[1:]) == LOOKED_AT * wanted


def test_no_more_are_looked_at_than_may_be_tied():
    model = Table(dict.fromkeys([sentence.text for sentence in lattice_of(CAT).best(10_000)], -9.0))
    assert not_fluent(chosen(CAT, 8, 0.0, model, SearchSettings(tie_limit=12))) == 12
    assert not_fluent(chosen(CAT, 8, 100.0, model, SearchSettings(tie_limit=8))) == 0


def test_a_lattice_that_should_give_nothing_is_not_searched():
    model = Table({})
    found = choose_read([lattice_of(CAT), lattice_of(MAT)], [0, -3], Reader(model, 0.0), SearchSettings())
    assert found == [Chosen((), True, {})] * 2
    assert [len(call) for call in model.calls] == [7]


def test_no_lattices_are_fine():
    assert choose_read([], [], Reader(Table({}), 0.0), SearchSettings()) == []


def test_all_lattices_are_asked_about_together():
    model = Drawn()
    lattices = [lattice_of(references) for references in captions(30)]
    choose_read(lattices, [5] * 30, Reader(model, 0.0), SearchSettings())
    assert len(model.calls) <= 6
    assert len(model.calls[0]) == 90


def test_both_engines_choose_the_same(engine):
    expected = chosen(CAT, 30, 0.0, Drawn(CAT))
    assert chosen(lattice_of(CAT, engine), 30, 0.0, Drawn(CAT)) == expected


# -- expanding --------------------------------------------------------------------------------------------------


def example(*texts: str, id: str = "1") -> Example:
    return Example(id, None, tuple(map(Reference, texts)))


def expanded(given: Example, per_example: int, *, model: Asked, tally: Tally | None = None, **settings: Any) -> Example:
    chosen = ExpandSettings(per_example, judging=BY_BLEU, **settings)
    [result] = expand([given], settings=chosen, language_model=model, engine=PlainEngine(), tally=tally)
    return result


def test_pseudo_references_carry_their_fluency():
    model = Drawn(CAT)
    result = expanded(example(*CAT), 20, model=model, fluency=0.0)
    found = chosen(CAT, 15, 0.0, model)
    assert result.pseudo_references == tuple(
        PseudoReference(text, bleu, fluency=fluency)
        for text, bleu, fluency in zip(texts(found), bleus(found), fluencies(found), strict=True)
    )


def test_nothing_is_judged_unless_it_is_asked_for():
    model = Drawn(CAT)
    result = expanded(example(*CAT), 20, model=model)
    assert {pseudo.fluency for pseudo in result.pseudo_references} == {None}
    assert model.calls == []


def test_the_tally_counts_what_was_left_out():
    tally = Tally()
    expanded(example(*CAT), 20, model=Drawn(CAT), fluency=0.0, tally=tally)
    assert tally.summary()["left_out"] == tally.left_out == chosen(CAT, 15, 0.0, Drawn(CAT)).left_out
    assert tally.left_out["fluency"] > 0
    both = Tally()
    both.add(tally)
    both.add(tally)
    assert both.left_out["fluency"] == 2 * tally.left_out["fluency"]


def test_an_example_falls_short_where_too_few_are_fluent():
    model, tally = Table({NEW[0]: -9.0}), Tally()
    result = expanded(example(*MAT), 4, model=model, fluency=0.0, shortfall="repeat", tally=tally)
    assert [pseudo.text for pseudo in result.pseudo_references] == [NEW[1], MAT[0]]
    assert [pseudo.fluency for pseudo in result.pseudo_references] == [-1.0, None]
    assert tally.short == {"left_out": 1}
    with pytest.raises(InputError, match='the example "1" gives 3 references of 4'):
        expanded(example(*MAT), 4, model=model, fluency=0.0, shortfall="fail")


def test_an_example_gives_the_same_alone_and_among_others():
    given = [example(*references, id=str(number)) for number, references in enumerate(captions(20))]
    settings = ExpandSettings(8, fluency=0.0, judging=BY_BLEU)
    together = list(expand(given, settings=settings, language_model=Drawn(), engine=PlainEngine()))
    assert together == [expanded(one, 8, model=Drawn(), fluency=0.0) for one in given]


@pytest.mark.parametrize("margin", [101, -101, float("nan"), float("inf")])
def test_a_margin_that_makes_no_sense_is_refused(margin):
    with pytest.raises(SettingsError, match=r"fluency is .*; give a (finite )?number from -100 to 100"):
        ExpandSettings(fluency=margin)


def test_the_model_given_judges_before_the_encoder_and_the_encoder_before_the_built_in_one():
    given, own = Table({}), replace(Tools(), encoder=default_encoder())
    assert replace(own, language_model=given).model() is given
    assert own.model() is own.encoder
    assert Tools().model() is default_encoder()


def test_the_built_in_model_finds_a_jumble_less_fluent_than_a_sentence():
    sentences = ["a cat is sleeping on the table .", "the man is standing on the street ."]
    jumbled = ["table the on . sleeping is cat a", ". is street man the on the standing"]
    fluent, jumble = (default_encoder().fluency([text.split() for text in texts]) for texts in (sentences, jumbled))
    assert all(better > worse for better, worse in zip(fluent, jumble, strict=True))


def test_the_built_in_model_judges_where_none_is_given():
    settings = ExpandSettings(12, fluency=0.25, judging=BY_BLEU)
    [hard] = expand([example(*CAT)], settings=settings, engine=PlainEngine())
    texts = [pseudo.text.split() for pseudo in hard.pseudo_references]
    assert [pseudo.fluency for pseudo in hard.pseudo_references] == default_encoder().fluency(texts)
    floor = min(default_encoder().fluency([text.split() for text in CAT])) - 0.25
    assert min(pseudo.fluency for pseudo in hard.pseudo_references) >= floor
    soft = replace(settings, align=AlignSettings("soft"))
    [result] = expand([example(*CAT)], settings=soft, engine=PlainEngine())
    assert all(pseudo.fluency is not None and pseudo.fluency >= floor for pseudo in result.pseudo_references)


def test_a_language_model_refuses_gold_references_that_it_was_not_made_for():
    class French:
        name = "french"

        def check(self, sentences):
            raise SettingsError("another language")

        def fluency(self, sentences):
            return [0.0] * len(sentences)

    lattice = Lattice.from_references(["a b c d", "a x c d"])
    with pytest.raises(SettingsError, match="another language"):
        choose_read([lattice], [1], Reader(French(), 0.0), SearchSettings())
