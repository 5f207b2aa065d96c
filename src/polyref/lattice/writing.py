"""Write a sentence of the lattice as a person would type it.

In:   the references' words with their spacing, the states behind them, and for each word of a sentence a place where
      a reference has it.
Out:  a text that is cut into the same words again.
Not:  which words (search.py), cutting (text/tokens.py), what is a name (text/casing.py).

Spacing and case belong to a place, not to a word: "30" is glued to "£" but not to "than"; "it" has a capital behind a
full stop. Where two neighbours stand together in a reference, they are written as there. Where a sentence crosses from
one reference to another, the marks and the place decide. Words in small letters with a space before them, which most
are, need none of this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, pairwise
from operator import add, itemgetter

from polyref.text import TextSettings, Tokens, tokenize
from polyref.text.casing import Casing, opening_places
from polyref.text.tokens import CLOSING, OPENING, TRANSPARENT, is_mark, is_ordinary, needs_no_space, parts_words

_OPENER = re.compile(r"(?<=[.!?] )\S+")
NONE = -1  # stands before the first arc of a sentence, and behind the last one


@dataclass(eq=False, repr=False)
class Writer:
    """Writes the sentences of one automaton.

    Its words are places: the words of all distinct references, counted through. `origin` gives a place for each arc of
    the automaton, `after` the lattice's state behind each place.
    """

    references: Sequence[Tokens]
    after: Sequence[int]
    origin: Sequence[int]
    settings: TextSettings
    # Where it is not certain that an arc is cut apart again from the one before it.
    _doubtful: set[tuple[int, int]] = field(default_factory=set)
    _cut: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the words of what is glued together

    def texts(self, path: Sequence[int]) -> list[str]:
        """Sentences as texts: their arcs, -1 behind each."""
        # No word holds a line's end, so all sentences are written in one go.
        if not self._plain:
            return "".join(self._written(path)).split("\n")[:-1]
        together = "".join(itemgetter(*path)(self._plain_pieces)) if path else ""
        texts = together.split("\n")[:-1]
        # In plain references, a mark ends a sentence. Where it no longer does, another sentence opens behind it.
        if ends_inside(together):
            texts = [_OPENER.sub(self._opener, text) if ends_inside(text) else text for text in texts]
        return texts

    def _opener(self, found: re.Match[str]) -> str:
        word = found.group()
        return self._casing.fit(word.casefold(), word, opening=True) if self.settings.fold_case else word

    def write(self, arcs: Sequence[int]) -> tuple[str, tuple[str, ...]]:
        """One sentence: its text, and its words as they stand in it."""
        if self._plain:
            (text,) = self.texts([*arcs, NONE])
            return text, tokenize(text, self.settings).surfaces
        pieces = self._written([*arcs, NONE])[:-1]
        return "".join(pieces), tuple([piece.lstrip() for piece in pieces])

    def piece(self, before: int, arc: int) -> str:
        """What is written for an arc behind another one, -1 at the beginning: its word with the space before it."""
        behind = self._behind[before]
        if arc not in behind:
            ordinary = self._ordinary[arc] if self._ordinary[before] else ""
            behind[arc], sure = (ordinary, True) if len(ordinary) > 1 else self._arc_piece(before, arc)
            if not sure:
                self._doubtful.add((before, arc))
        return behind[arc]

    def _written(self, path: Sequence[int]) -> list[str]:
        """Every word with the space before it, and a line's end behind each sentence."""
        pieces, before, known = [], NONE, self._behind
        behind = known[NONE]
        for arc in path:
            pieces.append(behind[arc] if arc in behind else self.piece(before, arc))
            before, behind = arc, known[arc]
        if self._quotes:
            self._behind_quotes(pieces, path)
        if self._doubtful:
            self._set_apart(pieces, path)
        return pieces

    def _behind_quotes(self, pieces: list[str], path: Sequence[int]) -> None:
        """Write the words behind quotes again: what stands before the quote says whether a sentence opens."""
        for at in [at for at, arc in enumerate(path) if arc in self._quotes]:
            if path[at + 1] == NONE:
                continue
            start = at
            while start > 0 and path[start - 1] in self._quotes:
                start -= 1
            last = path[start - 1] if start else NONE
            opening = last == NONE or self.origin[last] + 1 in self._openings
            pieces[at + 1] = self._piece(self.origin[path[at]], self.origin[path[at + 1]], opening)[0]

    def _set_apart(self, pieces: list[str], path: Sequence[int]) -> None:
        """Where gluing would make other words of a sentence, as of two full stops, space out all of it."""
        start = 0
        while start < len(path):
            end = path.index(NONE, start)
            arcs = path[start:end]
            if not self._doubtful.isdisjoint(pairwise(arcs)) and not self._stays(arcs, pieces[start:end]):
                pieces[start + 1 : end] = [" " + piece.lstrip() for piece in pieces[start + 1 : end]]
            start = end + 1

    def _stays(self, arcs: Sequence[int], pieces: Sequence[str]) -> bool:
        """Whether a sentence is cut into its words again. Spaces part words, so what is glued is looked at alone."""
        parts = [place for place, piece in enumerate(pieces) if place == 0 or piece[0] == " "]
        for first, end in zip(parts, [*parts[1:], len(pieces)], strict=True):
            text = pieces[first] if end == first + 1 else "".join(pieces[first:end])
            if text == self._ordinary[arcs[first]]:  # as most are
                continue
            if text not in self._cut:
                self._cut[text] = tokenize(text, self.settings).words
            if self._cut[text] != tuple([self._words[self.origin[arc]] for arc in arcs[first:end]]):
                return False
        return True

    @cached_property
    def _plain_pieces(self) -> list[str]:
        """Each arc's word with the space before it, for plain references: it takes it along, wherever it lands."""
        pieces = list(map(add, self._spaces, plain_words([self.references], self.after)))
        return [*[pieces[place] for place in self.origin], "\n"]

    # -- one word behind another ------------------------------------------------------------------------------

    def _arc_piece(self, before: int, arc: int) -> tuple[str, bool]:
        """What is written for an arc behind another one, and whether it is certainly cut off from it again."""
        if arc == NONE:
            return "\n", True
        place = self.origin[arc]
        if before == NONE:
            return self._piece(NONE, place, opening=True)
        last_place = self.origin[before]
        return self._piece(last_place, place, opening=last_place + 1 in self._openings)

    @cached_property
    def _behind(self) -> list[dict[int, str]]:
        """What is written for an arc behind each other one; behind -1 at the end of the list."""
        return [{} for _ in range(len(self.origin) + 1)]

    @cached_property
    def _ordinary(self) -> list[str]:
        """What is written for each arc behind an ordinary word, if that is certain: its word behind a space.

        Otherwise, a space for an ordinary word, and nothing for another one; nor for what stands before the first arc.
        """
        found = []
        for place in self.origin:
            word = self._words[place]
            is_certain = self._surfaces[place] == word and self._spaces[place] == " "
            found.append((" " + word if is_certain else " ") if is_ordinary(word) else "")
        return [*found, ""]

    def _piece(self, before: int, place: int, opening: bool) -> tuple[str, bool]:
        """The same for words that are not ordinary ones, given by their places."""
        word, arcs, firsts, openings = self._words[place], self._arcs, self._firsts, self._openings
        same = self._places_on[arcs[place]]
        if before == NONE:
            together = [other for other in same if other in firsts]
        else:
            together = [other for other in same if arcs[other - 1] == arcs[before] and other not in firsts]
        fitting = [other for other in together or same if (other in openings) == opening]
        surface = _most_frequent([self._surfaces[other] for other in fitting or together or same])
        if not fitting and self.settings.fold_case:
            surface = self._casing.fit(word, surface, opening=opening)
        if before == NONE:
            return surface, True
        if together:
            space = _most_frequent([self._spaces[other] for other in together])
        else:
            space = self._space(before, place)
        return space + surface, bool(space) or self._is_sure(self._words[before], word)

    def _space(self, before: int, place: int) -> str:
        """The space between two words that come from different references."""
        words, firsts = self._words, self._firsts
        word, last = words[place], words[before]
        seen = [
            self._spaces[other]
            for other in range(1, len(words))
            if words[other] == word and words[other - 1] == last and other not in firsts
        ]
        if seen:
            return _most_frequent(seen)
        if is_mark(word) or word in CLOSING:
            # As it stands in its own reference, if a word is before it there too.
            if place not in firsts and not is_mark(words[place - 1]):
                return self._spaces[place]
            return "" if word in CLOSING else " "
        if is_mark(last) or last in OPENING:
            following = before + 1
            if following < len(words) and following not in firsts and not is_mark(words[following]):
                return self._spaces[following]
            return "" if last in OPENING else " "
        if needs_no_space(last[-1]) or needs_no_space(word[0]):
            return self._unspaced_gap
        return " "

    def _is_sure(self, last: str, word: str) -> bool:
        """Whether two words that are glued are certainly two words."""
        if self.settings.tokenizer == "characters" and (needs_no_space(last[-1]) or needs_no_space(word[0])):
            return last[-1] != word[0] or not is_mark(word)
        if last[-1] == word[0]:
            return False
        return word in CLOSING or last in OPENING or parts_words(last[-1]) or parts_words(word[0])

    # -- what the references have -----------------------------------------------------------------------------

    @cached_property
    def _plain(self) -> bool:
        return all(tokens.plain for tokens in self.references)

    @cached_property
    def _arcs(self) -> list[int]:
        """The arc of the lattice that each place lies on, by number: the states before and behind it, and its word."""
        before = [NONE, *self.after[:-1]]
        for place in self._firsts:
            before[place] = NONE
        numbers: dict[tuple[int, int, str], int] = {}
        return [numbers.setdefault(arc, len(numbers)) for arc in zip(before, self.after, self._words, strict=True)]

    @cached_property
    def _places_on(self) -> list[list[int]]:
        """The places on each arc."""
        places: list[list[int]] = [[] for _ in range(max(self._arcs) + 1)]
        for place, arc in enumerate(self._arcs):
            places[arc].append(place)
        return places

    @cached_property
    def _words(self) -> list[str]:
        return list(chain.from_iterable([tokens.words for tokens in self.references]))

    @cached_property
    def _surfaces(self) -> list[str]:
        if any(tokens.shouted for tokens in self.references) and self.settings.fold_case:
            return list(chain.from_iterable(map(self._casing.surfaces, self.references)))
        return list(chain.from_iterable([tokens.surfaces for tokens in self.references]))

    @cached_property
    def _spaces(self) -> list[str]:
        return list(chain.from_iterable([tokens.spaces for tokens in self.references]))

    @cached_property
    def _firsts(self) -> dict[int, Tokens]:
        """The references, by the places where they begin."""
        firsts = {}
        place = 0
        for tokens in self.references:
            firsts[place] = tokens
            place += len(tokens)
        return firsts

    @cached_property
    def _openings(self) -> set[int]:
        """The places where a sentence opens; the place behind a reference counts, if one could open there."""
        return {first + position for first, tokens in self._firsts.items() for position in opening_places(tokens)}

    @cached_property
    def _quotes(self) -> frozenset[int]:
        """The arcs of quotes and their like."""
        if TRANSPARENT.isdisjoint(self._words):
            return frozenset()
        return frozenset(arc for arc, place in enumerate(self.origin) if self._words[place] in TRANSPARENT)

    @cached_property
    def _casing(self) -> Casing:
        return Casing(self.references)

    @cached_property
    def _unspaced_gap(self) -> str:
        """What stands between words of scripts that need no spaces: nothing, unless the references mostly have one."""
        glued = spaced = 0
        for place in range(1, len(self._words)):
            last, word = self._words[place - 1], self._words[place]
            if needs_no_space(last[-1]) and needs_no_space(word[0]) and place not in self._firsts:
                spaced += bool(self._spaces[place])
                glued += not self._spaces[place]
        return " " if spaced > glued else ""


# -- plain references -------------------------------------------------------------------------------------------------


def plain_words(examples: Sequence[Sequence[Tokens]], after: Sequence[int]) -> list[str]:
    """How the words of many examples are written: as a Writer has those of plain references, but without spaces, and
    unless one `ends_inside`.

    Words are the places of all references, counted through; a state of -1 marks a reference that equals another.
    """
    words = list(chain.from_iterable([tokens.surfaces for references in examples for tokens in references]))
    first = 0
    for references in examples:
        if not _begin_alike(references):
            places = zip(accumulate(map(len, references), initial=first), references, strict=False)
            firsts = {place: tokens for place, tokens in places if after[place] >= 0}
            if not _begin_alike([*firsts.values()]):
                _spell_openers(words, firsts, after)
        first += sum([len(tokens.words) for tokens in references])
    return words


def ends_inside(text: str) -> bool:
    """Whether a sentence ends inside of a text, and another one opens."""
    return any(mark in text and f"{mark} " in text for mark in ".!?")


def _begin_alike(references: Sequence[Tokens]) -> bool:
    """Whether all of the references begin with a capital, or none."""
    return len({tokens.surfaces[0][0].isupper() for tokens in references}) < 2


def _spell_openers(pieces: list[str], firsts: dict[int, Tokens], after: Sequence[int]) -> None:
    """Where "A" and "a" at the beginning of references are one word, write it as most of them do."""
    openers: dict[tuple[str, int], list[int]] = {}  # the first words that are one arc of the lattice
    for place, tokens in firsts.items():
        openers.setdefault((tokens.words[0], after[place]), []).append(place)
    for places in openers.values():
        surface = _most_frequent([pieces[place] for place in places])
        for place in places:
            pieces[place] = surface


def _most_frequent(forms: Sequence[str]) -> str:
    """The form that occurs most often; the earlier one of two that are as frequent."""
    return forms[0] if len(forms) == 1 else max(dict.fromkeys(forms), key=forms.count)
