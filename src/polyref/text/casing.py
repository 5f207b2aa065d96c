"""The case that fits where a word lands.

In:   the references of an example, and a word that is taken from one place and written at another.
Out:  how it is written there: a capital where a sentence opens, none inside it unless it is a name.
Not:  spacing, which words (lattice/writing.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from polyref.text.marks import is_mark, opens_behind
from polyref.text.tokens import Tokens


@cache
def never_names() -> frozenset[str]:
    """Words that are never names: articles, pronouns, conjunctions, prepositions of several languages.

    Where a word is only ever seen at the opening of a sentence, nothing else tells a name from a word like these.
    """
    lines = (Path(__file__).parent / "never_names.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def openings(tokens: Tokens) -> list[bool]:
    """For each word, whether a sentence opens with it."""
    found = []
    opening, before = True, ""
    for word in tokens.words:
        found.append(opening)
        opening = opens_behind(word, before, opening)
        before = word
    return found


def shouts(tokens: Tokens) -> bool:
    """Whether a reference is written in capitals alone: then they say nothing about its words."""
    capitals = [surface for surface in tokens.surfaces if surface != surface.lower()]
    return sum(map(len, capitals)) > 5 and all(surface == surface.upper() for surface in tokens.surfaces)


class Casing:
    """What an example's references say about capitals."""

    def __init__(self, references: Sequence[Tokens]):
        calm = [tokens for tokens in references if not shouts(tokens)]
        self._some_shout = 0 < len(calm) < len(references)
        capitals = cased = 0
        self._inside: dict[str, Counter[str]] = {}
        self._dotless = False  # Turkish and its kin, where the capital of i is another one
        for tokens in calm or references:
            for word, surface, opening in zip(tokens.words, tokens.surfaces, openings(tokens), strict=True):
                if not opening:
                    self._inside.setdefault(word, Counter())[surface] += 1
                elif surface[0].isupper() or surface[0].islower():
                    cased += 1
                    capitals += surface[0].isupper()
                self._dotless = self._dotless or "ı" in surface or "İ" in surface
        self._capitalises = 2 * capitals > cased

    def surfaces(self, tokens: Tokens) -> tuple[str, ...]:
        """A reference as it stands; one that shouts among others that do not, in their voice."""
        if not self._some_shout or not shouts(tokens):
            return tokens.surfaces
        calm = [
            self._inside_form(word, surface.lower())
            for word, surface in zip(tokens.words, tokens.surfaces, strict=True)
        ]
        return tuple(
            self.fit(word, surface, opening=True) if opening else surface
            for word, surface, opening in zip(tokens.words, calm, openings(tokens), strict=True)
        )

    def fit(self, word: str, surface: str, *, opening: bool) -> str:
        """A word from an opening for the inside of a sentence, or from the inside for an opening."""
        if is_mark(word):
            return surface
        fitted = self._capital(surface) if opening else self._inside_form(word, surface)
        return fitted if fitted.casefold() == surface.casefold() else surface

    def _capital(self, surface: str) -> str:
        # "iPhone" and "eBay" keep their form.
        if not self._capitalises or surface != surface.lower() or (self._dotless and surface[0] == "i"):
            return surface
        capital = surface[0].upper()
        return capital + surface[1:] if len(capital) == 1 else surface

    def _inside_form(self, word: str, surface: str) -> str:
        seen = self._inside.get(word)
        if seen is not None:
            # The most frequent form; of two as frequent, the one in small letters.
            return max(seen, key=lambda form: (seen[form], form.lower() == form, form))
        if word in never_names() and surface[1:] == surface[1:].lower():
            return surface.lower()
        return surface
