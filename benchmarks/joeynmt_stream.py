"""Train JoeyNMT on what `polyref stream` writes, epoch by epoch, and check that it reads those pairs in that order.

In:   a folder with train.jsonl and dev.jsonl; POLYREF_JOEYNMT, the Python that has JoeyNMT 2.3.0.
Out:  one line an epoch: pairs, whether they were the stream's, the loss, perplexity and BLEU on dev.
Not:  the commands one by one, for a person (docs/tools/joeynmt.md).

    POLYREF_JOEYNMT=joey/bin/python python -m benchmarks.joeynmt_stream DATA OUT --schedule shuffle --epochs 2
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polyref
from polyref.score import corpus_bleu

PAIRS_A_BATCH = 64
SUBWORDS = 1000
LANGUAGES = ("mr", "text")

# Runs inside JoeyNMT's Python: what its loader gives to a training step, as lines of TSV, goes into a hash.
WATCHED = """
import hashlib, sys
from joeynmt import training
from joeynmt.__main__ import main

seen, pairs, step = hashlib.sha256(), 0, training.TrainManager._train_step

def watched(trainer, batch):
    global pairs
    data = trainer.train_iter.dataset
    for index in batch.indices.tolist():
        line = data.data[data.src_lang][index] + "\\t" + data.data[data.trg_lang][index] + "\\n"
        seen.update(line.encode())
        pairs += 1
    return step(trainer, batch)

training.TrainManager._train_step = watched
where = sys.argv.pop()
main()
with open(where, "w") as file:
    file.write(f"{seen.hexdigest()} {pairs}")
"""

RECIPE = """\
name: "e2e"
joeynmt_version: "2.3.0"
model_dir: "model.{epoch}"
use_cuda: False
random_seed: 1

data:
    train: "train.{epoch}"
    dev: "dev"
    dataset_type: "plain"
    src: &text
        lang: "mr"
        level: "bpe"
        voc_file: "vocab.txt"
        tokenizer_type: "subword-nmt"
        tokenizer_cfg: {{codes: "codes.bpe"}}
    trg:
        <<: *text
        lang: "text"

training:
    shuffle: False
    epochs: 1
{load}    batch_size: {batch}
    batch_type: "sentence"
    optimizer: "adam"
    learning_rate: 0.003
    scheduling: "exponential"
    decrease_factor: 1.0
    clip_grad_norm: 1.0
    normalization: "tokens"
    early_stopping_metric: "ppl"
    keep_best_ckpts: 1
    validation_freq: {updates}
    logging_freq: {logging}

testing:
    batch_size: {batch}
    max_output_length: 80
    eval_metrics: ["bleu"]

model:
    tied_embeddings: True
    encoder:
        type: "recurrent"
        rnn_type: "gru"
        embeddings: {{embedding_dim: 64}}
        hidden_size: 64
        bidirectional: True
        dropout: 0.1
    decoder:
        type: "recurrent"
        rnn_type: "gru"
        embeddings: {{embedding_dim: 64}}
        hidden_size: 128
        dropout: 0.1
        attention: "bahdanau"
        init_hidden: "bridge"
"""


@dataclass(frozen=True)
class Run:
    """One schedule, trained for some epochs in one folder."""

    data: Path
    folder: Path
    joeynmt: Path
    schedule: str
    epochs: int
    seed: int

    def stream(self, *arguments: str) -> bytes:
        """What `polyref stream` prints."""
        command = [sys.executable, "-m", "polyref", "stream", *arguments, "--seed", str(self.seed)]
        return subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.PIPE).stdout

    def parallel(self, file: str, schedule: str, name: str, *epochs: str) -> None:
        form = ("--format", "parallel", "--languages", ",".join(LANGUAGES))
        self.stream(str(self.data / file), "--schedule", schedule, *epochs, *form, "-o", name)

    def prepare(self) -> None:
        """The files of all epochs, and one vocabulary for all of them, from all references."""
        self.parallel("train.jsonl", "uniform", "all")
        self.parallel("train.jsonl", self.schedule, "train.{epoch}", "--epochs", str(self.epochs))
        self.parallel("dev.jsonl", "first", "dev")
        text = b"".join((self.folder / f"all.{language}").read_bytes() for language in LANGUAGES)
        subwords = self.joeynmt.parent / "subword-nmt"
        codes = self._piped([subwords, "learn-bpe", "-s", str(SUBWORDS)], text)
        (self.folder / "codes.bpe").write_bytes(codes)
        words = self._piped([subwords, "get-vocab"], self._piped([subwords, "apply-bpe", "-c", "codes.bpe"], text))
        vocabulary = [line.split(b" ")[0] for line in words.splitlines()]
        (self.folder / "vocab.txt").write_bytes(b"\n".join([*vocabulary, b""]))

    def _piped(self, command: Sequence[str | Path], text: bytes) -> bytes:
        quiet = subprocess.DEVNULL
        return subprocess.run(
            command, input=text, cwd=self.folder, check=True, stdout=subprocess.PIPE, stderr=quiet
        ).stdout

    def updates(self) -> int:
        """Of an epoch, in JoeyNMT's batches, which know nothing of examples."""
        pairs = (self.folder / f"train.0.{LANGUAGES[0]}").read_bytes().count(b"\n")
        return -(-pairs // PAIRS_A_BATCH)

    def train(self, epoch: int, updates: int) -> None:
        """One epoch, from where the one before ended. `epochs: 1` always: a checkpoint remembers which it was."""
        load = f'    load_model: "model.{epoch - 1}/latest.ckpt"\n' if epoch else ""
        logging = max(number for number in range(1, 101) if updates % number == 0)
        recipe = RECIPE.format(epoch=epoch, load=load, batch=PAIRS_A_BATCH, updates=updates, logging=logging)
        (self.folder / f"epoch.{epoch}.yaml").write_text(recipe, encoding="utf-8")
        command = [self.joeynmt, "-c", WATCHED, "train", f"epoch.{epoch}.yaml", "-t", f"seen.{epoch}"]
        with (self.folder / f"joeynmt.{epoch}.log").open("wb") as log:
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            subprocess.run(command, cwd=self.folder, check=True, env=environment, stdout=log, stderr=log)

    def report(self, epoch: int, steps: int) -> dict[str, object]:
        seen, pairs = (self.folder / f"seen.{epoch}").read_text().split()
        lines = self.stream(str(self.data / "train.jsonl"), "--schedule", self.schedule, "--epoch", str(epoch))
        log = (self.folder / f"joeynmt.{epoch}.log").read_text(encoding="utf-8")
        loss = float(re.findall(r"total training loss: ([0-9.]+)", log)[0])
        validation = (self.folder / f"model.{epoch}" / "validations.txt").read_text(encoding="utf-8").splitlines()[-1]
        hypotheses = (self.folder / f"model.{epoch}" / f"{steps}.hyps").read_text(encoding="utf-8").splitlines()
        references = [[one.text for one in each.references] for each in polyref.read(str(self.data / "dev.jsonl"))]
        bleu = corpus_bleu(hypotheses, references)
        return {
            "schedule": self.schedule,
            "epoch": epoch,
            "pairs": int(pairs),
            "in_our_order": seen == hashlib.sha256(lines).hexdigest(),
            "updates": steps,
            "training_loss": round(loss / (steps / (epoch + 1)), 3),
            "dev_perplexity": float(re.findall(r"ppl: +([0-9.]+)", validation)[0]),
            "dev_bleu_first_reference": float(re.findall(r"bleu: +([0-9.]+)", validation)[0]),
            "dev_bleu_all_references": round(bleu.score, 2),
        }


def main(arguments: Sequence[str] | None = None) -> None:
    run = _run(arguments)
    run.folder.mkdir(parents=True)
    run.prepare()
    updates = run.updates()
    for epoch in range(run.epochs):
        run.train(epoch, updates)
        print(json.dumps(run.report(epoch, updates * (epoch + 1))), flush=True)


def _run(arguments: Sequence[str] | None) -> Run:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.joeynmt_stream", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", type=Path, help="a folder with train.jsonl and dev.jsonl")
    parser.add_argument("out", type=Path, help="a folder that is made")
    parser.add_argument("--schedule", default="shuffle")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    joeynmt = os.environ.get("POLYREF_JOEYNMT")
    if joeynmt is None:
        parser.error("set POLYREF_JOEYNMT to the Python that has JoeyNMT")
    # Not resolved: the Python of a virtual environment is a link, and its folder is what matters.
    python = Path(joeynmt).absolute()
    return Run(given.data.resolve(), given.out.resolve(), python, given.schedule, given.epochs, given.seed)


if __name__ == "__main__":
    main()
