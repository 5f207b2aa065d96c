"""The tokens that captions are scored on: those of the Penn Treebank in small letters, without punctuation.

In:   a text as a person reads it.
Out:  its tokens, with single spaces between them.
Not:  other tokens (tokens.py).

pycocoevalcap asks Stanford's tokenizer, which wants Java. These rules were written from what that program does with
captions and simple prose, and tested against its output: docs/scores.md says how often the two differ.
"""

from __future__ import annotations

import regex

# Marks that are one and the same to the Treebank, and signs that it has other ones for.
_SAME = {
    ord(mark): same
    for marks, same in (
        ("’‛´\u0092", "'"),
        ("‘\u0091", "`"),
        ("“”„«»\u0093\u0094", '"'),
        ("–—―‒\u0096\u0097", " -- "),
        ("…\u0085", " ... "),
        ("£", " # "),
        ("€", " $ "),
        ("½", " 1/2 "),
        ("¼", " 1/4 "),
        ("¾", " 3/4 "),
        ("\u00ad", ""),
    )
    for mark in marks
}
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
# What is left out. Brackets stay: they are in small letters by then, and the list of pycocoevalcap has capitals.
_LEFT_OUT = frozenset("'' ' `` ` . ? ! , : - -- ... ;".split())

# Words that keep their full stop, and those that are two.
_TITLES = (
    "mr mrs ms dr prof st sr jr rev gen col capt lt sgt sen rep gov pres hon maj vs etc inc ltd co corp bros "
    "jan feb mar apr jun jul aug sep sept oct nov dec ave blvd rd mt ft approx dept est fig no"
).split()
_TWO = {
    "cannot": "can not",
    "gonna": "gon na",
    "gotta": "got ta",
    "wanna": "wan na",
    "lemme": "lem me",
    "gimme": "gim me",
}

_WORD = r"[\p{L}\p{M}\p{N}_]+"
_TOKENS = regex.compile(
    rf"""
      (?:https?://|www\.)[^\s"<>]*[^\s"<>.,;:!?)'\]]            # addresses
    | [\p{{L}}\p{{N}}._+-]+@[\p{{L}}\p{{N}}-]+(?:\.[\p{{L}}\p{{N}}-]+)+
    | (?<![\p{{L}}\p{{N}}])(?:\p{{L}}\.){{2,}}                    # U.S., a.m.
    | (?i:(?<![\p{{L}}\p{{N}}])(?:{"|".join(_TITLES)})\.(?=\s+\S))
    | [#@]\p{{L}}[\p{{L}}\p{{N}}_]*                               # tags
    | \d+/\d+(?![\p{{L}}\p{{N}}/])                               # fractions
    | \d+(?:[.,:]\d+)+(?:-{_WORD})*                             # 1,000.50, 10:30
    | {_WORD}?n['’]t(?!\p{{L}})
    | (?i:{_WORD}(?:-{_WORD})*(?:'(?!(?:s|d|m|ll|re|ve)(?!\p{{L}})){_WORD}(?:-{_WORD})*)*)
    | (?i:'(?:s|d|m|ll|re|ve)(?![\p{{L}}\p{{N}}]))
    | \.\.+ | --+
    | .
    """,
    regex.VERBOSE,
)
_NOT = regex.compile(r"(?i)^(.+)(n't)$")


def penn_treebank(text: str) -> str:
    """The tokens of a text in small letters, with single spaces between them."""
    words: list[str] = []
    for token in _TOKENS.findall(text.translate(_SAME)):
        word = token.lower()
        if word.isspace() or word in _LEFT_OUT or word == '"' or set(word) <= {".", "-"}:
            continue
        if word.endswith("n't") and word != "n't":
            words += [word[:-3], "n't"]
        else:
            words.append(_BRACKETS.get(word) or _TWO.get(word, word))
    return " ".join(words)
