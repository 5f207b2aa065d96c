"""The case that fits where a word lands.

In:   the references of an example, and a word that is taken from one place and written at another.
Out:  how it is written there: a capital where a sentence opens, none inside it unless it is a name.
Not:  spacing, which words (lattice/writing.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

from polyref.text.tokens import MAY_OPEN, Tokens, is_mark, opens_behind


@cache
def never_names() -> frozenset[str]:
    """Words that are never names: articles, pronouns, conjunctions, prepositions of several languages.

    Where a word is only ever seen at the opening of a sentence, nothing else tells a name from a word like these.
    """
    lines = (Path(__file__).parent / "never_names.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def opening_places(tokens: Tokens) -> list[int]:
    """The positions of the words with which a sentence opens; the last one may lie behind the text."""
    places = [0]
    words = tokens.words
    for position, word in enumerate(words):
        # Only marks let a sentence open behind them, and few words are marks.
        if word in MAY_OPEN:
            before = words[position - 1] if position else ""
            if opens_behind(word, before, places[-1] == position):
                places.append(position + 1)
    return places


class Casing:
    """What an example's references say about capitals."""

    def __init__(self, references: Sequence[Tokens]):
        calm = [tokens for tokens in references if not _shouts(tokens)]
        self._some_shout = 0 < len(calm) < len(references)
        self._heard = calm or references

    @cached_property
    def _dotless(self) -> bool:
        """Whether this is Turkish or its kin, where the capital of i is another letter."""
        return any("ı" in surface or "İ" in surface for tokens in self._heard for surface in tokens.surfaces)

    @cached_property
    def _capitalises(self) -> bool:
        """Whether most sentences open with a capital."""
        capitals = cased = 0
        for tokens in self._heard:
            for position in opening_places(tokens):
                if position == len(tokens):
                    continue
                first = tokens.surfaces[position][0]
                capitals += first.isupper()
                cased += first.isupper() or first.islower()
        return 2 * capitals > cased

    @cached_property
    def _inside(self) -> dict[str, list[str]]:
        """How each word is written inside sentences."""
        inside: dict[str, list[str]] = {}
        for tokens in self._heard:
            opening = set(opening_places(tokens))
            for position, (word, surface) in enumerate(zip(tokens.words, tokens.surfaces, strict=True)):
                if position not in opening:
                    inside.setdefault(word, []).append(surface)
        return inside

    def surfaces(self, tokens: Tokens) -> tuple[str, ...]:
        """A reference as it stands; one that shouts among others that do not, in their voice."""
        if not self._some_shout or not _shouts(tokens):
            return tokens.surfaces
        opening = set(opening_places(tokens))
        calm = []
        for position, (word, surface) in enumerate(zip(tokens.words, tokens.surfaces, strict=True)):
            form = self._inside_form(word, surface.lower())
            calm.append(self.fit(word, form, opening=True) if position in opening else form)
        return tuple(calm)

    def fit(self, word: str, surface: str, *, opening: bool) -> str:
        """A word from an opening for the inside of a sentence, or from the inside for an opening."""
        if is_mark(word):
            return surface
        fitted = self._capital(surface) if opening else self._inside_form(word, surface)
        return fitted if fitted.casefold() == surface.casefold() else surface

    def _capital(self, surface: str) -> str:
        # "iPhone" and "eBay" keep their form.
        if not self._capitalises or surface != surface.lower() or (surface[0] == "i" and self._dotless):
            return surface
        capital = surface[0].upper()
        return capital + surface[1:] if len(capital) == 1 else surface

    def _inside_form(self, word: str, surface: str) -> str:
        seen = self._inside.get(word)
        if seen is not None:
            if seen.count(seen[0]) == len(seen):  # as of most words
                return seen[0]
            # The most frequent form; of two as frequent, the one in small letters.
            return max(seen, key=lambda form: (seen.count(form), form.lower() == form, form))
        if word in never_names() and surface[1:] == surface[1:].lower():
            return surface.lower()
        return surface


def _shouts(tokens: Tokens) -> bool:
    """Whether a reference is written in capitals alone, which then say nothing about its words: not just "NASA"."""
    return tokens.shouted and sum(map(len, tokens.surfaces)) > 5 and len(tokens) > 1
