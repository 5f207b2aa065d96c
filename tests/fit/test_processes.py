"""Which place a process has among those that torchrun starts, and when there is none for it."""

from __future__ import annotations

from datetime import timedelta

import pytest

torch = pytest.importorskip("torch")

from polyref.errors import SettingsError  # noqa: E402
from polyref.fit import processes  # noqa: E402
from polyref.fit.processes import join  # noqa: E402


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two of them."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def started(monkeypatch: pytest.MonkeyPatch, *, place: int, here: int | None, everywhere: int) -> list[object]:
    """The environment of a process that torchrun has started; what it asks torch for."""
    asked: list[object] = []
    environment = {"RANK": place, "LOCAL_RANK": place, "WORLD_SIZE": everywhere, "LOCAL_WORLD_SIZE": here}
    for name, value in environment.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(torch.cuda, "set_device", asked.append)
    monkeypatch.setattr(
        processes.distributed, "init_process_group", lambda *how, timeout: asked.append((*how, timeout))
    )
    monkeypatch.setattr(processes.distributed, "destroy_process_group", lambda: asked.append("left"))
    return asked


@pytest.mark.parametrize("device", ["auto", "cuda"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_more_processes_than_gpus_are_refused_by_every_one_of_them(monkeypatch, gpus, device, place):
    """The first one as well: it would wait for the others, and it is the one that is heard."""
    asked = started(monkeypatch, place=place, here=3, everywhere=3)
    said = '3 processes were started here, but torch finds 2 GPUs; start 2, or set the device to "cpu"'
    with pytest.raises(SettingsError) as refused, join(device):
        pass
    assert str(refused.value) == said
    assert asked == []


def test_a_place_behind_the_gpus_is_refused_where_the_number_of_processes_is_unknown(monkeypatch, gpus):
    started(monkeypatch, place=2, here=None, everywhere=8)
    with pytest.raises(SettingsError, match="3 processes were started here, but torch finds 2 GPUs"), join():
        pass


def test_as_many_processes_as_gpus_have_one_each(monkeypatch, gpus):
    """Other machines may have more."""
    asked = started(monkeypatch, place=1, here=2, everywhere=8)
    with join() as found:
        assert (found.rank, found.ranks, found.device) == (1, 8, torch.device("cuda", 1))
    backend, patience = asked[1]
    assert (asked[0], backend, asked[2]) == (torch.device("cuda", 1), "nccl", "left")
    assert patience >= timedelta(hours=24)  # the first one may expand a large file meanwhile


def test_processors_have_room_for_any_number_of_processes(monkeypatch, gpus):
    started(monkeypatch, place=2, here=3, everywhere=3)
    with join("cpu") as found:
        assert (found.rank, found.ranks, found.device) == (2, 3, torch.device("cpu"))


def test_one_process_needs_no_torchrun(monkeypatch):
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with join("cpu") as found:
        assert (found.rank, found.ranks) == (0, 1)
