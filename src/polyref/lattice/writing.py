"""Write a sentence of the lattice as a person would type it.

In:   the references' words with their spacing, the states behind them, and for each word of a sentence a place where
      a reference has it.
Out:  a text that is cut into the same words again.
Not:  which words (search.py), cutting (text/tokens.py), what is a name (text/casing.py).

Spacing and case belong to a place, not to a word: "30" is glued to "£" but not to "than"; "it" has a capital behind a
full stop. Where two neighbours stand together in a reference, they are written as there. Where a sentence crosses from
one reference to another, the marks and the place decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

from polyref.text import TextSettings, Tokens, tokenize
from polyref.text.casing import Casing, openings
from polyref.text.marks import CLOSING, OPENING, is_mark, needs_no_space, opens_behind

_START = -1  # what stands before the first word


class _Piece(NamedTuple):
    """A word as it is written behind another one."""

    space: str
    surface: str
    opens: bool  # whether a sentence opens behind it
    sure: bool  # whether it is certainly cut off from the word before it again


class Writer:
    """Writes sentences whose words are places: the words of all distinct references, counted through."""

    def __init__(self, references: Sequence[Tokens], after: Sequence[int], settings: TextSettings):
        self._references = references
        self._after = after
        self._settings = settings
        self._plain = all(tokens.plain for tokens in references)
        self._known: dict[tuple[int, int, bool], _Piece] = {}

    def texts(self, origin: Sequence[int], path: Sequence[int]) -> list[str]:
        """Sentences as texts: for each arc a place of its word; and the sentences' arcs, -1 behind each."""
        if not self._plain:
            return [self.write(places)[0] for places in _sentences(origin, path)]
        # Plain words take their space along, wherever they land; no word holds a line's end, so all go in one go.
        pieces = self._plain_pieces
        texts = "".join(map([*[pieces[place] for place in origin], "\n"].__getitem__, path)).split("\n")[:-1]
        if self._stops and any(". " in text for text in texts):
            # A full stop that no longer ends its sentence.
            for number, places in enumerate(_sentences(origin, path)):
                if ". " in texts[number]:
                    texts[number] = self.write(places)[0]
        return texts

    def write(self, places: Sequence[int]) -> tuple[str, tuple[str, ...]]:
        """One sentence: its text, and its words as they stand in it."""
        before, opening = _START, True
        pieces: list[_Piece] = []
        known, arcs = self._known, self._arcs
        for place in places:
            arc = arcs[place]
            piece = known.get((before, arc, opening))
            if piece is None:
                piece = known[before, arc, opening] = self._piece(before, arc, opening)
            pieces.append(piece)
            before, opening = arc, piece.opens
        surfaces = tuple([piece.surface for piece in pieces])
        text = "".join([piece.space + piece.surface for piece in pieces])
        if all(piece.sure for piece in pieces):
            return text, surfaces
        words = tuple([self._words[place] for place in places])
        if tokenize(text, self._settings).words != words:
            # Where gluing would make other words of them, they are set apart: the doubtful ones, or else all.
            text = "".join([(piece.space if piece.sure else " ") + piece.surface for piece in pieces]).lstrip()
            if tokenize(text, self._settings).words != words:
                text = " ".join(surfaces)
        return text, surfaces

    # -- plain words ------------------------------------------------------------------------------------------

    @cached_property
    def _plain_pieces(self) -> list[str]:
        """Each word with the space before it."""
        pieces: list[str] = []
        firsts = []
        for tokens in self._references:
            firsts.append(len(pieces))
            pieces += [" " + surface for surface in tokens.surfaces]
            pieces[firsts[-1]] = tokens.surfaces[0]
            if tokens.surfaces[-1] == ".":
                pieces[-1] = "."
        if len({pieces[place][0].isupper() for place in firsts}) > 1:
            # "A" and "a" may be one word: it is written as most references have it.
            for place in firsts:
                pieces[place] = _most_frequent([self._surfaces[same] for same in self._places[self._arcs[place]]])
        return pieces

    @cached_property
    def _stops(self) -> bool:
        return any(tokens.surfaces[-1] == "." for tokens in self._references)

    # -- one word behind another ------------------------------------------------------------------------------

    def _piece(self, before: int, arc: int, opening: bool) -> _Piece:
        together = [place for place in self._places[arc] if self._arc_before(place) == before]
        fitting = [place for place in together or self._places[arc] if self._opening[place] == opening]
        place = (fitting or together or self._places[arc])[0]
        word = self._words[place]
        surface = _most_frequent([self._surfaces[place] for place in fitting or together or self._places[arc]])
        if not fitting and self._settings.fold_case:
            surface = self._casing.fit(word, surface, opening=opening)
        last = "" if before == _START else self._words[self._places[before][0]]
        space = "" if before == _START else self._space(before, arc, together)
        sure = bool(space) or before == _START or self._is_sure(last, word)
        return _Piece(space, surface, opens_behind(word, last, opening), sure)

    def _space(self, before: int, arc: int, together: list[int]) -> str:
        """The space between two arcs; `together` are the places where a reference has both."""
        if together:
            return _most_frequent([self._spaces[place] for place in together])
        place, last_place = self._places[arc][0], self._places[before][0]
        word, last = self._words[place], self._words[last_place]
        seen = self._pair_spaces.get((last, word))
        if seen is not None:
            return seen
        if is_mark(word) or word in CLOSING:
            # As it stands in its own reference, if a word is before it there too.
            if not self._is_first(place) and not is_mark(self._words[place - 1]):
                return self._spaces[place]
            return "" if word in CLOSING else " "
        if is_mark(last) or last in OPENING:
            following = last_place + 1
            if following < len(self._words) and not self._is_first(following) and not is_mark(self._words[following]):
                return self._spaces[following]
            return "" if last in OPENING else " "
        if needs_no_space(last[-1]) or needs_no_space(word[0]):
            return self._unspaced_gap
        return " "

    def _is_sure(self, last: str, word: str) -> bool:
        """Whether two words that are glued are certainly two words."""
        if self._settings.tokenizer == "characters" and (needs_no_space(last[-1]) or needs_no_space(word[0])):
            return last[-1] != word[0] or not is_mark(word)
        return last[-1] != word[0] and (word in CLOSING or last in OPENING) and not last[-1].isnumeric()

    # -- what the references have -----------------------------------------------------------------------------

    @cached_property
    def _words(self) -> list[str]:
        return list(chain.from_iterable([tokens.words for tokens in self._references]))

    @cached_property
    def _surfaces(self) -> list[str]:
        if not self._settings.fold_case:
            return list(chain.from_iterable([tokens.surfaces for tokens in self._references]))
        return list(chain.from_iterable(map(self._casing.surfaces, self._references)))

    @cached_property
    def _spaces(self) -> list[str]:
        return list(chain.from_iterable([tokens.spaces for tokens in self._references]))

    @cached_property
    def _opening(self) -> list[bool]:
        return list(chain.from_iterable(map(openings, self._references)))

    @cached_property
    def _casing(self) -> Casing:
        return Casing(self._references)

    @cached_property
    def _firsts(self) -> set[int]:
        firsts, place = set(), 0
        for tokens in self._references:
            firsts.add(place)
            place += len(tokens)
        return firsts

    def _is_first(self, place: int) -> bool:
        return place in self._firsts

    def _arc_before(self, place: int) -> int:
        return _START if self._is_first(place) else self._arcs[place - 1]

    @cached_property
    def _arcs(self) -> list[int]:
        """For each place the arc of the lattice that it lies on, named by the first place on it."""
        named: dict[tuple[int, int, str], int] = {}
        arcs = []
        for place, word in enumerate(self._words):
            state = -1 if self._is_first(place) else int(self._after[place - 1])
            arcs.append(named.setdefault((state, int(self._after[place]), word), place))
        return arcs

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """The places on each arc, in order."""
        found: dict[int, list[int]] = {}
        for place, arc in enumerate(self._arcs):
            found.setdefault(arc, []).append(place)
        return found

    @cached_property
    def _pair_spaces(self) -> dict[tuple[str, str], str]:
        """The space between each two words that are neighbours in a reference: the most frequent one."""
        seen: dict[tuple[str, str], list[str]] = {}
        for place, pair in enumerate(pairwise(self._words), 1):
            if not self._is_first(place):
                seen.setdefault(pair, []).append(self._spaces[place])
        return {pair: _most_frequent(spaces) for pair, spaces in seen.items()}

    @cached_property
    def _unspaced_gap(self) -> str:
        """What stands between words of scripts that need no spaces: nothing, unless the references mostly have one."""
        glued = spaced = 0
        for place, (last, word) in enumerate(pairwise(self._words), 1):
            if needs_no_space(last[-1]) and needs_no_space(word[0]) and not self._is_first(place):
                spaced += bool(self._spaces[place])
                glued += not self._spaces[place]
        return " " if spaced > glued else ""


def _most_frequent(forms: Sequence[str]) -> str:
    """The form that occurs most often; the earlier one of two that are as frequent."""
    return forms[0] if len(forms) == 1 else max(dict.fromkeys(forms), key=forms.count)


def _sentences(origin: Sequence[int], path: Sequence[int]) -> Iterator[list[int]]:
    """The places of each sentence of a path."""
    places: list[int] = []
    for arc in path:
        if arc < 0:
            yield places
            places = []
        else:
            places.append(origin[arc])
