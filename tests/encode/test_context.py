"""The language model as an encoder: what a word's vector depends on, and what it does not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_encoders import WORDS, drawn_text, open_small, write_encoder

from polyref.encode import context, kernels, measure_baseline, network, opening, unrelated_sentences
from polyref.encode.cache import CachedEncoder
from polyref.encode.context import ContextEncoder, VectorSettings, read_folder, write_folder
from polyref.errors import SettingsError

STATES = 6
Sentence = Sequence[str]

WORD = st.sampled_from([*WORDS, "zebra", "Café", "x", "THE", "a-b", "łódź"])
SENTENCES = st.lists(st.lists(WORD, max_size=12), max_size=8)


@pytest.fixture(scope="module", params=[0.0, 0.4], ids=["contexts alone", "with the own vector"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"), states=STATES, word_share=request.param)


@pytest.fixture(scope="module")
def encoder(folder: Path) -> ContextEncoder:
    return open_small(folder)


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory: pytest.TempPathFactory) -> ContextEncoder:
    return open_small(write_encoder(tmp_path_factory.mktemp("adaptive"), cutoffs=[3, 9], predicted=15))


def all_bytes(encoder: ContextEncoder, sentences: Sequence[Sentence]) -> list[bytes]:
    encoded = [
        encoding.vectors.tobytes() + encoding.known.tobytes() + str(encoding.vectors.shape).encode()
        for encoding in encoder.encode(sentences)
    ]
    states = [forward.tobytes() + backward.tobytes() for forward, backward in encoder.states(sentences)]
    values = [value.tobytes() for value in encoder.log_probabilities(sentences)]
    return [b"".join(parts) for parts in zip(encoded, states, values, strict=True)]


def halves(encoder: ContextEncoder, sentence: Sentence) -> tuple[np.ndarray, np.ndarray]:
    """The forward and the backward half of each word's vector; what stands before them is the word's own."""
    vectors = encoder.encode([sentence])[0].vectors
    return vectors[:, -2 * STATES : -STATES], vectors[:, -STATES:]


# What a vector does not depend on


@given(sentences=SENTENCES, order=st.randoms(use_true_random=False))
def test_a_sentence_has_the_same_bytes_alone_in_any_batch_and_in_any_order(encoder, sentences, order):
    alone = {tuple(sentence): all_bytes(encoder, [sentence])[0] for sentence in sentences}
    assert all_bytes(encoder, sentences) == [alone[tuple(sentence)] for sentence in sentences]
    order.shuffle(sentences)
    assert all_bytes(encoder, sentences) == [alone[tuple(sentence)] for sentence in sentences]


def test_a_batch_is_bounded_in_words_and_gives_the_same_bytes(encoder: ContextEncoder, monkeypatch: pytest.MonkeyPatch):
    lines = [line.split() for line in drawn_text(WORDS, 50, most=30).splitlines()]
    expected, sizes, run = all_bytes(encoder, lines), [], ContextEncoder._run

    def counted(self: ContextEncoder, sentences: Sequence[Sentence]):
        sizes.append(len(sentences) * max(map(len, sentences)))
        return run(self, sentences)

    monkeypatch.setattr(context, "WORDS_AT_ONCE", 70)
    monkeypatch.setattr(ContextEncoder, "_run", counted)
    assert all_bytes(encoder, lines) == expected
    assert max(sizes) <= 70


def test_a_sentence_has_the_same_bytes_among_a_thousand_others(encoder: ContextEncoder, adaptive: ContextEncoder):
    many = [line.split() for line in drawn_text([*WORDS, "zebra"], 1000, most=30).splitlines()]
    for one in (encoder, adaptive):
        together = all_bytes(one, many)
        assert len(together) == 1000
        for k in (0, 1, 255, 256, 257, 500, 999):
            assert together[k] == all_bytes(one, [many[k]])[0]


@given(sentence=st.lists(WORD, max_size=5), longer=st.lists(WORD, min_size=6, max_size=30))
def test_nothing_of_a_longer_sentence_reaches_a_shorter_one(encoder, sentence, longer):
    expected = all_bytes(encoder, [sentence])[0]
    assert all_bytes(encoder, [sentence, longer])[0] == expected
    assert all_bytes(encoder, [longer, sentence, longer])[1] == expected


def test_a_vector_does_not_depend_on_what_was_encoded_before(folder: Path):
    sentence = ["the", "small", "zebra", "sleeps", "."]
    fresh = all_bytes(open_small(folder), [sentence])
    used = open_small(folder)
    used.encode([line.split() for line in drawn_text(WORDS, 800).splitlines()])
    assert all_bytes(used, [sentence]) == fresh


def test_equal_sentences_have_equal_vectors(encoder: ContextEncoder):
    one, other, third = encoder.encode([["the", "cat"], ["a"], ["the", "cat"]])
    assert one.vectors.tobytes() == third.vectors.tobytes() != other.vectors.tobytes()


def test_a_folder_that_is_read_again_gives_the_same_bytes(folder: Path, encoder: ContextEncoder, tmp_path: Path):
    found = read_folder(folder)
    write_folder(tmp_path / "copy", found.config, found.vocabulary, found.weights)
    copy = ContextEncoder.load(str(tmp_path / "copy"))
    sentences = [["the", "cat", "sits"], ["zebra"], []]
    assert all_bytes(copy, sentences) == all_bytes(encoder, sentences)
    assert copy.hash == encoder.hash
    for file in ("weights.safetensors", "vocabulary.txt", "config.json"):
        assert (tmp_path / "copy" / file).read_bytes() == (folder / file).read_bytes()


# The two ways of computing it


@pytest.mark.compiled
def test_an_encoder_gives_the_same_bytes_with_either_step(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Few words are read with the plain step, many with the compiled one."""
    steps = {"plain": 0, "compiled": 0}

    def counted(name: str, step: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: np.ndarray) -> None:
            steps[name] += 1
            step(*arguments)

        return run

    monkeypatch.setattr("polyref.encode.network.plain_step", counted("plain", network.plain_step))
    monkeypatch.setattr(kernels, "step", counted("compiled", kernels.step))
    many = [line.split() for line in drawn_text(WORDS, 600, most=12).splitlines()]
    small, large = open_small(folder), open_small(folder)
    plain = [small.encode([sentence])[0].vectors.tobytes() for sentence in many[:50]]
    assert steps["plain"] and not steps["compiled"]
    compiled = [encoding.vectors.tobytes() for encoding in large.encode([*many, *many[::-1]])]
    large.encode(many)
    steps["plain"] = 0
    assert [encoding.vectors.tobytes() for encoding in large.encode(many[:50])] == plain == compiled[:50]
    assert steps["compiled"] and not steps["plain"]


# What a vector means


@given(sentence=st.lists(WORD, min_size=2, max_size=10))
def test_the_last_word_changes_the_backward_half_of_the_first_and_not_its_forward_half(encoder, sentence):
    other = [*sentence[:-1], "window" if sentence[-1] != "window" else "chair"]
    (forward, backward), (forward_too, backward_too) = halves(encoder, sentence), halves(encoder, other)
    assert (forward[:-1] == forward_too[:-1]).all()
    assert (forward[-1] != forward_too[-1]).any()
    # How far a change reaches depends on the weights; next to it, it must be felt.
    assert (backward[-2:] != backward_too[-2:]).any(1).all()


@given(sentence=st.lists(WORD, min_size=2, max_size=10))
def test_the_first_word_changes_the_forward_half_of_the_last_and_not_its_backward_half(encoder, sentence):
    other = ["window" if sentence[0] != "window" else "chair", *sentence[1:]]
    (forward, backward), (forward_too, backward_too) = halves(encoder, sentence), halves(encoder, other)
    assert (backward[1:] == backward_too[1:]).all()
    assert (backward[0] != backward_too[0]).any()
    assert (forward[:2] != forward_too[:2]).any(1).all()


def test_a_change_is_felt_across_a_whole_sentence(encoder: ContextEncoder):
    sentence = ["the", "cat", "sits", "on", "a", "red", "chair"]
    assert (halves(encoder, sentence)[1][0] != halves(encoder, [*sentence[:-1], "table"])[1][0]).any()
    assert (halves(encoder, sentence)[0][-1] != halves(encoder, ["a", *sentence[1:]])[0][-1]).any()


def test_a_word_of_one_sentence_knows_where_it_ends(encoder: ContextEncoder):
    """The boundary is read, and it is not the same on both sides."""
    alone, before = encoder.states([["the"], ["the", "the"]])
    assert (alone[0][1] == before[0][1]).all()
    assert (alone[1][0] != before[1][0]).any()
    assert (alone[0][0] != alone[1][-1]).any()


def test_the_states_at_the_boundary_are_the_same_in_all_sentences(encoder: ContextEncoder):
    found = encoder.states([["the", "cat"], ["zebra"], []])
    assert [len(forward) for forward, _ in found] == [len(backward) for _, backward in found] == [3, 2, 1]
    assert len({forward[0].tobytes() for forward, _ in found}) == 1
    assert len({backward[-1].tobytes() for _, backward in found}) == 1


@given(sentences=SENTENCES)
def test_a_reading_has_log_probabilities_and_the_states_at_words(encoder, sentences):
    readings, states = encoder.readings(sentences), encoder.states(sentences)
    for found, (forward, backward), values in zip(readings, states, encoder.log_probabilities(sentences), strict=True):
        assert (found.forward == forward[1:]).all() and (found.backward == backward[:-1]).all()
        assert (found.log_probabilities == values).all()
        assert len(found.forward) == len(found.backward) == len(values)


@given(sentence=st.lists(WORD, min_size=1, max_size=8))
def test_vectors_have_length_one(encoder, sentence):
    lengths = np.linalg.norm(encoder.encode([sentence])[0].vectors.astype(np.float64), axis=1)
    assert np.abs(lengths - 1).max() < 2e-3


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_cosine_is_the_weighted_mean_of_three(tmp_path: Path, share):
    encoder = open_small(write_encoder(tmp_path, states=STATES, word_share=share))
    words = ["the", "zebra"]
    one, other = encoder.encode([words])[0].vectors.astype(np.float64)
    weights = {name: array.astype(np.float64) for name, array in encoder._weights.items()}
    (first, last), (forward, backward) = weights["centre.states"], encoder.states([words])[0]
    parts = [encoder.word_vectors(words) - weights["centre.own"], forward[1:] - first, backward[:-1] - last]
    cosines = [left @ right / np.sqrt((left @ left) * (right @ right)) for left, right in parts]
    expected = np.dot([share, (1 - share) / 2, (1 - share) / 2], cosines)
    assert one @ other == pytest.approx(expected, abs=2e-3)


# Vectors of one's own choice


def with_vectors(folder: Path, word_share: float | None = None, centre: bool = True) -> ContextEncoder:
    return ContextEncoder.load(str(folder), VectorSettings(word_share, centre))


def cosine(left: np.ndarray, right: np.ndarray) -> float:
    return float(left @ right / np.sqrt((left @ left) * (right @ right)))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_without_the_centre_a_cosine_is_that_of_the_word_and_that_of_both_states_side_by_side(folder: Path, share):
    """With no share for the word, it is the paper's equation 2."""
    encoder, words = with_vectors(folder, share, centre=False), ["the", "zebra", "sits"]
    vectors = encoder.encode([words])[0].vectors.astype(np.float64)
    [(forward, backward)], own = encoder.states([words]), encoder.word_vectors(words)
    both = np.concatenate([forward[1:], backward[:-1]], axis=1).astype(np.float64)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        expected = share * cosine(own[one], own[other]) + (1 - share) * cosine(both[one], both[other])
        assert vectors[one] @ vectors[other] == pytest.approx(expected, abs=2e-3)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 2e-3


def test_a_share_of_ones_own_replaces_that_of_the_folder(tmp_path: Path):
    given, kept = (write_encoder(tmp_path / str(share), word_share=share) for share in (0.3, 0.7))
    assert all_bytes(with_vectors(given, 0.7), [WORDS]) == all_bytes(with_vectors(kept), [WORDS])
    assert all_bytes(with_vectors(given), [WORDS]) != all_bytes(with_vectors(kept), [WORDS])


def test_the_usual_vectors_keep_their_hash_and_all_others_have_their_own(folder: Path):
    share = read_folder(folder).config["word_share"]
    usual, named = with_vectors(folder), with_vectors(folder, share)
    assert usual.hash == named.hash == read_folder(folder).hash
    assert usual.baseline == named.baseline == read_folder(folder).config["baseline"]
    others = [with_vectors(folder, *choice).hash for choice in ((0.1,), (0.2,), (0.1, False), (share, False))]
    assert len({usual.hash, *others}) == 5


def test_a_cache_does_not_mix_vectors_of_one_folder(folder: Path, tmp_path: Path):
    for _ in range(2):
        for choice in ((None, True), (0.1, True), (None, False), (0.1, False)):
            encoder = with_vectors(folder, *choice)
            cached = CachedEncoder(encoder, tmp_path / "cache")
            assert cached.encode([WORDS])[0].vectors.tobytes() == encoder.encode([WORDS])[0].vectors.tobytes()
    assert len(list((tmp_path / "cache").glob("*.sqlite"))) == 4


def test_how_fluent_a_sentence_is_does_not_depend_on_the_vectors(folder: Path):
    assert with_vectors(folder, 0.1, False).fluency([WORDS]) == with_vectors(folder).fluency([WORDS])


def test_other_vectors_have_a_baseline_of_their_own():
    usual, own = opening.open_encoder("english"), opening.open_encoder("english", VectorSettings(0.0, False))
    assert own.baseline == measure_baseline(own, unrelated_sentences()) > usual.baseline + 0.05


def test_an_encoder_of_other_text_has_no_baseline_for_vectors_of_ones_own(folder: Path):
    """The sample text of the package tells nothing about an encoder that does not know its words."""
    with pytest.raises(SettingsError, match=r"has no baseline for .*set baseline, which encoder calibrate measures"):
        _ = with_vectors(folder, centre=False).baseline


def test_the_same_word_has_another_vector_in_another_context(encoder: ContextEncoder):
    one, other = encoder.encode([["the", "cat", "sits"], ["a", "cat", "sleeps"]])
    assert (one.vectors[1] != other.vectors[1]).any()


def test_no_sentences_and_no_words_are_fine(encoder: ContextEncoder):
    assert encoder.encode([]) == encoder.states([]) == encoder.log_probabilities([]) == encoder.fluency([]) == []
    assert encoder.readings([]) == []
    [encoding] = encoder.encode([[]])
    assert len(encoding.vectors) == len(encoding.known) == 0
    assert encoding.vectors.dtype == np.float16
    [values] = encoder.log_probabilities([[]])
    assert len(values) == 0


# Words outside the vocabulary


def test_two_words_outside_the_vocabulary_differ_and_one_is_like_itself(encoder: ContextEncoder):
    zebra, again, giraffe = encoder.encode([["the", "zebra"], ["the", "zebra"], ["the", "giraffe"]])
    assert zebra.vectors.tobytes() == again.vectors.tobytes()
    assert (zebra.vectors[1] != giraffe.vectors[1]).any()
    assert zebra.known.tolist() == giraffe.known.tolist() == [True, False]


def test_a_word_outside_the_vocabulary_is_read_by_its_spelling(encoder: ContextEncoder):
    """Words that share pieces are more alike than words that share none."""
    zebra, zebras, motor = encoder.word_vectors(["zebra", "zebras", "motor"]).astype(np.float64)
    assert zebra @ zebras > 0.5 > abs(zebra @ motor)


def test_the_length_of_what_is_read_for_a_word_is_one(encoder: ContextEncoder):
    lengths = np.linalg.norm(encoder.word_vectors(["the", "zebra", "x", ""]), axis=1)
    assert np.abs(lengths - 1).max() < 2e-3


@pytest.mark.parametrize("word", ["", "x" * 5000, "\ud800", "a\nb", "👍🏽", "\x00"])
def test_any_word_has_a_vector(encoder: ContextEncoder, word):
    [encoding] = encoder.encode([["the", word]])
    assert np.isfinite(encoding.vectors).all()
    assert encoding.known.tolist() == [True, False]
    assert np.isfinite(encoder.log_probabilities([["the", word]])[0]).all()


def test_capitals_do_not_make_a_word_unknown(encoder: ContextEncoder):
    assert all_bytes(encoder, [["The", "CAT"]]) == all_bytes(encoder, [["the", "cat"]])


# Fluency


@given(sentences=st.lists(st.lists(WORD, min_size=1, max_size=10), max_size=8))
def test_fluency_is_the_same_alone_and_in_a_batch(adaptive, encoder, sentences):
    for one in (adaptive, encoder):
        assert one.fluency(sentences) == [one.fluency([sentence])[0] for sentence in sentences]


def test_fluency_is_the_mean_of_the_log_probabilities_to_four_digits(encoder: ContextEncoder):
    sentence = ["the", "cat", "sits", "on", "zebra"]
    [values] = encoder.log_probabilities([sentence])
    assert (values < 0).all()
    assert encoder.fluency([sentence]) == [round(values.mean(), 4)]


# Another language

ENGLISH = [
    ["the", "old", "man", "sits", "near", "the", "window", "."],
    ["a", "small", "cat", "sleeps", "on", "the", "red", "table", ",", "sleeps", "."],
]
FOREIGN = [
    ["der", "alte", "mann", "sitzt", "am", "fenster", "."],
    ["eine", "kleine", "katze", "schläft", "auf", "dem", "roten", "tisch", "."],
    ["zwei", "hunde", "laufen", "am", "strand", "entlang", "und", "bellen", "die", "möwen", "an", "."],
    ["ein", "mann", "und", "eine", "frau", "fahren", "mit", "dem", "rad", "durch", "den", "park", "nach", "haus", "."],
    ["auf", "dem", "markt", "verkaufen", "sie", "frische", "blumen", "."],
]


def test_text_in_another_language_is_refused_with_a_cure(folder: Path):
    encoder = open_small(folder, most_unknown=0.3)
    with pytest.raises(SettingsError) as refused:
        encoder.check(FOREIGN)
    said = str(refused.value)
    # All but the full stops, which are no words.
    assert 'the encoder "small" does not know 100% of these words (der, alte, mann, sitzt, am, ...)' in said
    assert "set align to hard" in said and "vectors:FILE" in said and "--" not in said


def test_text_that_the_encoder_knows_is_not_refused(folder: Path):
    open_small(folder, most_unknown=0.3).check(ENGLISH * 5)


@pytest.mark.parametrize(
    ("words", "unknown", "refused"),
    [
        (1000, 300, ""),
        (1000, 301, "30%"),
        (999, 799, ""),
        (999, 800, "80%"),
        (40, 32, ""),
        (40, 33, "82%"),
        (39, 39, ""),
    ],
)
def test_a_share_of_unknown_words_is_allowed(folder: Path, words, unknown, refused):
    """30% of much text; more of little text, if a fifth of it are common words; and of a few words all."""
    encoder = open_small(folder, most_unknown=0.3)
    sentence = [*["zebra"] * unknown, *["cat"] * (words - unknown)]
    if refused:
        with pytest.raises(SettingsError, match=f"does not know {refused} of these words"):
            encoder.check([sentence])
    else:
        encoder.check([sentence])


def test_numbers_and_marks_do_not_tell_a_language(folder: Path):
    open_small(folder, most_unknown=0.3).check([["12", "!", "?", "3.5", "(", ")"] * 50])


def test_an_encoder_of_ones_own_takes_any_text(folder: Path):
    ContextEncoder.load(str(folder)).check(FOREIGN * 10)


def test_the_encoders_inside_the_package_refuse_another_language(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(opening, "builtin_folder", lambda name: folder)
    encoder = inspect.unwrap(opening.open_builtin)(
        "english", VectorSettings()
    )  # what is opened here is not for other tests
    assert encoder.name == "english"
    with pytest.raises(SettingsError, match='"english" does not know 100% of these words'):
        encoder.check(FOREIGN)
    encoder.check(ENGLISH * 5)
