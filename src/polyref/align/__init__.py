"""Which words of two references mean the same, and which references to merge first."""

from polyref.align.alignment import UNIT, Links, Matrix, Merge, MergeOrder, Similarity, align, plan_merges, whole_units
from polyref.align.settings import PRESETS, AlignSettings
from polyref.align.veto import VETO_KINDS, VetoKind, is_vetoed

__all__ = [
    "PRESETS",
    "UNIT",
    "VETO_KINDS",
    "AlignSettings",
    "Links",
    "Matrix",
    "Merge",
    "MergeOrder",
    "Similarity",
    "VetoKind",
    "align",
    "is_vetoed",
    "plan_merges",
    "whole_units",
]
