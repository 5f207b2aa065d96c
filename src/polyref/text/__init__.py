"""Text as words: what is aligned and scored, and how it is written again."""

from polyref.text.tokens import TextSettings, Tokens, join, tokenize

__all__ = ["TextSettings", "Tokens", "join", "tokenize"]
