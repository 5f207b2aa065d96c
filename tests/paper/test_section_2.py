"""Section 2 of Zheng, Ma and Huang (EMNLP 2018), "Using Multiple References", sentence by sentence, through PyTorch."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from polyref import Example, Reference
from polyref.feed import Pair, stream
from polyref.feed.pytorch import PairDataset, ScheduleBatchSampler
from polyref.schedule.batches import BatchSettings

COUNTS = [4, 1, 3, 5, 2, 4, 2]
EVERY_PAIR = sorted(
    (str(number), f"r{slot} of x{number}") for number, count in enumerate(COUNTS) for slot in range(count)
)


def loader_of(schedule: str, pairs: int) -> DataLoader[Any]:
    examples = [
        Example(
            str(number), f"x{number} y{number % 3}", tuple(Reference(f"r{slot} of x{number}") for slot in range(count))
        )
        for number, count in enumerate(COUNTS)
    ]
    dataset = PairDataset(stream(examples, schedule))
    return DataLoader(dataset, batch_sampler=ScheduleBatchSampler(dataset, BatchSettings(pairs)), collate_fn=list)


def epoch_of(schedule: str, epoch: int, pairs: int = 5) -> list[list[Pair]]:
    loader: Any = loader_of(schedule, pairs)
    loader.batch_sampler.set_epoch(epoch)
    return list(loader)


def said(batches: list[list[Pair]]) -> list[tuple[str, str]]:
    return [(pair.id, pair.reference) for batch in batches for pair in batch]


# -- a small model that knows nothing of references -----------------------------------------------------------------


@cache
def number_of(word: str) -> int:
    return int.from_bytes(word.encode(), "big") % 61


class Small(nn.Module):
    """Each word of the reference from the source and the word before it."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.words = nn.Embedding(61, 8, dtype=torch.float64)
            self.out = nn.Linear(8, 61, dtype=torch.float64)

    def loss(self, batch: list[Pair]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for pair in batch:
            source = self.words(torch.tensor([number_of(word) for word in pair.source.split()])).mean(0)
            target = torch.tensor([0, *(number_of(word) for word in pair.reference.split())])
            scores = self.out(torch.tanh(source + self.words(target[:-1])))
            total = total + nn.functional.cross_entropy(scores, target[1:], reduction="sum")
        return total


def trained(schedule: str, epoch: int, pairs: int) -> tuple[list[Tensor], int]:
    """The weights after an epoch of plain gradient descent, and how many updates that was."""
    model = Small()
    found = epoch_of(schedule, epoch, pairs)
    for batch in found:
        gradients = torch.autograd.grad(model.loss(batch), list(model.parameters()))
        with torch.no_grad():
            for weight, gradient in zip(model.parameters(), gradients, strict=True):
                weight -= 0.01 * gradient
    return weights_of(model), len(found)


def weights_of(model: nn.Module) -> list[Tensor]:
    return [weight.detach() for weight in model.parameters()]


def distance(left: list[Tensor], right: list[Tensor]) -> float:
    return max(float((one - other).abs().max()) for one, other in zip(left, right, strict=True))


def test_uniform_and_shuffle_are_equivalent_in_one_full_batch():
    """When we set the batch size equal to the entire training set size in both Uniform and Shuffle, they become
    equivalent."""
    uniform, updates = trained("uniform", 3, sum(COUNTS))
    shuffle, _ = trained("shuffle", 3, sum(COUNTS))
    assert updates == 1
    assert said(epoch_of("uniform", 3)) != said(epoch_of("shuffle", 3))
    assert distance(uniform, weights_of(Small())) > 0.01
    assert distance(uniform, shuffle) < 1e-12


def test_in_small_batches_they_are_not():
    """Note that we use mini-batch during training."""
    assert distance(trained("uniform", 3, 5)[0], trained("shuffle", 3, 5)[0]) > 1e-4


def test_sample_one_picks_one_reference_of_each_example_in_each_epoch():
    """For each example, we randomly pick one of the K references in each training epoch (note that the random function
    will be used in each epoch)."""
    epochs = [said(epoch_of("sample_one", epoch)) for epoch in range(8)]
    for pairs in epochs:
        assert [id for id, _ in pairs] == [str(number) for number in range(len(COUNTS))]
        assert set(pairs) <= set(EVERY_PAIR)
    assert len({tuple(pairs) for pairs in epochs}) == 8


def test_uniform_copies_each_example_once_for_each_of_its_references():
    """Uniform ... basically copies x_i training example K times and each time with a different reference."""
    for epoch in range(2):
        pairs = said(epoch_of("uniform", epoch))
        assert sorted(pairs) == EVERY_PAIR
        assert list(Counter(id for id, _ in pairs).items()) == [(str(number), k) for number, k in enumerate(COUNTS)]


def test_shuffle_puts_the_pairs_of_uniform_into_a_random_order_before_each_epoch():
    """Shuffle is based on Uniform, but shuffles all the source and reference pairs in random order before each
    epoch."""
    epochs = [said(epoch_of("shuffle", epoch)) for epoch in range(3)]
    assert all(sorted(pairs) == EVERY_PAIR for pairs in epochs)
    assert len({tuple(pairs) for pairs in epochs}) == 3
