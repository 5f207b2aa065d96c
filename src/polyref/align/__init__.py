"""Which words of two references mean the same, and which references to merge first."""

from polyref.align.merge_order import Merge, MergeOrder, plan_merges
from polyref.align.pairwise import Links, align
from polyref.align.settings import AdaptivePenalty, AlignSettings
from polyref.align.similarity import UNIT, Similarity, soft_similarity, whole_units
from polyref.align.veto import VETO_KINDS, Exclusions, VetoKind, exclusions, is_vetoed

__all__ = [
    "UNIT",
    "VETO_KINDS",
    "AdaptivePenalty",
    "AlignSettings",
    "Exclusions",
    "Links",
    "Merge",
    "MergeOrder",
    "Similarity",
    "VetoKind",
    "align",
    "exclusions",
    "is_vetoed",
    "plan_merges",
    "soft_similarity",
    "whole_units",
]
