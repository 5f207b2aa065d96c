"""JoeyNMT's recurrent model at the sizes of train.py, in a process of its own.

In:   on standard input sizes and batches as a line of JSON; then a word a line: train or search.
Out:  a line for each: the processor seconds that it took.
Not:  polyref, which need not be installed where JoeyNMT is.
"""

from __future__ import annotations

import json
import sys
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import beam_search
from joeynmt.vocabulary import Vocabulary

UNK, PAD, BOS, EOS = range(4)


def main() -> None:
    sizes = json.loads(sys.stdin.readline())
    torch.set_num_threads(sizes["threads"])
    torch.manual_seed(0)
    model = _model(sizes)
    batches = [_batch(sources, targets) for sources, targets in sizes["batches"]]
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)
    searched = _batch(*(rows[: sizes["searched"]] for rows in sizes["batches"][0]))
    work = {"train": lambda: _train(model, optimiser, batches), "search": lambda: _search(model, searched, sizes)}
    print("ready", flush=True)
    for line in sys.stdin:
        started = process_time()
        work[line.strip()]()
        print(process_time() - started, flush=True)


def _vocabulary(size: int) -> Vocabulary:
    special = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None,
        unk_id=UNK, pad_id=PAD, bos_id=BOS, eos_id=EOS, sep_id=None, lang_tags=[],
    )  # fmt: skip
    return Vocabulary([f"w{k}" for k in range(size - 4)], special)


def _model(sizes: dict[str, Any]) -> Any:
    dropout, words = sizes["dropout"], {"embedding_dim": sizes["embedding"], "dropout": sizes["dropout"]}
    recurrent = {"type": "recurrent", "rnn_type": "lstm", "num_layers": sizes["layers"], "dropout": dropout}
    encoder = {**recurrent, "embeddings": words, "hidden_size": sizes["states"] // 2, "bidirectional": True}
    decoder = {**recurrent, "embeddings": words, "hidden_size": sizes["states"], "hidden_dropout": dropout,
               "attention": "luong", "init_hidden": "last", "input_feeding": False}  # fmt: skip
    settings = {"encoder": encoder, "decoder": decoder}
    model = build_model(settings, _vocabulary(sizes["source_words"]), _vocabulary(sizes["target_words"]))
    model.loss_function = ("crossentropy", 0.0)
    return model


def _batch(sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """Numbers are those of polyref plus one: here there is an unknown word before the others."""
    source = _padded([[k + 1 for k in row] + [EOS] for row in sources])
    target = _padded([[BOS] + [k + 1 for k in row] + [EOS] for row in targets])
    lengths = torch.tensor([len(row) + 1 for row in sources])
    batch = Batch(source, lengths, None, target, None, torch.arange(len(sources)), torch.device("cpu"), PAD, EOS)
    batch.sort_by_src_length()
    return batch


def _padded(rows: list[list[int]]) -> torch.Tensor:
    table = np.full((len(rows), max(map(len, rows))), PAD)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table)


def _train(model: Any, optimiser: torch.optim.Optimizer, batches: list[Batch]) -> None:
    model.train()
    for batch in batches:
        loss, _, _, _ = model(return_type="loss", **vars(batch))
        (loss / batch.ntokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()


def _search(model: Any, batch: Batch, sizes: dict[str, Any]) -> None:
    model.eval()
    with torch.no_grad():
        output, hidden, _, _ = model(return_type="encode", **vars(batch))
        beam_search(
            model, sizes["beam"], output, hidden, batch.src_mask, sizes["longest"], 0.0, 1,
            min_output_length=sizes["longest"], autocast={"device_type": "cpu", "enabled": False},
        )  # fmt: skip


if __name__ == "__main__":
    main()
