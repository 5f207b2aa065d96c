"""Expanding with a judge: what is known of the words, fresh paths, workers, and a reader of seams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from samples import CAT

from polyref import InputError, PseudoReference, SettingsError
from polyref.encode import Reading, default_encoder
from polyref.example import Example, Reference
from polyref.expansion import ExpandSettings, expand, usage_of
from polyref.fresh import FreshSettings, draw_fresh
from polyref.judge import JudgeSettings, Reader, Usage, choose_read, rules_of
from polyref.judge import usage as usage_module
from polyref.judge.seams import LIMIT
from polyref.lattice import Lattice, PlainEngine, SearchSettings
from polyref.text import TextSettings

MILL = ["near rivers mill", "mill near rivers"]
TWICE = "mill near rivers mill"


def example(*texts: str, id: str = "1") -> Example:
    return Example(id, None, tuple(map(Reference, texts)))


def texts(result: Example) -> list[str]:
    return [pseudo.text for pseudo in result.pseudo_references]


def by(judge: str, **settings: object) -> ExpandSettings:
    return ExpandSettings(judging=JudgeSettings(judge), search=SearchSettings(min_bleu=0), **settings)  # type: ignore[arg-type]


def test_content_is_judged_unless_something_else_is_said():
    assert ExpandSettings().judging.judge == "content"
    [judged], [all_of_them] = (expand([example(*MILL)], settings=by(judge)) for judge in ("content", "bleu"))
    assert TWICE in texts(all_of_them)
    assert TWICE not in texts(judged)


def test_what_the_first_examples_tell_counts_for_all(monkeypatch):
    monkeypatch.setattr(usage_module, "ENOUGH", 2)
    others = [example("mill and mill", "mill or mill", id=str(number)) for number in range(3)]
    *_, told = expand([*others, example(*MILL)], settings=by("content"))
    assert TWICE in texts(told)


def test_usage_that_is_given_is_used_and_nothing_is_read_ahead():
    def one_by_one() -> Iterator[Example]:
        yield from [example(*MILL)] * 128
        pytest.fail("read too far ahead")

    given = Usage(repeated={"mill": True})
    assert TWICE in texts(next(expand(one_by_one(), settings=by("content"), usage=given)))


def test_every_chosen_sentence_carries_its_judgements():
    [result] = expand([example(*CAT)])
    assert result.pseudo_references
    for pseudo in result.pseudo_references:
        assert pseudo.crossings is not None
        assert pseudo.crossings > 0
        assert pseudo.content is not None
        assert 0 <= pseudo.content <= 1
        assert (pseudo.risk, pseudo.fluency) == (None, None)


def test_of_equal_scores_fewer_crossings_come_first():
    [result] = expand([example(*CAT)], 60)
    keys = [(-pseudo.bleu, pseudo.crossings) for pseudo in result.pseudo_references]
    assert keys == sorted(keys)
    assert len({key[0] for key in keys}) < len(set(keys))


# -- fresh paths ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordering", ["uniform", "rank"])
def test_fresh_paths_keep_the_rules_that_were_kept(ordering):
    settings = replace(by("content"), keep_lattice=True)
    [kept] = expand(
        [example("a small dog sleeps here", "the dog rests here today", "dog sleeps there today")], settings=settings
    )
    lattice = Lattice.from_references([one.text for one in kept.references], engine="plain")
    lattice.rules = rules_of(lattice, usage_of([kept], TextSettings()))
    allowed = {sentence.text for sentence in lattice.best(1000, SearchSettings(min_bleu=0))}
    fresh = FreshSettings(50, by=ordering, min_bleu=0)
    [drawn] = draw_fresh([kept], fresh, epoch=0, seed=1)
    assert {one.text for one in drawn} == allowed
    assert allowed
    assert all(one.crossings for one in drawn)


def test_kept_rules_that_do_not_fit_are_refused_with_the_example():
    [kept] = expand([example(*MILL, id="mill 7")], settings=replace(by("content"), keep_lattice=True))
    assert kept.lattice is not None
    assert kept.lattice.kept is not None
    broken = replace(kept, lattice=replace(kept.lattice, kept=replace(kept.lattice.kept, rules=((1, -1, 77),))))
    with pytest.raises(InputError, match='the example "mill 7": the kept rules do not fit'):
        draw_fresh([broken], FreshSettings(5, min_bleu=0), epoch=0, seed=1)


# -- a reader of seams ------------------------------------------------------------------------------------------------


class Flat:
    """A model to which all words are alike, but for those of some sentences."""

    name = "flat"

    def __init__(self, risky: Sequence[str]):
        self.risky = {tuple(one.split()) for one in risky}

    def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]:
        return [0.0] * len(sentences)

    def readings(self, sentences: Sequence[Sequence[str]]) -> list[Reading]:
        import numpy as np

        states = [np.ones((len(one), 2), np.float32) for one in sentences]
        values = [np.full(len(one), -20.0 if tuple(one) in self.risky else -1.0) for one in sentences]
        return list(map(Reading, values, states, states))


def test_risky_sentences_are_left_out_and_the_next_best_take_their_places():
    lattice = Lattice.from_references(CAT, engine="plain")
    best = [sentence.text for sentence in lattice.best(8)]
    [chosen] = choose_read([lattice], [5], Reader(Flat(best[1:3]), usage=Usage()), SearchSettings())  # type: ignore[arg-type]
    assert [one.text for one in chosen.pseudo_references] == [best[0], *best[3:7]]
    assert chosen.left_out == {"seams": 2}
    assert all(one.risk is not None and one.risk <= LIMIT for one in chosen.pseudo_references)


def test_seams_of_real_captions_are_judged_by_the_built_in_model():
    settings = ExpandSettings(judging=JudgeSettings("seams"), per_example=12)
    [judged] = expand([example(*CAT)], settings=settings, engine=PlainEngine())
    assert judged.pseudo_references
    assert all(one.risk is not None and 0 <= one.risk <= LIMIT for one in judged.pseudo_references)


def test_the_limit_of_the_risk_can_be_set():
    def risks(limit: float) -> list[float]:
        settings = ExpandSettings(judging=JudgeSettings("seams"), per_example=40, risk_limit=limit)
        [judged] = expand([example(*CAT)], settings=settings, engine=PlainEngine())
        return [one.risk for one in judged.pseudo_references if one.risk is not None]

    every = risks(1000)
    low = sorted(every)[len(every) // 2]
    passing, found = [risk for risk in every if risk <= low], risks(low)
    assert 0 < len(passing) < len(every)
    assert found[: len(passing)] == passing  # others, with less BLEU, take the places of the rest
    assert max(found) <= low


def test_a_model_that_cannot_read_words_is_refused():
    class Mute:
        name = "mute"

        def fluency(self, sentences: Sequence[Sequence[str]]) -> list[float]:
            return [0.0] * len(sentences)

    with pytest.raises(SettingsError, match="mute tells nothing about single words"):
        list(expand([example(*CAT)], settings=by("seams"), language_model=Mute()))
    assert Reader(Mute(), margin=0.0).usage is None
    assert Reader(default_encoder(), usage=Usage()).margin is None


def test_text_of_another_language_is_refused_with_a_cure_that_helps():
    french = ["je veux bien nous aider avec cette maison", "elle mange toujours des pommes chez nous"] * 12
    with pytest.raises(SettingsError, match=r"the language model .* do not judge seams or fluency"):
        list(expand([example(*french)], settings=by("seams", per_example=40)))


@pytest.mark.parametrize("wrong", ["seams", None, 1])
def test_a_group_of_settings_must_be_one(wrong):
    with pytest.raises(SettingsError, match=r"give JudgeSettings\(...\)"):
        ExpandSettings(judging=wrong)


def test_usage_must_be_one():
    with pytest.raises(SettingsError, match="usage is not a Usage"):
        expand([example(*CAT)], usage={})  # type: ignore[arg-type]


def test_a_pseudo_reference_has_no_judgements_by_bleu_alone():
    [result] = expand([example(*CAT)], settings=by("bleu", per_example=8))
    assert {one._replace(text="", bleu=0.0) for one in result.pseudo_references} == {PseudoReference("", 0.0)}
