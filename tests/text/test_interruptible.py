"""A long computation that a signal ends."""

import signal
import threading
from collections.abc import Iterator
from typing import NoReturn

import pytest

from polyref.text import interruptible
from polyref.text.interruptible import fed


def test_everything_is_handed_over_in_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interruptible, "_AT_ONCE", 3)
    for count in (0, 1, 3, 100):
        assert fed(list, range(count)) == list(range(count))


def test_what_goes_wrong_in_the_computation_is_raised_though_more_is_waiting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interruptible, "_AT_ONCE", 1)

    def compute(items: Iterator[int]) -> NoReturn:
        raise ValueError(next(items))

    with pytest.raises(ValueError, match="7"):
        fed(compute, iter([7] * 1000))


def test_what_goes_wrong_in_the_items_is_raised_and_ends_the_computation():
    ended: list[str] = []

    def compute(items: Iterator[int]) -> None:
        try:
            list(items)
        except Exception as error:
            ended.append(type(error).__name__)
            raise

    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fed(compute, items())
    assert ended == ["_AbandonedError"]


def test_a_signal_is_seen_while_the_computation_goes_on():
    release = threading.Event()

    def compute(items: Iterator[int]) -> None:
        list(items)
        signal.raise_signal(signal.SIGUSR1)
        release.wait()  # for as long as nobody lets it go

    def stop(number: int, frame: object) -> NoReturn:
        raise SystemExit(number)

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(SystemExit) as stopped:
            fed(compute, [1, 2, 3])
    finally:
        signal.signal(signal.SIGUSR1, before)
        release.set()
    assert stopped.value.code == signal.SIGUSR1
