"""From references to pseudo-references: how many, which, and with how much memory."""

import gc
import math
import weakref
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from samples import CAT, Families, captions

from polyref.align import AlignSettings
from polyref.encode import open_encoder
from polyref.errors import InputError, SettingsError
from polyref.example import Example, LatticeSummary, PseudoReference, Reference
from polyref.expansion import CHUNK, ExpandSettings, expand, usage_of
from polyref.judge import JudgeSettings
from polyref.lattice import CompiledEngine, Lattice, PlainEngine, SearchSettings, check_references, tokenized
from polyref.lattice import references as lattice_references
from polyref.stats import Tally
from polyref.text import TextSettings

TWO_SENTENCES_MORE = ["a cat sits on the mat today", "the cat sits on a mat today"]
FAMILY = Families([(0.72, "old aged")])
SOFT = AlignSettings("soft", "cosine", "adaptive", at_least=4)
BY_BLEU = JudgeSettings("bleu")


def example(*texts: str, id: str = "1", source: Any = None) -> Example:
    return Example(id, source, tuple(map(Reference, texts)))


def expanded(given: Example, per_example: int | None = None, **settings: Any) -> Example:
    settings.setdefault("judging", BY_BLEU)
    [result] = expand([given], per_example, settings=ExpandSettings(**settings), engine=PlainEngine())
    return result


def texts(result: Example) -> list[str]:
    return [pseudo.text for pseudo in result.pseudo_references]


# -- how many ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_example", [1, 4, 5, 6, 20, 100])
def test_gold_is_never_dropped_or_changed_and_the_rest_fills_up_to_the_total(per_example):
    given = replace(example(*CAT), references=tuple(Reference(text, weight=2.5) for text in CAT))
    result = expanded(given, per_example)
    assert result.references == given.references
    assert len(result.pseudo_references) == max(0, per_example - len(CAT))


def test_twenty_references_are_wanted_where_nothing_is_said():
    [result] = expand([example(*CAT)], engine=PlainEngine())
    assert len(result.references) + len(result.pseudo_references) == 20


def test_gold_references_that_are_equal_count_each_for_itself():
    result = expanded(example(*CAT, CAT[0], CAT[1]), 10)
    assert len(result.references) == 7
    assert len(result.pseudo_references) == 3


def test_an_example_with_one_reference_has_nothing_to_give():
    result = expanded(example("a cat sits on the mat"), 5)
    assert result.pseudo_references == ()
    assert result.lattice == LatticeSummary(1, None, exact=True)


def test_an_example_with_enough_gold_gets_none_and_still_says_what_its_lattice_holds():
    result = expanded(example(*CAT), 3)
    assert result.pseudo_references == ()
    assert result.lattice == LatticeSummary(2560, None, exact=True)


# -- which ------------------------------------------------------------------------------------------------------


def test_pseudo_references_are_new_distinct_and_best_first():
    result = expanded(example(*CAT), 60)
    scores = [pseudo.bleu for pseudo in result.pseudo_references]
    assert scores == sorted(scores, reverse=True)
    assert len(set(texts(result))) == 55
    assert not set(texts(result)) & set(CAT)


def test_a_pseudo_reference_never_differs_from_gold_by_capitals_alone():
    result = expanded(example("A Cat sits on the mat", "a dog sits on the mat", "The cat sits on a mat"), 20)
    folded = [text.casefold() for text in texts(result)]
    gold = {reference.text.casefold() for reference in result.references}
    assert folded
    assert not gold & set(folded)


def test_pseudo_references_are_those_of_the_lattice():
    best = Lattice.from_references(CAT, engine="plain").best(15)
    result = expanded(example(*CAT), 20)
    assert result.pseudo_references == tuple(PseudoReference(sentence.text, sentence.bleu) for sentence in best)


def test_a_smaller_expansion_is_the_beginning_of_a_larger_one():
    large = expanded(example(*CAT), 50)
    for per_example in (6, 10, 20):
        assert expanded(example(*CAT), per_example) == large.limited(per_example)


def test_the_seed_decides_among_equal_scores_only():
    first, second = (expanded(example(*CAT), 30, search=SearchSettings(seed=seed)) for seed in (0, 1))
    assert texts(first) != texts(second)
    assert [pseudo.bleu for pseudo in first.pseudo_references] == [p.bleu for p in second.pseudo_references]


def test_an_old_result_is_replaced():
    old = replace(
        example(*CAT), pseudo_references=(PseudoReference("old", 1.0),), lattice=LatticeSummary(7, 0.5, False)
    )
    assert expanded(old, 8) == expanded(example(*CAT), 8)


def test_what_else_an_example_carries_stays():
    given = replace(example(*CAT, id="cat", source={"image": 7}), record="{}", line=3)
    result = expanded(given, 8)
    assert (result.id, result.source, result.record, result.line) == ("cat", {"image": 7}, "{}", 3)


# -- too few ----------------------------------------------------------------------------------------------------


def test_too_few_sentences_are_kept_as_they_are():
    result = expanded(example(*TWO_SENTENCES_MORE), 7)
    assert texts(result) == texts(expanded(example(*TWO_SENTENCES_MORE), 7, shortfall="keep"))
    assert len(result.pseudo_references) == 2


def test_too_few_sentences_are_repeated_in_turn_with_gold_first():
    result = expanded(example(*TWO_SENTENCES_MORE), 10, shortfall="repeat")
    new = texts(result)[:2]
    assert texts(result)[2:] == [*TWO_SENTENCES_MORE, *new, *TWO_SENTENCES_MORE]
    assert [pseudo.repeat for pseudo in result.pseudo_references] == [False] * 2 + [True] * 6
    assert [pseudo.bleu for pseudo in result.pseudo_references[2:4]] == [100.0, 100.0]
    assert result.pseudo_references[4].bleu == result.pseudo_references[0].bleu


def test_one_reference_is_repeated_alone():
    assert texts(expanded(example("a cat"), 3, shortfall="repeat")) == ["a cat", "a cat"]


def test_too_few_sentences_can_be_an_error_that_names_the_example():
    with pytest.raises(
        InputError, match='the example "cat" gives 4 references of 7; ask for fewer, or set shortfall'
    ) as failed:
        expanded(replace(example(*TWO_SENTENCES_MORE, id="cat"), line=12), 7, shortfall="fail")
    assert failed.value.line == 12


@pytest.mark.parametrize("shortfall", ["keep", "repeat", "fail"])
def test_an_example_that_gives_enough_does_not_fall_short(shortfall):
    result = expanded(example(*TWO_SENTENCES_MORE), 4, shortfall=shortfall)
    assert len(result.pseudo_references) == 2
    assert not any(pseudo.repeat for pseudo in result.pseudo_references)


def test_sentences_that_score_nothing_are_left_out_unless_they_are_admitted():
    given = example("a b x d e", "a c x f e")
    assert expanded(given, 20).pseudo_references == ()
    admitted = expanded(given, 20, search=SearchSettings(min_bleu=0))
    assert admitted.pseudo_references
    assert {pseudo.bleu for pseudo in admitted.pseudo_references} == {0.0}


# -- the penalty ------------------------------------------------------------------------------------------------


def people(tail: str) -> Example:
    """Two references with 2 sentences, and 4 where "old" and "aged", alike by 0.72, are linked."""
    return example(f"old man {tail}", f"aged person {tail}")


def with_soft(given: Example, align: AlignSettings) -> Example:
    settings = ExpandSettings(align=align)
    [result] = expand([given], settings=settings, encoder=FAMILY.encoder(), engine=PlainEngine())
    return result


@pytest.mark.parametrize(
    ("at_least", "penalty", "sentences"),
    [(1, 0.9, 2), (2, 0.9, 2), (3, 0.7, 4), (4, 0.7, 4), (5, 0.3, 4), (100, 0.3, 4)],
)
def test_the_adaptive_penalty_gives_way_until_there_are_enough_sentences(at_least, penalty, sentences):
    align = AlignSettings("soft", "cosine", "adaptive", at_least=at_least)
    result = with_soft(people("walks home every single day"), align)
    assert result.lattice == LatticeSummary(sentences, penalty, exact=True)


@pytest.mark.parametrize(
    ("levels", "penalty"),
    [
        ({"penalty_start": 0.71, "at_least": 4}, 0.71),
        ({"penalty_start": 0.8, "penalty_step": 0.3, "at_least": 4}, 0.5),
        ({"penalty_floor": 0.8, "at_least": 4}, 0.8),
        ({"penalty_start": 0.8, "penalty_floor": 0.8}, 0.8),
    ],
)
def test_the_adaptive_penalty_keeps_to_its_levels(levels, penalty):
    result = with_soft(people("walks home every single day"), AlignSettings("soft", "cosine", "adaptive", **levels))
    assert result.lattice is not None
    assert result.lattice.penalty == penalty


@pytest.mark.parametrize(("penalty", "sentences"), [(0.75, 2), (0.7, 4), (0.0, 4), (1.0, 2)])
def test_a_fixed_penalty_is_what_a_link_must_beat(penalty, sentences):
    result = with_soft(people("walks home every single day"), AlignSettings("soft", "cosine", penalty))
    assert result.lattice == LatticeSummary(sentences, penalty, exact=True)


def test_soft_alignment_takes_the_built_in_encoder_where_none_is_given():
    settings = ExpandSettings(align=AlignSettings("soft"), judging=BY_BLEU)
    given = [example(*CAT)]
    [named] = expand(given, settings=settings, encoder=open_encoder("english"), engine=PlainEngine())
    assert expanded(example(*CAT), align=AlignSettings("soft")) == named
    assert named.lattice is not None
    assert named.lattice.penalty == AlignSettings().penalty


@pytest.mark.parametrize(("baseline", "sentences"), [(0.0, 4), (0.43, 4), (0.45, 2), (-0.9, 4)])
def test_a_baseline_that_is_given_is_used_instead_of_the_encoders(baseline, sentences):
    """Of words alike by 0.72, a half is left where unrelated ones share 0.44. This encoder cannot tell what they do."""
    result = with_soft(people("walks home every single day"), AlignSettings("soft", penalty=0.5, baseline=baseline))
    assert result.lattice == LatticeSummary(sentences, 0.5, exact=True)
    with pytest.raises(SettingsError, match="knows too few words of the sample text to measure its baseline"):
        with_soft(people("walks home every single day"), AlignSettings("soft", penalty=0.5))


# -- one after the other ----------------------------------------------------------------------------------------


def read_at_most(count: int) -> Iterator[Example]:
    for number in range(count):
        yield example("a cat", "the cat", id=str(number))
    pytest.fail("read too far ahead")


def test_nothing_is_read_before_the_first_result_is_asked_for():
    expand(read_at_most(0))


@pytest.mark.parametrize("results", [1, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_no_more_than_the_chunk_at_hand_is_read(results):
    needed = math.ceil(results / CHUNK) * CHUNK
    assert (
        len(
            list(
                islice(
                    expand(read_at_most(needed), settings=ExpandSettings(judging=BY_BLEU), engine=PlainEngine()),
                    results,
                )
            )
        )
        == results
    )


def test_examples_come_out_in_the_order_in_which_they_went_in():
    given = [example(*references, id=str(number)) for number, references in enumerate(captions(2 * CHUNK + 3))]
    results = list(expand(iter(given), 5, engine=PlainEngine()))
    assert [result.id for result in results] == [one.id for one in given]
    assert [result.references for result in results] == [one.references for one in given]


def test_no_example_gives_no_result():
    assert list(expand([])) == []


class Source:
    """Something that can be watched."""


def test_an_example_is_let_go_once_its_chunk_is_done():
    watched: list[weakref.ref[Source]] = []

    def examples() -> Iterator[Example]:
        for number in range(3 * CHUNK):
            source = Source()
            watched.append(weakref.ref(source))
            yield example("a cat", id=str(number), source=source)

    results = expand(examples(), settings=ExpandSettings(judging=BY_BLEU), engine=PlainEngine())
    for _ in islice(results, 2 * CHUNK + 1):
        pass
    gc.collect()
    alive = [number for number, source in enumerate(watched) if source() is not None]
    assert alive == list(range(2 * CHUNK, 3 * CHUNK))
    assert len(list(results)) == CHUNK - 1


@pytest.mark.parametrize("align", [AlignSettings(), SOFT], ids=["hard", "soft"])
def test_an_example_gives_the_same_alone_and_among_others(align):
    given = [example(*references) for references in captions(20)]
    settings, encoder = ExpandSettings(align=align), Families().encoder()
    together = list(expand(given, settings=settings, encoder=encoder, engine=PlainEngine()))
    how = {"settings": settings, "encoder": encoder, "engine": PlainEngine(), "usage": usage_of(given, TextSettings())}
    alone = [next(expand([one], **how)) for one in given]
    assert together == alone


@pytest.mark.compiled
@pytest.mark.parametrize("align", [AlignSettings(), SOFT], ids=["hard", "soft"])
def test_the_compiled_engine_gives_what_plain_python_gives(align):
    given = [example(*CAT), *[example(*references) for references in captions(150)]]
    settings, encoder = ExpandSettings(align=align), Families().encoder()
    plain, compiled = (
        list(expand(given, settings=settings, encoder=encoder, engine=engine))
        for engine in (PlainEngine(), CompiledEngine())
    )
    assert compiled == plain


# -- settings and sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"per_example": 0}, "per_example is 0; give a whole number, 1 or more"),
        ({"per_example": 100_001}, "per_example is 100,001, above the tie limit of 10,000; ask for fewer"),
        ({"shortfall": "drop"}, 'shortfall is "drop"; choose one of keep, repeat, fail'),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(SettingsError, match=says):
        ExpandSettings(**settings)


def test_a_tally_counts_what_happened():
    tally = Tally()
    given = [example(*CAT), example(*TWO_SENTENCES_MORE), example("a cat")]
    results = list(expand(given, 10, engine=PlainEngine(), tally=tally))
    summary = tally.summary()
    scores = [pseudo.bleu for result in results for pseudo in result.pseudo_references]
    assert summary.pop("seconds").keys() == {"tokens", "encode", "lattice", "judge", "search"}
    assert summary == {
        "examples": 3,
        "references_before": 8,
        "references_after": 8 + 5,
        "fell_short": 2,
        "fell_short_why": {"left_out": 1, "no_more": 1},
        "not_exact": 0,
        "left_out": {"lost": 2},
        "sentences_median": "4",
        "sentences_largest": "2560",
        "mean_bleu_kept": round(sum(scores) / 5, 2),
    }


def test_the_sum_of_two_tallies_is_the_tally_of_both():
    given = [example(*CAT), example(*TWO_SENTENCES_MORE), example("a cat")]
    both, parts = Tally(), Tally()
    usage = usage_of(given, TextSettings())
    list(expand(given, 10, engine=PlainEngine(), usage=usage, tally=both))
    for part in (given[:1], given[1:]):
        tally = Tally()
        list(expand(part, 10, engine=PlainEngine(), usage=usage, tally=tally))
        parts.add(tally)
    assert {**parts.summary(), "seconds": None} == {**both.summary(), "seconds": None}
    assert parts.seconds.keys() == both.seconds.keys()


@pytest.mark.parametrize(
    ("sentences", "median", "largest"),
    [
        ([3, 4], "3.5", "4"),
        ([10**20], "1.00e+20", "100000000000000000000"),
        ([10**400], "over 1e308", f"1{'0' * 400}"),
        ([10**5000], "over 1e308", "over 1e308"),
        ([], "0", "0"),
    ],
)
def test_counts_of_any_size_are_summed_up(sentences, median, largest):
    tally = Tally()
    for count in sentences:
        tally.count(example("a"), (), sentences=count, exact=True, short=False)
    summary = tally.summary()
    assert (summary["sentences_median"], summary["sentences_largest"]) == (median, largest)
    assert summary["mean_bleu_kept"] is None


@pytest.mark.parametrize(
    ("references", "says"),
    [
        (["a"] * 1001, "one example has 1,001 references; give at most 1,000"),
        (["a" * 600_000, "b" * 600_000], "have 1,200,000 characters; split them: 1,000,000 are the most"),
    ],
)
def test_what_is_too_much_for_certain_is_refused_before_it_is_cut_into_words(
    references, says, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("polyref.lattice.references.tokenize", None)
    example = Example("x", "s", tuple(map(Reference, references)), line=7)
    with pytest.raises(InputError, match=says) as refused:
        list(expand([example]))
    assert refused.value.line == 7


@pytest.mark.parametrize(
    ("references", "says"),
    [
        (["a"] * 1001, "1,001 references"),
        (["a" * 1_000_001], "1,000,001 characters"),
        (["a " * 5000, "b " * 5001], "10,001 words"),
        (["a", "\u200b\ufeff"], "reference 2 is blank"),
        (["a", "..."], None),
        (["a " * 10_000], None),
    ],
)
def test_references_are_checked_without_work_as_they_are_with_it(references, says):
    if says is None:
        check_references(references, TextSettings())
        tokenized(references, TextSettings())
        return
    for check in (check_references, tokenized):
        with pytest.raises(InputError, match=says):
            check(references, TextSettings())


def test_a_chunk_is_encoded_in_parts_that_memory_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, sizes = FAMILY.encoder(), []
    given = [example(f"an old cat {n}", f"an aged cat {n}", f"old {n}", id=str(n)) for n in range(20)]
    choices: Any = {"settings": ExpandSettings(align=SOFT), "engine": PlainEngine()}
    expected = list(expand(given, encoder=encoder, **choices))
    encode = encoder.encode
    monkeypatch.setattr(lattice_references, "_WORDS_AT_ONCE", 21)
    monkeypatch.setattr(encoder, "encode", lambda some: sizes.append(sum(map(len, some))) or encode(some))
    assert list(expand(given, encoder=encoder, **choices)) == expected
    assert max(sizes) <= 21 and sum(sizes) == 200
