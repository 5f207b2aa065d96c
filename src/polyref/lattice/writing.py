"""Write a sentence of the lattice as a text.

In:   the references' words with their spacing, and for each word of a sentence the word that it stands for.
Out:  a text that is cut into the same words again.
Not:  which words (search.py), cutting (text/tokens.py).

Spacing belongs to two neighbours, not to a word: "30" is glued to "£", but not to "than".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, islice

from polyref.text import TextSettings, Tokens, tokenize


class Writer:
    """Writes sentences whose words are numbered over all distinct references of an example."""

    def __init__(self, references: Sequence[Tokens], settings: TextSettings):
        self._references = references
        self._settings = settings
        self.surfaces = list(chain.from_iterable([tokens.surfaces for tokens in references]))
        self._spaced = list(chain.from_iterable([tokens.spaced for tokens in references]))
        self._glued: set[tuple[str, str]] = set()  # letters and figures, and what they are glued to: "£30", "(tabby"
        self._marks: set[str] = set()  # what else is glued begins so: "cat," "said."
        for tokens in references:
            if not all(tokens.spaced[1:]):
                for before, word, spaced in zip(tokens.words, tokens.words[1:], tokens.spaced[1:], strict=False):
                    if not spaced and word[0].isalnum():
                        self._glued.add((before, word))
                    elif not spaced:
                        self._marks.add(word[0])

    def texts(self, origin: Sequence[int], path: Sequence[int], lengths: Sequence[int]) -> list[str]:
        """Sentences as texts: their arcs, all behind each other, and for each arc the word that it stands for."""
        if not self._glued:
            # Each word takes its own space along; none that begins a reference has one, and only those begin sentences.
            pieces = [" " + s if spaced else s for s, spaced in zip(self.surfaces, self._spaced, strict=True)]
            following = map([pieces[word] for word in origin].__getitem__, path)
            texts = ["".join(islice(following, length)) for length in lengths]
            together = "\n".join(texts)
            if not any(mark + mark in together for mark in self._marks):
                return texts
        words = map(origin.__getitem__, path)
        return [self._write(list(islice(words, length))) for length in lengths]

    def _write(self, sentence: Sequence[int]) -> str:
        words = tuple([self._words[k] for k in sentence])
        text = self.surfaces[sentence[0]]
        for before, word, k in zip(words, words[1:], sentence[1:], strict=False):
            glued = not self._spaced[k] and (not word[0].isalnum() or (before, word) in self._glued)
            text += self.surfaces[k] if glued else " " + self.surfaces[k]
        if tokenize(text, self._settings).words == words:
            return text
        # Where gluing would make other words of them, as of two full stops, all are set apart.
        return " ".join([self.surfaces[k] for k in sentence])

    @cached_property
    def _words(self) -> list[str]:
        return list(chain.from_iterable([tokens.words for tokens in self._references]))
