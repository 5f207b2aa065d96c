"""The paper's translator: a bidirectional LSTM encoder, an LSTM decoder, attention between them (Section 4.1).

In:   batches of token numbers; sources may be text or anything else that is a row of tokens.
Out:  what the targets cost; for a search, the log-probabilities of the next word.
Not:  the search (beam.py), the training loop (fit/), subwords (text/subwords.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyref.model.layers import Attention, Change, Lstm, LstmState, Memory, Rows, Targets, Words, padded
from polyref.model.settings import TranslatorSettings
from polyref.text.subwords import EOS


@dataclass(frozen=True, slots=True)
class TranslationBatch:
    """Sources, and their targets where they are known."""

    source: Tensor  # sentences x source tokens, each with its end
    source_lengths: Tensor  # sentences
    targets: Targets | None = None

    @classmethod
    def of(
        cls, sources: Rows, targets: Rows | None = None, changes: Sequence[Change | None] | None = None
    ) -> TranslationBatch:
        """Rows of token numbers without begin and end."""
        return cls(*padded([[*row, EOS] for row in sources]), Targets.of(targets, changes))


@dataclass(frozen=True, slots=True)
class Translating:
    """Where a search stands: the memory of each sentence, and the state of each of its hypotheses."""

    memory: Memory
    state: LstmState  # layers x (sentences * hypotheses) x states
    attended: Tensor  # (sentences * hypotheses) x states: what was attended to last, for input feeding


class Translator(nn.Module):
    """Reads `source_words` different tokens and predicts `target_words`."""

    batch = TranslationBatch.of

    def __init__(self, settings: TranslatorSettings, *, source_words: int, target_words: int):
        super().__init__()
        self.settings = settings
        size, states, layers, dropout = settings.embedding_size, settings.state_size, settings.layers, settings.dropout
        self.source = nn.Embedding(source_words, size)
        self.encoder = Lstm(size, states // 2, layers, dropout, bidirectional=True)
        self.words = Words(target_words, size, states, tied=settings.tied)
        self.decoder = Lstm(size + states * settings.input_feeding, states, layers, dropout)
        self.attention = Attention(states)
        self.drop = nn.Dropout(dropout)

    # -- training -----------------------------------------------------------------------------------------------

    def loss(self, batch: TranslationBatch) -> tuple[Tensor, int]:
        """The summed negative log-likelihood of the targets, and their number of tokens, their ends among them."""
        assert batch.targets is not None
        memory, state = self.encode(batch)
        attended = self._step_by_step if self.settings.input_feeding else self._at_once
        states = self.drop(attended(batch.targets, memory, state))  # target tokens x states
        return self.words.cost(states, batch.targets, self.settings.label_smoothing)

    def encode(self, batch: TranslationBatch) -> tuple[Memory, LstmState]:
        """What the decoder can look at, and the state that it starts from."""
        vectors = self.drop(self.source(batch.source))  # sentences x source x embedding
        states, last = self.encoder.run_packed(vectors, batch.source_lengths)
        return self.attention.memory(states, batch.source_lengths), LstmState(_joined(last.hidden), _joined(last.cells))

    def _at_once(self, targets: Targets, memory: Memory, state: LstmState) -> Tensor:
        """All steps of the decoder, then all of attention: target tokens x states."""
        vectors = self.drop(self.words.read(targets.inputs))  # sentences x steps x embedding
        states = self.decoder.run_forward(vectors, state)
        return self.attention.attended(self.attention.look(states, memory)[targets.real])

    def _step_by_step(self, targets: Targets, memory: Memory, state: LstmState) -> Tensor:
        """Each step of the decoder reads what the one before attended to: target tokens x states."""
        vectors = self.drop(self.words.read(targets.inputs))  # sentences x steps x embedding
        attended = vectors.new_zeros(len(vectors), self.settings.state_size)
        found = []
        for number in range(vectors.shape[1]):
            state = self.decoder.step(torch.cat([vectors[:, number], attended], 1), state)
            looked = self.attention.look(state.hidden[-1][:, None], memory)  # sentences x 1 x 2 states
            attended = self.attention.attended(looked)[:, 0]
            found.append(attended)
        return torch.stack(found, 1)[targets.real]

    # -- search -------------------------------------------------------------------------------------------------

    def start(self, batch: TranslationBatch) -> Translating:
        memory, state = self.encode(batch)
        return Translating(memory, state, memory.values.new_zeros(len(batch.source), self.settings.state_size))

    def step(self, state: Translating, last: Tensor) -> tuple[Tensor, Translating]:
        sentences, hypotheses = last.shape
        vectors = self.words.read(last.flatten())  # (sentences * hypotheses) x embedding
        if self.settings.input_feeding:
            vectors = torch.cat([vectors, state.attended], 1)
        after = self.decoder.step(vectors, state.state)
        queries = after.hidden[-1].view(sentences, hypotheses, -1)
        attended = self.attention.attended(self.attention.look(queries, state.memory))
        log_probs = self.words.predict(attended).log_softmax(2)  # sentences x hypotheses x words
        return log_probs, Translating(state.memory, after, attended.flatten(0, 1))

    def reorder(self, state: Translating, sentences: Tensor | None, rows: Tensor) -> Translating:
        memory = state.memory if sentences is None else state.memory.select(sentences)
        return Translating(memory, state.state.select(rows), state.attended.index_select(0, rows))

    def sizes(self, batch: TranslationBatch) -> Tensor:
        return batch.source_lengths


def _joined(last: Tensor) -> Tensor:
    """The two directions of each layer side by side: (layers * 2) x rows x half -> layers x rows x states."""
    _, rows, half = last.shape
    return last.view(-1, 2, rows, half).transpose(1, 2).reshape(-1, rows, 2 * half)
