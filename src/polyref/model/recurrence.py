"""LSTMs over whole padded batches and step by step, with the same weights.

In:   vectors; lengths. Out: states. Not: what they are for (translator.py, captioner.py).

Padding stands behind, so that a forward LSTM never carries it into a state that counts. A bidirectional one would:
packed sequences keep it out there.

Recurrences compute in the type of their weights, out of autocast: on a GPU it makes cuDNN's LSTMs float16, whatever
type it is asked for, and what is rounded would add up from step to step.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


@dataclass(frozen=True, slots=True)
class LstmState:
    """The state of a stack of LSTMs for some rows."""

    hidden: Tensor  # layers x rows x size
    cells: Tensor  # layers x rows x size

    def select(self, rows: Tensor) -> LstmState:
        """The state of some of the rows, in another order or repeated."""
        return LstmState(self.hidden.index_select(1, rows), self.cells.index_select(1, rows))

    def to(self, type: torch.dtype) -> LstmState:
        """The state in numbers of a type; itself if it is of that."""
        if self.hidden.dtype == self.cells.dtype == type:
            return self
        return LstmState(self.hidden.to(type), self.cells.to(type))

    @classmethod
    def zeros(cls, lstm: nn.LSTM, rows: int) -> LstmState:
        nothing = next(lstm.parameters()).new_zeros(lstm.num_layers, rows, lstm.hidden_size)
        return cls(nothing, nothing)


def make_lstm(inputs: int, states: int, layers: int, dropout: float, *, bidirectional: bool = False) -> nn.LSTM:
    """A stack of LSTMs with dropout between its layers."""
    between = dropout if layers > 1 else 0.0
    lstm = nn.LSTM(inputs, states, layers, batch_first=True, dropout=between, bidirectional=bidirectional)
    for name, weight in lstm.named_parameters():
        if name.startswith("bias_ih"):
            nn.init.ones_(weight[states : 2 * states])  # remember, until there is a reason to forget
    return lstm


def run(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor, start: LstmState | None = None) -> tuple[Tensor, LstmState]:
    """inputs: sentences x steps x size -> the top states, sentences x steps x states; and the last state of each."""
    with _without_autocast(lstm):
        packed = pack_padded_sequence(inputs.to(_type(lstm)), lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, (hidden, cells) = lstm(packed, _pair(start, lstm))
        states, _ = pad_packed_sequence(outputs, batch_first=True)
    return states, LstmState(hidden, cells)


def run_forward(lstm: nn.LSTM, inputs: Tensor, start: LstmState | None = None) -> Tensor:
    """The same for a forward LSTM, without the last states; two to three times as fast to train as packed sequences.

    What comes out at the places of padding means nothing.
    """
    with _without_autocast(lstm):
        states: Tensor = lstm(inputs.to(_type(lstm)), _pair(start, lstm))[0]
    return states


def step(lstm: nn.LSTM, inputs: Tensor, state: LstmState) -> LstmState:
    """One step. inputs: rows x size; the output is the new hidden state of the last layer."""
    hidden, cells = [], []
    state, inputs = state.to(_type(lstm)), inputs.to(_type(lstm))
    with _without_autocast(lstm):
        for layer in range(lstm.num_layers):
            weights = [getattr(lstm, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            if layer:
                inputs = functional.dropout(inputs, lstm.dropout, lstm.training)
            inputs, cell = torch.lstm_cell(inputs, (state.hidden[layer], state.cells[layer]), *weights)
            hidden.append(inputs)
            cells.append(cell)
        return LstmState(torch.stack(hidden), torch.stack(cells))


def _type(lstm: nn.LSTM) -> torch.dtype:
    return next(lstm.parameters()).dtype


def _pair(state: LstmState | None, lstm: nn.LSTM) -> tuple[Tensor, Tensor] | None:
    """A state as torch takes it."""
    if state is None:
        return None
    state = state.to(_type(lstm))
    return state.hidden, state.cells


def _without_autocast(lstm: nn.LSTM) -> AbstractContextManager[None]:
    device = next(lstm.parameters()).device.type
    # A search takes many small steps: what has to be put off only sometimes should cost nothing at other times.
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()
