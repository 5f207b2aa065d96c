"""How good a sentence is against its references, and how good many are."""

from polyref.score.corpus_bleu import CorpusBleu, bleu_of_counts, corpus_bleu
from polyref.score.ngrams import MAX_ORDER, NgramTrie
from polyref.score.orientation import transposed
from polyref.score.sentence_bleu import BleuScale, Matches, sentence_bleu
from polyref.score.settings import BleuSettings, CaptionSettings

__all__ = [
    "MAX_ORDER",
    "BleuScale",
    "BleuSettings",
    "CaptionSettings",
    "CorpusBleu",
    "Matches",
    "NgramTrie",
    "bleu_of_counts",
    "corpus_bleu",
    "sentence_bleu",
    "transposed",
]
