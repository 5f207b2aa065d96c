"""Which words of two references mean the same, and which references to merge first."""

from polyref.align.merge_order import Merge, MergeOrder, plan_merges
from polyref.align.pairwise import Links, align
from polyref.align.settings import AdaptivePenalty, AlignSettings
from polyref.align.similarity import UNIT, Similarity, soft_similarity, whole_units

__all__ = [
    "UNIT",
    "AdaptivePenalty",
    "AlignSettings",
    "Links",
    "Merge",
    "MergeOrder",
    "Similarity",
    "align",
    "plan_merges",
    "soft_similarity",
    "whole_units",
]
