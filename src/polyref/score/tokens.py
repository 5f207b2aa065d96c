"""Cut texts into the tokens that scores compare.

In:   a text as a person reads it.
Out:  its tokens, with single spaces between them.
Not:  the words of a lattice (text/tokens.py).

"13a", "intl", "zh", "char" and "none" are sacreBLEU's: mteval-v13a's rules, mteval-v14's, Chinese by the character,
every character, and spaces only. "ptb" is what captions are scored on: the tokens of the Penn Treebank in lower
case, without punctuation.

For those, pycocoevalcap asks Stanford's tokenizer, a Java program. The rules here were written from what comes out of
it; docs/scores.md says how often the two differ. Punctuation never comes out of here, so it is cut as is simplest, not
as the Treebank cuts it. Some oddities stay, because scores count them: pounds are "#", euros are "$", brackets are
words (pycocoevalcap looks for them in capitals), and so are two question marks in a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal

import regex

Tokenizer = Literal["13a", "intl", "zh", "char", "none", "ptb"]
Cut = Callable[[str], str]


def tokenizer(name: Tokenizer, *, fold_case: bool = False) -> Cut:
    """The function that cuts a text. "ptb" is in lower case whatever `fold_case` says."""
    if name == "ptb":
        return penn_treebank
    cut = _of_sacrebleu(name)
    return (lambda text: cut(text.lower().rstrip())) if fold_case else (lambda text: cut(text.rstrip()))


@lru_cache
def _of_sacrebleu(name: Tokenizer) -> Cut:
    from sacrebleu.metrics.bleu import BLEU

    cut: Cut = BLEU(tokenize=name).tokenizer
    return cut


# -- the Penn Treebank ----------------------------------------------------------------------------------------------

_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
_ENTITY = re.compile("|".join(_ENTITIES))
# What the Treebank has other signs for; and marks that come to nothing, whatever it does with them.
_SIGNS = {
    **dict.fromkeys(map(ord, "’‛´"), "'"),
    **dict.fromkeys(map(ord, '‘`“”„«»"–—―‒…'), " "),
    ord("£"): " # ",
    ord("€"): " $ ",
    ord("¢"): " cents ",
    ord("½"): " 1/2 ",
    ord("¼"): " 1/4 ",
    ord("¾"): " 3/4 ",
    ord("\u00ad"): None,
}
_INSTEAD = dict(zip("()[]{}", ("-lrb-", "-rrb-", "-lsb-", "-rsb-", "-lcb-", "-rcb-"), strict=True)) | {
    two.replace(" ", ""): two for two in ("can not", "gon na", "got ta", "wan na", "gim me", "lem me")
}
_NOTHING = re.compile(r"[',.;:-]+|[?!]|[^\0-\uffff]")  # Java's program does not know characters of two units

_TITLES = "mr|mrs|ms|drs?|prof|sr|jr|rev|gen|col|capt|cmdr|lt|sgt|sens?|reps?|gov|pres|hon|maj|adm|supt|esq|messrs|mme"
_FIRMS = "vs|etc|inc|ltd|cos?|corp|bros|plc|al|cf|dept|est|assn|assoc|univ|natl|intl|tel|ext|mfg|wm|alex"
_MONTHS = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu|thurs|fri"
_PLACES = "st|ste|ave|blvd|rd|sq|ct|mt|ft|bldg|ala|ariz|calif|colo|conn|fla|ga|ind|kans?|ky|md|mich|minn|mo|mont|neb"
_STATES = "nev|okla|penn|tenn|va|vt|wisc?|wyo"
_ABBREVIATIONS = f"{_TITLES}|{_FIRMS}|{_MONTHS}|{_PLACES}|{_STATES}"
_IF_CAPITAL = "Miss|Ark|Del|Ill|La|Mass|Ore|Pa|Tex|Wash"
_IF_NUMBERED = "ca|figs?|nos?|pp|art|op|prop"

# Most captions are words and commas and a full stop, and are cut at spaces, ten times as fast.
_PLAIN = re.compile(r"[A-Za-z, ]*[A-Za-z] ?\.?\s*")
_MAY_KEEP_STOP = re.compile(rf"[a-z]|{_ABBREVIATIONS}|{_IF_CAPITAL.lower()}")

_LETTER_OR_DIGIT = r"[\p{L}\p{N}]"
_RUN = r"[\p{L}\p{M}\p{N}_]+"
# An apostrophe stays where a name has it: O'Hara, d'oeuvre, Xi'an. Elsewhere it cuts: Chang'an is two.
_PART = rf"(?:(?:[A-HJ-XZ]|[dlno]|c|qu)'\p{{L}}{{2,}}|\p{{L}}*[aeiouyAEIOUY]'[aeiouA-Z](?<!'S)\p{{L}}*|{_RUN})"


@cache
def _tokens() -> regex.Pattern[str]:
    return regex.compile(
        rf"""
          (?:https?://|www\.)[^\s<>]*[^\s<>.,;:!?)'\]]
        | [\p{{L}}\p{{N}}._+-]+@[\p{{L}}\p{{N}}-]+(?:\.[\p{{L}}\p{{N}}-]+)+
        | </?\p{{L}}[^<>\s]*>
        | (?<!{_LETTER_OR_DIGIT})(?:
              (?:\p{{L}}\.){{2,}}(?!\p{{L}})                            # U.S., a.m.
            | (?i:ph\.d|{_ABBREVIATIONS})\.(?!\p{{L}})
            | (?:{_IF_CAPITAL})\.(?!\p{{L}})
            | (?i:{_IF_NUMBERED})\.(?=\s*\p{{N}})
            | \p{{L}}\.(?!\p{{L}}|\s*$)                                # initials
            | \p{{L}}+(?:\.\p{{L}}+)+                                  # two sentences without a space are one word
            | \p{{L}}+(?:-\p{{L}}+)*\.(?=[,;:])                        # what goes on is no end
            | [A-Z]+(?:&[A-Z]+)+
            | (?<!-)[-+](?=\p{{N}}){_RUN}(?:[.,:]\p{{N}}+)*            # below zero
            | [\#@]\p{{L}}[\p{{L}}\p{{N}}_]*
            | (?i:'n'|'em|'till?|'cause|'\d0s|'\d\d(?=\s+\p{{L}}))(?!{_LETTER_OR_DIGIT})
            | (?i:'t(?=(?:is|was)\b)|y'(?=\p{{L}}))
          )
        | \p{{N}}+(?:[.,]\p{{N}}+)+(?:-{_RUN})*                          # 1,000.50
        | (?:(?<=:\p{{N}}\p{{N}})-)?\p{{N}}+(?::\p{{N}}+)+                # 10:30, and the end of 10:30-22:00
        | (?<!\p{{N}})\.\p{{N}}+
        | (?i:\p{{L}}+(?=n't(?!\p{{L}}))|n't(?!\p{{L}}))                # do n't
        | (?i:'(?:s|d|m|ll|re|ve))(?!{_LETTER_OR_DIGIT})               # it 's
        | {_PART}(?:[-/]{_PART})*
        | [?!]+ | \*+
        | \S
        """,
        regex.VERBOSE,
    )


@lru_cache(maxsize=1 << 16)  # CIDEr and ROUGE-L ask for the same texts, and so do several systems
def penn_treebank(text: str) -> str:
    """The tokens of a text in lower case, with single spaces between them."""
    if _PLAIN.fullmatch(text):
        words = text.lower().replace(",", " ").replace(".", " ").split()
        if not _MAY_KEEP_STOP.fullmatch(words[-1]):
            return " ".join([_INSTEAD.get(word, word) for word in words])
    if "&" in text:
        text = _ENTITY.sub(lambda entity: _ENTITIES[entity.group()], text)
    found = [token.lower() for token in _tokens().findall(text.translate(_SIGNS))]
    return " ".join([_INSTEAD.get(token, token) for token in found if not _NOTHING.fullmatch(token)])
