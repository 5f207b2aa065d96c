"""What models are made of: padded rows, words, LSTMs, attention.

In:   rows of token numbers, vectors, states.
Out:  tensors, vectors, states, what a prediction costs.
Not:  how they are put together (translator.py, captioner.py), numbers from text (text/subwords.py).

Padding stands behind, so that a forward LSTM never carries it into a state that counts. A bidirectional one would:
packed sequences keep it out there.

Recurrences compute in the type of their weights, out of autocast: on a GPU it makes cuDNN's LSTMs float16, whatever
type it is asked for, and rounding errors would add up from step to step.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from polyref.text.subwords import BOS, EOS, PAD

Rows = Sequence[Sequence[int]]
Moved = TypeVar("Moved")


# -- rows -----------------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """How the targets of one row differ from one word per step: by this much probability, at a step, for a token.

    At each step the changes sum to 0, and no token comes twice.
    """

    steps: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    amounts: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Changes:
    """Those of a batch."""

    places: Tensor  # changes: among the target tokens of all sentences, without padding
    tokens: Tensor  # changes
    amounts: Tensor  # changes

    @classmethod
    def of(cls, rows: Sequence[Change | None], lengths: Tensor) -> Changes | None:
        """None where no row is changed."""
        found = [(start, row) for start, row in zip((lengths.cumsum(0) - lengths).tolist(), rows, strict=True) if row]
        if not any(len(row.steps) for _, row in found):
            return None
        places = np.concatenate([start + row.steps for start, row in found])
        tokens, amounts = (np.concatenate(parts) for parts in zip(*[row[1:] for _, row in found], strict=True))
        return cls(torch.from_numpy(places), torch.from_numpy(tokens), torch.from_numpy(amounts))

    def cost(self, predicted: Tensor) -> Tensor:
        """predicted: target tokens x words, not normalised. How much more the changed targets cost.

        What normalises a step is the same for all its words, so that it drops out where changes sum to 0.
        """
        return -(self.amounts * predicted[self.places, self.tokens]).sum()


@dataclass(frozen=True, slots=True)
class Targets:
    """What a decoder reads and what it should predict: the same words, one step apart."""

    inputs: Tensor  # sentences x steps: begin, then the words
    outputs: Tensor  # sentences x steps: the words, then the end
    lengths: Tensor  # sentences: the steps of each, the end among them
    changes: Changes | None = None  # where a target is more than one word

    @classmethod
    def of(cls, rows: Rows | None, changes: Sequence[Change | None] | None = None) -> Targets | None:
        """Rows without begin and end; None where there is only something to search."""
        if rows is None:
            return None
        inputs, lengths = padded([[BOS, *row] for row in rows])
        outputs, _ = padded([[*row, EOS] for row in rows])
        return cls(inputs, outputs, lengths, None if changes is None else Changes.of(changes, lengths))

    @property
    def real(self) -> Tensor:
        """Which steps are not padding: sentences x steps."""
        return are_real(self.lengths, self.inputs.shape[1])


def padded(rows: Rows) -> tuple[Tensor, Tensor]:
    """Rows padded behind: rows x longest; and their lengths."""
    lengths = np.array([len(row) for row in rows])
    table = np.full((len(rows), int(lengths.max())), PAD, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate([np.array(row, np.int64) for row in rows])
    return torch.from_numpy(table), torch.from_numpy(lengths)


def are_real(lengths: Tensor, longest: int) -> Tensor:
    """Which places of padded rows hold something: rows x longest."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def on_device(value: Moved, device: torch.device) -> Moved:
    """A batch with all its tensors on a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        moved: dict[str, Any] = {one.name: on_device(getattr(value, one.name), device) for one in fields(value)}
        return replace(value, **moved)
    return value


# -- words ----------------------------------------------------------------------------------------------------------


class Words(nn.Module):
    """A table of vectors to read words by, and one to predict them by: another one, or the same where they are tied."""

    def __init__(self, words: int, size: int, states: int, *, tied: bool, spread: float = 1.0):
        """`spread` is how large the numbers are that vectors are read with at first."""
        super().__init__()
        # Words predict best with vectors of small numbers, so that a shared table is scaled where it is read.
        self.scale = spread * size**0.5 if tied else 1.0
        self.vectors = nn.Embedding(words, size)
        nn.init.normal_(self.vectors.weight, std=spread / self.scale)
        # A shared table has one name, so that weights are saved and loaded once.
        self.output = None if tied else nn.Parameter(torch.empty(words, states).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(words))

    def read(self, tokens: Tensor) -> Tensor:
        """tokens: any shape -> that shape x size."""
        found: Tensor = self.vectors(tokens)
        return found * self.scale

    def predict(self, states: Tensor) -> Tensor:
        """states: any x states -> any x words, not normalised."""
        return functional.linear(states, self.vectors.weight if self.output is None else self.output, self.bias)

    def cost(self, states: Tensor, targets: Targets, smoothing: float) -> tuple[Tensor, int]:
        """states: target tokens x states. The summed cross-entropy of the targets, and their number.

        That is their negative log-likelihood where each is one word and nothing is smoothed. Smoothing mixes a target,
        of one word or of several, with an even distribution over all words.
        """
        smoothing = smoothing if self.training else 0.0
        outputs, predicted = targets.outputs[targets.real], self.predict(states)
        loss = functional.cross_entropy(predicted, outputs, reduction="sum", label_smoothing=smoothing)
        if targets.changes is not None:
            loss = loss + (1 - smoothing) * targets.changes.cost(predicted)
        return loss, int(targets.lengths.sum())


# -- recurrence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LstmState:
    """The state of a stack of LSTMs for some rows."""

    hidden: Tensor  # layers x rows x size
    cells: Tensor  # layers x rows x size

    def select(self, rows: Tensor) -> LstmState:
        """The state of some of the rows, in another order or repeated."""
        return LstmState(self.hidden.index_select(1, rows), self.cells.index_select(1, rows))


class Lstm(nn.LSTM):
    """A stack of LSTMs with dropout between its layers."""

    weight_ih_l0: nn.Parameter  # as torch names it

    def __init__(self, inputs: int, states: int, layers: int, dropout: float, *, bidirectional: bool = False):
        between = dropout if layers > 1 else 0.0
        super().__init__(inputs, states, layers, batch_first=True, dropout=between, bidirectional=bidirectional)
        for name, weight in self.named_parameters():
            if name.startswith("bias_ih"):
                nn.init.ones_(weight[states : 2 * states])  # remember, until there is a reason to forget

    def zeros(self, rows: int) -> LstmState:
        nothing = self.weight_ih_l0.new_zeros(self.num_layers, rows, self.hidden_size)
        return LstmState(nothing, nothing)

    def run_packed(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, LstmState]:
        """inputs: sentences x steps x size -> the top states, sentences x steps x states; and each last state."""
        with self._without_autocast():
            inputs = inputs.to(self.weight_ih_l0.dtype)
            packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
            outputs, (hidden, cells) = self(packed)
            states, _ = pad_packed_sequence(outputs, batch_first=True)
        return states, LstmState(hidden, cells)

    def run_forward(self, inputs: Tensor, start: LstmState | None = None) -> Tensor:
        """The top states of a forward LSTM; two to three times as fast to train as packed sequences.

        What comes out at the places of padding means nothing.
        """
        type = self.weight_ih_l0.dtype
        with self._without_autocast():
            pair = None if start is None else (start.hidden.to(type), start.cells.to(type))
            states: Tensor = self(inputs.to(type), pair)[0]
        return states

    def step(self, inputs: Tensor, state: LstmState) -> LstmState:
        """One step. inputs: rows x size; the output is the new hidden state of the last layer."""
        hidden, cells, type = [], [], self.weight_ih_l0.dtype
        inputs, before, cells_before = (given.to(type) for given in (inputs, state.hidden, state.cells))
        with self._without_autocast():
            for layer, weights in enumerate(self.all_weights):
                if layer:
                    inputs = functional.dropout(inputs, self.dropout, self.training)
                inputs, cell = torch.lstm_cell(inputs, (before[layer], cells_before[layer]), *weights)
                hidden.append(inputs)
                cells.append(cell)
            return LstmState(torch.stack(hidden), torch.stack(cells))

    def _without_autocast(self) -> AbstractContextManager[None]:
        device = self.weight_ih_l0.device.type
        # A search takes many small steps: what has to be put off only sometimes should cost nothing at other times.
        return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


# -- attention ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Memory:
    """What can be looked at: one row per source token."""

    keys: Tensor  # sentences x source x size: the encoder's states, projected once
    values: Tensor  # sentences x source x size: the encoder's states
    padding: Tensor | None  # sentences x 1 x source: where no token is; None where there is no such place

    def select(self, sentences: Tensor) -> Memory:
        """The memory of some of the sentences."""
        padding = None if self.padding is None else self.padding[sentences]
        return Memory(self.keys[sentences], self.values[sentences], padding)


class Attention(nn.Module):
    """Which source words a decoder looks at (Luong, Pham and Manning 2015, "general").

    Scores are the products of the decoder's states with the projected states of the encoder.
    """

    def __init__(self, size: int):
        super().__init__()
        self.project = nn.Linear(size, size, bias=False)
        self.combine = nn.Linear(2 * size, size)

    def memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """states: sentences x source x size."""
        longest = states.shape[1]
        padding = None if int(lengths.min()) == longest else ~are_real(lengths, longest)[:, None]
        return Memory(self.project(states), states, padding)

    def look(self, queries: Tensor, memory: Memory) -> Tensor:
        """queries: sentences x steps x size -> with what they look at, sentences x steps x 2 size."""
        scores = queries @ memory.keys.transpose(1, 2)  # sentences x steps x source
        if memory.padding is not None:
            scores = scores.masked_fill(memory.padding, float("-inf"))
        context = scores.softmax(2) @ memory.values  # sentences x steps x size
        return torch.cat([queries, context], 2)

    def attended(self, looked: Tensor) -> Tensor:
        """looked: any x 2 size -> any x size. Apart from `look`, so that training leaves out padding before it."""
        return torch.tanh(self.combine(looked))
