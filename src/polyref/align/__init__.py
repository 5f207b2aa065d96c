"""Which words of two references mean the same, and which references to merge first."""

from polyref.align.alignment import PRESETS, UNIT, AlignSettings, Matrix, MergeOrder, whole_units
from polyref.align.veto import VETO_KINDS, is_vetoed

__all__ = ["PRESETS", "UNIT", "VETO_KINDS", "AlignSettings", "Matrix", "MergeOrder", "is_vetoed", "whole_units"]
