"""Sentence BLEU against sacreBLEU's: the score, and the clipped counts behind it."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest
import sacrebleu

from polyref.score import NgramTrie, sentence_bleu

SACREBLEU = sacrebleu.BLEU(smooth_method="none", tokenize="none", effective_order=True)
EXAMPLES = 150
SENTENCES = 10

CASES = {
    "a word more often than any reference has it": ("the the the the", ["the cat the", "a cat is the one"]),
    "a word as often as two references together": ("a b a b a b a b", ["a b a b c", "b a b a b d"]),
    "an n-gram that overlaps itself": ("a a a a a a", ["a a a a b", "b a a a a a"]),
    "one word": ("cat", ["the cat", "a dog"]),
    "one word that no reference has": ("zebra", ["the cat"]),
    "two words": ("the cat", ["on the cat", "cat the"]),
    "three words": ("on the mat", ["the cat sat on the mat"]),
    "three words that match in part": ("on a mat", ["on a hat", "the mat on"]),
    "four words": ("the cat sat on", ["the cat sat on the mat"]),
    "two lengths as close, both to the right": ("a b c d e", ["a b c d e f g", "g a b c d e f"]),
    "two lengths as close, the shorter one counts": ("a b c d e f", ["a b c d e", "a b c d e f g"]),
    "two lengths as close, and too short for the longer": ("a b c d e f", ["a b c d f", "c d e f g h a"]),
    "shorter than all references": ("a b c d e", ["a b c d e f g h i", "a b c d x e f g"]),
    "longer than all references": ("a b c d e f g h", ["a b c d", "e f g"]),
    "a reference twice": ("a b c d d", ["a b c d", "a b c d"]),
    "a word that no reference has in the middle": ("a b c d z e f g h", ["a b c d e f g h"]),
}


def sacrebleu_of(sentence: str, references: list[str]) -> sacrebleu.BLEUScore:
    return SACREBLEU.sentence_score(sentence, references)


def random_text(generator: random.Random, alphabet: str, longest: int) -> str:
    return " ".join(generator.choices(alphabet, k=generator.randint(1, longest)))


def random_example(seed: int) -> tuple[list[str], list[str]]:
    """Sentences and references over so few words that n-grams repeat; z stands in no reference."""
    generator = random.Random(seed)
    alphabet = "abcd"[: generator.randint(1, 4)]
    references = [random_text(generator, alphabet, 9) for _ in range(generator.randint(1, 4))]
    return [random_text(generator, alphabet * 4 + "z", 11) for _ in range(SENTENCES)], references


def numbered(text: str) -> list[int]:
    """Letters as numbers: a is 0."""
    return [ord(word) - ord("a") for word in text.split()]


def flattened(texts: list[str], vocabulary: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """All words, one text behind the other, and where each begins; unknown words are `vocabulary`."""
    numbers = [[min(word, vocabulary) for word in numbered(text)] for text in texts]
    return np.concatenate(numbers).astype(np.int32), np.cumsum([0, *map(len, numbers)])


@pytest.mark.parametrize(("sentence", "references"), CASES.values(), ids=CASES)
def test_score_of(sentence: str, references: list[str]) -> None:
    score = sentence_bleu(sentence.split(), [reference.split() for reference in references])
    assert score == pytest.approx(sacrebleu_of(sentence, references).score, abs=1e-10)


def test_scores_of_random_sentences() -> None:
    above_zero = 0
    for seed in range(EXAMPLES):
        sentences, references = random_example(seed)
        for sentence in sentences:
            score = sentence_bleu(sentence.split(), [reference.split() for reference in references])
            assert score == pytest.approx(sacrebleu_of(sentence, references).score, abs=1e-10)
            above_zero += score > 0
    assert EXAMPLES < above_zero < (SENTENCES - 1) * EXAMPLES  # both kinds are there


def test_matches_of_the_trie_are_the_counts() -> None:
    for seed in range(EXAMPLES):
        sentences, references = random_example(seed)
        trie = NgramTrie([numbered(reference) for reference in references])
        for sentence in sentences:
            assert list(trie.matches(numbered(sentence))) == sacrebleu_of(sentence, references).counts


@pytest.mark.compiled
def test_matches_of_the_kernel_are_the_counts() -> None:
    from polyref.score.kernels import build_trie, match_sentences

    for seed in range(EXAMPLES):
        sentences, references = random_example(seed)
        trie, root = build_trie(*flattened(references, 4), 4)
        found = match_sentences(trie, root, *flattened(sentences, 4))
        assert found.tolist() == [sacrebleu_of(sentence, references).counts for sentence in sentences]
