"""Train a small generator on all references and on pseudo-references, with PyTorch alone.

    pip install "polyref[torch]"
    python examples/pytorch.py            # in a clone; a quarter of a minute on one core
    python examples/pytorch.py 20         # this many updates

What polyref does is in the first lines of `main`: the rest is any PyTorch program.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

import polyref

FOLDER = Path(__file__).parent
PAD, BEGIN, END = 0, 1, 2


class Words:
    """Numbers for the words of a pair of source and reference."""

    def __init__(self, texts):
        self.words = ["", "", "", *sorted({word for text in texts for word in text.split()})]
        self.numbers = {word: number for number, word in enumerate(self.words)}

    def __call__(self, pair):
        reference = [self.numbers[word] for word in pair.reference.split()]
        return self.source(pair.source), torch.tensor([BEGIN, *reference, END])

    def source(self, text):
        return torch.tensor([self.numbers[word] for word in text.split()])


class Generator(nn.Module):
    """Reads the source as a bag of words, and writes word by word."""

    def __init__(self, words, size=128):
        super().__init__()
        self.embedding = nn.Embedding(words, size, padding_idx=PAD)
        self.decoder = nn.GRU(2 * size, size, batch_first=True)
        self.output = nn.Linear(size, words)

    def forward(self, source, target, state=None):
        about = self.embedding(source).sum(dim=1, keepdim=True).expand(-1, target.shape[1], -1)
        states, state = self.decoder(torch.cat([self.embedding(target), about], dim=2), state)
        return self.output(states), state

    @torch.inference_mode()
    def write(self, source, most=30):
        word, state, found = torch.tensor([[BEGIN]]), None, []
        while len(found) < most:
            scores, state = self(source.unsqueeze(0), word, state)
            word = scores[:, -1].argmax(dim=1, keepdim=True)
            if word.item() == END:
                break
            found.append(word.item())
        return found


def main(updates):
    examples = list(polyref.expand(polyref.read(FOLDER / "weather.jsonl"), per_example=8))
    words = Words(text for one in examples for text in texts_of(one))
    dataset = polyref.PairDataset(polyref.stream(examples, "sample_one", order="shuffled", limit=8), words)
    batches = polyref.ScheduleBatchSampler(dataset, polyref.BatchSettings(pairs=16))
    loader = DataLoader(dataset, batch_sampler=batches, collate_fn=padded)

    torch.manual_seed(1)
    model = Generator(len(words.words))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(1 + updates // len(loader)):
        dataset.set_epoch(epoch)  # other references are drawn
        for source, target in loader:
            scores, _ = model(source, target[:, :-1])
            loss = nn.functional.cross_entropy(scores.transpose(1, 2), target[:, 1:], ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"{len(dataset)} pairs per epoch, loss {loss.item():.2f}")

    held_out = list(polyref.read(FOLDER / "weather-dev.jsonl"))
    written = [" ".join(words.words[n] for n in model.write(words.source(one.source))) for one in held_out]
    for one, text in zip(held_out[:4], written):
        print(f"{one.source:<55}{text}")
    references = [[gold.text for gold in one.references] for one in held_out]
    print(f"BLEU {polyref.evaluate(written, references)['bleu'].score:.1f} on {len(written)} held-out examples")


def texts_of(example):
    return [example.source, *[one.text for one in (*example.references, *example.pseudo_references)]]


def padded(batch):
    return [pad_sequence(column, batch_first=True, padding_value=PAD) for column in zip(*batch)]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
