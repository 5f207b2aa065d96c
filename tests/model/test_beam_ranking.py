"""The best candidates, with ties settled as a full sort would."""

from __future__ import annotations

import pytest
import torch

from polyref.model.ranking import best_candidates, best_words


def random_values(rows: int, length: int, levels: int | None, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    if levels is None:
        return torch.randn(rows, length, generator=random)
    return torch.randint(levels, (rows, length), generator=random).float()


@pytest.mark.parametrize("levels", [None, 2, 50, 3000])
@pytest.mark.parametrize(("length", "count"), [(1, 1), (7, 3), (7, 7), (640, 5), (1000, 4), (5003, 15), (2048, 15)])
def test_the_best_words_are_those_of_a_stable_sort(length: int, count: int, levels: int | None):
    values = random_values(9, length, levels, length)
    expected = values.sort(dim=1, descending=True, stable=True)
    highest, places = best_words(values, count)
    assert torch.equal(highest, expected.values[:, :count])
    assert torch.equal(places, expected.indices[:, :count])


def test_the_best_words_may_stand_behind_the_last_whole_block():
    values = random_values(3, 1000, None, 0)
    values[:, 999], values[:, 961], values[:, 0] = 9, 8, 7
    assert best_words(values, 3)[1].tolist() == [[999, 961, 0]] * 3


@pytest.mark.parametrize("levels", [None, 2, 50])
def test_the_best_candidates_are_those_of_a_sort_by_value_and_token(levels: int | None):
    values = random_values(6, 40, levels, 1)
    tokens = torch.randint(12, (6, 40), generator=torch.Generator().manual_seed(2))
    found = best_candidates(values, tokens, 10)
    for row in range(6):
        order = sorted(range(40), key=lambda k: (-float(values[row, k]), int(tokens[row, k]), k))
        assert found[row].tolist() == order[:10]


def test_values_that_are_nothing_come_last():
    values = torch.tensor([[-torch.inf, 1.0, -torch.inf, 1.0]])
    assert best_words(values, 2)[1].tolist() == [[1, 3]]
    assert best_candidates(values, torch.tensor([[0, 5, 0, 4]]), 3)[0, :2].tolist() == [3, 1]
