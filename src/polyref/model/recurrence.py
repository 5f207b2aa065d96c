"""LSTMs over whole padded batches and step by step, with the same weights.

In:   vectors; lengths. Out: states. Not: what they are for (translator.py, captioner.py).

Padding stands behind, so that a forward LSTM never carries it into a state that counts. A bidirectional one would:
packed sequences keep it out there.
"""

from __future__ import annotations

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
    packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
    outputs, (hidden, cells) = lstm(packed, None if start is None else (start.hidden, start.cells))
    states, _ = pad_packed_sequence(outputs, batch_first=True)
    return states, LstmState(hidden, cells)


def run_forward(lstm: nn.LSTM, inputs: Tensor, start: LstmState | None = None) -> Tensor:
    """The same for a forward LSTM, without the last states; two to three times as fast to train as packed sequences.

    What comes out at the places of padding means nothing.
    """
    states: Tensor = lstm(inputs, None if start is None else (start.hidden, start.cells))[0]
    return states


def step(lstm: nn.LSTM, inputs: Tensor, state: LstmState) -> LstmState:
    """One step. inputs: rows x size; the output is the new hidden state of the last layer."""
    hidden, cells = [], []
    for layer in range(lstm.num_layers):
        weights = [getattr(lstm, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        if layer:
            inputs = functional.dropout(inputs, lstm.dropout, lstm.training)
        inputs, cell = torch.lstm_cell(inputs, (state.hidden[layer], state.cells[layer]), *weights)
        hidden.append(inputs)
        cells.append(cell)
    return LstmState(torch.stack(hidden), torch.stack(cells))
