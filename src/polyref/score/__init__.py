"""How good a sentence is against its references."""

from polyref.score.ngrams import MAX_ORDER, NgramTrie
from polyref.score.sentence_bleu import BleuScale, Matches, sentence_bleu

__all__ = ["MAX_ORDER", "BleuScale", "Matches", "NgramTrie", "sentence_bleu"]
