"""Write a sentence of the lattice as a text.

In:   the references' words with their spacing, and for each word of a sentence the word that it stands for.
Out:  a text that is cut into the same words again.
Not:  which words (search.py), cutting (text/tokens.py).

Spacing belongs to two neighbours, not to a word: "30" is glued to "£", but not to "than".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain

from polyref.text import TextSettings, Tokens, tokenize

# Marks that never become part of the word they are glued to, whatever it is, nor open one that they stand before.
_CLOSING = frozenset('.,;:!?)]}…"”»%')
_OPENING = frozenset('([{"“«£$€')


class Writer:
    """Writes sentences whose words are numbered over all distinct references of an example."""

    def __init__(self, references: Sequence[Tokens], settings: TextSettings):
        self._references = references
        self._settings = settings
        self._pieces: list[str] = []  # each word with the space before it
        self._glued: set[tuple[str, str]] = set()  # letters and figures, and what they are glued to: "£30", "(tabby"
        self._marks: set[str] = set()  # what else is glued begins so: "cat," "said."
        for tokens in references:
            first, *others = tokens.surfaces
            self._pieces.append(first)
            if all(tokens.spaced[1:]):
                self._pieces += [" " + surface for surface in others]
            else:
                self._pieces += [" " + s if spaced else s for s, spaced in zip(others, tokens.spaced[1:], strict=True)]
                self._note_glued(tokens)

    def _note_glued(self, tokens: Tokens) -> None:
        for position, spaced in enumerate(tokens.spaced):
            if position and not spaced:
                word = tokens.words[position]
                if word[0].isalnum():
                    self._glued.add((tokens.words[position - 1], word))
                else:
                    self._marks.add(word[0])

    def texts(self, origin: Sequence[int], path: Sequence[int]) -> list[str]:
        """Sentences as texts: for each arc the word that it stands for; and the sentences' arcs, -1 behind each."""
        # Each word takes its own space along; none that begins a reference has one, and only those begin sentences.
        # No word holds a line's end, so all are written in one go.
        pieces = self._pieces
        together = "".join(map([*[pieces[word] for word in origin], "\n"].__getitem__, path))
        texts = together.split("\n")[:-1]
        if not self._glued and self._marks <= _CLOSING and not any(mark + mark in together for mark in self._marks):
            return texts
        # Where that may glue what must not be glued, with care.
        arcs = iter(path)
        for number, text in enumerate(texts):
            sentence = [origin[arc] for arc in iter(arcs.__next__, -1)]
            if any(mark + mark in text for mark in self._marks) or not self._delicate.isdisjoint(sentence):
                texts[number] = self._write(sentence)
        return texts

    def _write(self, sentence: Sequence[int]) -> str:
        words = tuple([self._words[k] for k in sentence])
        text = self.surfaces[sentence[0]]
        safe = True
        for before, word, k in zip(words, words[1:], sentence[1:], strict=False):
            if not self._spaced[k] and (not word[0].isalnum() or (before, word) in self._glued):
                safe = safe and (word in _CLOSING or before in _OPENING) and before[-1] != word[0]
                text += self.surfaces[k]
            else:
                text += " " + self.surfaces[k]
        if safe or tokenize(text, self._settings).words == words:
            return text
        # Where gluing would make other words of them, as of two full stops, all are set apart.
        return " ".join([self.surfaces[k] for k in sentence])

    @cached_property
    def _delicate(self) -> set[int]:
        """The words that must not go without a space everywhere."""
        return {k for k, word in enumerate(self._words) if not self._spaced[k] and word not in _CLOSING} - self._firsts

    @cached_property
    def _firsts(self) -> set[int]:
        return set(accumulate([len(tokens) for tokens in self._references[:-1]], initial=0))

    @cached_property
    def surfaces(self) -> list[str]:
        return list(chain.from_iterable([tokens.surfaces for tokens in self._references]))

    @cached_property
    def _spaced(self) -> list[bool]:
        return list(chain.from_iterable([tokens.spaced for tokens in self._references]))

    @cached_property
    def _words(self) -> list[str]:
        return list(chain.from_iterable([tokens.words for tokens in self._references]))
