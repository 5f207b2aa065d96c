"""How good a sentence is against its references, and how good a system's hypotheses are."""

from polyref.score.cider import Cider, cider
from polyref.score.corpus_bleu import CorpusBleu, bleu_of_counts, corpus_bleu
from polyref.score.evaluate import evaluate
from polyref.score.ngrams import MAX_ORDER, NgramTrie
from polyref.score.orientation import transposed
from polyref.score.rouge import RougeL, rouge_l
from polyref.score.sentence_bleu import BleuScale, Matches, sentence_bleu
from polyref.score.settings import METRICS, BleuSettings, CaptionSettings, Metric, Tokenizer

__all__ = [
    "MAX_ORDER",
    "METRICS",
    "BleuScale",
    "BleuSettings",
    "CaptionSettings",
    "Cider",
    "CorpusBleu",
    "Matches",
    "Metric",
    "NgramTrie",
    "RougeL",
    "Tokenizer",
    "bleu_of_counts",
    "cider",
    "corpus_bleu",
    "evaluate",
    "rouge_l",
    "sentence_bleu",
    "transposed",
]
