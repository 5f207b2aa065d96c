"""From texts to a lattice: check, number, compare, align and merge.

In:   tokenised references, their encodings, and how to align them.
Out:  a Lattice.
Not:  the steps themselves (align/, build.py, determinise.py), what a lattice can do (lattice.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polyref import compiled
from polyref.align import AlignSettings, whole_units
from polyref.align.veto import exclusions
from polyref.encode import Choosy, Encoder, Encoding, default_encoder
from polyref.errors import InputError, SettingsError
from polyref.lattice.engine import AutoEngine, CompiledEngine, Engine, EngineName, PlainEngine
from polyref.lattice.lattice import Lattice
from polyref.lattice.numbering import number_words
from polyref.lattice.parts import Aligned
from polyref.text import TextSettings, Tokens

# The references of one example, in all. Memory grows with its square: 400 MB for soft alignment at the limit.
MAX_WORDS = 10_000
MAX_REFERENCES = 1000


def check_words(tokens: Sequence[Tokens], line: int | None = None) -> None:
    """Refuse references that are blank, or that are too long together."""
    for position, reference in enumerate(tokens, 1):
        if not len(reference):
            raise InputError(f"reference {position} is blank", "give a text, or take it out", line=line)
    if len(tokens) > MAX_REFERENCES:
        raise InputError(f"one example has {len(tokens):,} references", f"give at most {MAX_REFERENCES:,}", line=line)
    total = sum(map(len, tokens))
    if total > MAX_WORDS:
        raise InputError(
            f"the references of one example have {total:,} words",
            f"split them: {MAX_WORDS:,} are the most that are merged",
            line=line,
        )


def check_encoder(align: AlignSettings, encoder: object | None) -> None:
    """Refuse an encoder that would not be asked."""
    if align.align == "hard" and encoder is not None:
        raise SettingsError("has no effect with hard alignment", "set align to soft, or leave it out", key="encoder")


def prepare(
    align: AlignSettings, encoder: Encoder | None, tokens: Sequence[Tokens]
) -> tuple[float, list[Encoding] | None]:
    """The baseline and the encodings that an alignment needs; none if it is hard."""
    if align.align == "hard":
        return 0.0, None
    if encoder is None:
        encoder = default_encoder()
    baseline = 0.0
    if align.similarity == "rescaled":
        baseline = encoder.baseline if align.baseline is None else align.baseline
    if baseline >= 1:
        raise SettingsError(
            f"{encoder.name} takes all words for the same: its baseline is {baseline}; set similarity to cosine"
        )
    sentences = [reference.words for reference in tokens]
    if isinstance(encoder, Choosy):
        encoder.check(sentences)
    return baseline, encoder.encode(sentences)


def merge(
    tokens: Sequence[Tokens],
    encodings: Sequence[Encoding] | None,
    align: AlignSettings,
    *,
    text: TextSettings,
    baseline: float = 0.0,
    engine: Engine | AutoEngine,
) -> Lattice:
    """Merge tokenised references into a lattice; with encodings (one a reference), by soft alignment."""
    numbering = number_words(tokens)
    references = numbering.references
    chosen = engine.choose(references) if isinstance(engine, AutoEngine) else engine
    similarity = excluded = None
    if encodings is not None:
        kept = encodings
        if len(references) < len(encodings):
            kept = [encodings[numbering.same.index(distinct)] for distinct in range(len(references))]
        similarity = chosen.similarity(
            references,
            np.concatenate([encoding.vectors for encoding in kept]),
            np.concatenate([encoding.known for encoding in kept]),
            baseline,
        )
        if align.veto or align.position:
            excluded = exclusions(numbering.vocabulary, align.veto)
            similarity = chosen.restrained(references, similarity, excluded, whole_units(align.position))
    for penalty in align.penalties():
        compressed = chosen.compress(references, similarity, penalty, align.merge_order)
        if compressed.count >= align.enough:
            break
    return Lattice(
        tokens,
        numbering,
        compressed,
        chosen,
        text=text,
        penalty=align.shown_penalty(penalty),
        aligned=Aligned(similarity, penalty, align.merge_order, excluded),
    )


def engine_named(name: EngineName, before_compiling: Callable[[], None] = lambda: None) -> Engine | AutoEngine:
    """The engine of a name. `before_compiling` is called where the kernels were never compiled on this machine."""
    if name == "plain":
        return PlainEngine()
    if name == "compiled":
        if not compiled.is_cached():
            before_compiling()
        return CompiledEngine()
    if name == "auto":
        return AutoEngine(before_compiling)
    raise SettingsError(f'unknown engine "{name}"; choose one of auto, plain, compiled')
