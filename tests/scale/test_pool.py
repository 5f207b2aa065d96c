"""Results come in the order of the tasks; workers leave when the run does, however it ends."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from polyref.errors import InputError, PolyrefError
from polyref.scale.pool import WorkerDiedError, as_done, in_order

LONGEST_WAIT = 60.0  # seconds; only a run that hangs comes near it


@dataclass(frozen=True)
class Double:
    """Doubles numbers; fails, sleeps or dies where told."""

    refused: int | None = None
    wrong: int | None = None
    deadly: int | None = None
    slow: int | None = None

    def __call__(self) -> Callable[[int], tuple[int, int]]:
        return self.work

    def work(self, number: int) -> tuple[int, int]:
        if number == self.refused:
            raise InputError("not this one", file="numbers.txt", line=number)
        if number == self.wrong:
            raise ZeroDivisionError("a fault of the program")
        if number == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == self.slow:
            time.sleep(0.5)
        return 2 * number, os.getpid()


def test_results_come_in_the_order_of_the_tasks_though_the_first_takes_longest():
    done = list(in_order(iter(range(50)), Double(slow=0), workers=2))
    assert [result for result, _ in done] == list(range(0, 100, 2))
    assert len({process for _, process in done}) == 2
    assert os.getpid() not in {process for _, process in done}


def test_no_task_is_no_result():
    assert list(in_order(iter([]), Double(), workers=2)) == []


def test_only_so_many_tasks_are_read_ahead():
    read = []

    def tasks() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    results = in_order(tasks(), Double(), workers=1)
    next(results)
    assert len(read) <= 4
    results.close()


def echo() -> Callable[[bytes], bytes]:
    return bytes


def test_tasks_and_results_larger_than_any_pipe_do_not_wait_for_each_other():
    tasks = [bytes([number]) * 3_000_000 for number in range(8)]
    assert list(in_order(iter(tasks), echo, workers=1)) == tasks


# -- faults -----------------------------------------------------------------------------------------------------


def test_a_fault_comes_after_the_results_before_it():
    results = in_order(iter(range(9)), Double(refused=3), workers=2)
    assert [next(results)[0] for _ in range(3)] == [0, 2, 4]
    with pytest.raises(InputError, match=r"numbers\.txt:3: not this one"):
        next(results)


def broken_tasks() -> Iterator[int]:
    yield from range(5)
    raise PolyrefError("the file ends too early")


def test_a_fault_in_reading_comes_after_all_that_was_read():
    results = in_order(broken_tasks(), Double(), workers=2)
    assert [next(results)[0] for _ in range(5)] == [0, 2, 4, 6, 8]
    with pytest.raises(PolyrefError, match="the file ends too early"):
        next(results)


def test_an_earlier_fault_in_a_task_comes_before_a_fault_in_reading():
    with pytest.raises(InputError, match="not this one"):
        list(in_order(broken_tasks(), Double(refused=4), workers=2))


def refuse_to_start() -> Callable[[int], int]:
    raise PolyrefError("the encoder is gone")


def test_a_worker_that_cannot_be_set_up_says_why():
    with pytest.raises(PolyrefError, match="the encoder is gone"):
        list(in_order(iter(range(3)), refuse_to_start, workers=2))


def test_a_fault_of_the_program_says_where_it_happened():
    with pytest.raises(ZeroDivisionError) as fault:
        list(in_order(iter(range(3)), Double(wrong=1), workers=2))
    assert "in work" in fault.value.__notes__[0]


def test_a_task_that_two_workers_died_of_ends_the_run():
    with pytest.raises(PolyrefError, match=r"a worker process died \(out of memory\?\); use fewer workers"):
        list(in_order(iter(range(9)), Double(deadly=2), workers=2))


def test_a_task_that_two_workers_died_of_may_be_given_up():
    done = list(in_order(iter(range(30)), Double(deadly=2), workers=2, lost=lambda task: (-task, 0)))
    assert [result for result, _ in done] == [0, 2, -2, *range(6, 60, 2)]


def test_workers_that_die_are_replaced_and_their_tasks_done_again():
    done = []
    for result in in_order(iter(range(40)), Double(), workers=2):
        done.append(result)
        if len(done) in (5, 20):
            for worker in multiprocessing.active_children():
                worker.kill()
    assert [result for result, _ in done] == list(range(0, 80, 2))
    assert len({process for _, process in done}) >= 4


def die_at_the_start() -> Callable[[int], int]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_workers_that_never_get_to_work_end_the_run():
    with pytest.raises(PolyrefError, match="a worker process died"):
        list(in_order(iter(range(100)), die_at_the_start, workers=2, lost=lambda task: task))


@dataclass(frozen=True)
class DieAtFirst:
    """Die while becoming ready, so many times in all."""

    folder: Path
    times: int

    def __call__(self) -> Callable[[int], int]:
        if len(list(self.folder.iterdir())) < self.times:
            (self.folder / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return int


def test_workers_that_die_before_they_begin_a_task_do_not_count_against_it(tmp_path: Path):
    assert list(in_order(iter(range(8)), DieAtFirst(tmp_path, 8), workers=2)) == list(range(8))
    assert len(list(tmp_path.iterdir())) >= 8


def test_a_dead_worker_is_the_fault_of_its_task_alone():
    tasks = iter(range(6))
    done = as_done(lambda: next(tasks, None), Double(deadly=3), workers=2, every=60.0)
    results = dict(one for one in done if one is not None)
    assert isinstance(results.pop(3), WorkerDiedError)
    assert {task: result[0] for task, result in results.items()} == {0: 0, 1: 2, 2: 4, 4: 8, 5: 10}


# -- the end of a run -------------------------------------------------------------------------------------------


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # a zombie has ended and waits to be counted


def wait_until(is_so: Callable[[], bool]) -> None:
    last = time.monotonic() + LONGEST_WAIT
    while not is_so():
        assert time.monotonic() < last, "waited in vain"
        time.sleep(0.02)


def test_the_workers_end_with_results_that_nobody_wants_any_more():
    results = in_order(iter(range(100)), Double(slow=1), workers=2)
    workers = {next(results)[1]}
    results.close()
    assert not any(map(is_alive, workers))


ENDLESS = """
import itertools, sys, time
sys.path.insert(0, {folder!r})
from test_pool import Double, in_order
if __name__ == "__main__":
    for _, process in in_order(itertools.count(), Double(), workers=2):
        print(process, flush=True)
"""


@pytest.fixture
def endless(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS.format(folder=str(Path(__file__).parent)))
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["KILL", "TERM"])
def test_workers_leave_when_the_run_is_killed(number, endless):
    workers = {int(endless.stdout.readline()) for _ in range(50)}
    assert all(map(is_alive, workers))
    endless.send_signal(number)
    endless.stdout.close()
    wait_until(lambda: not any(map(is_alive, workers)))


def test_a_signal_to_the_whole_group_leaves_the_workers_to_the_run(endless):
    workers = {int(endless.stdout.readline()) for _ in range(50)}
    for worker in workers:
        os.kill(worker, signal.SIGTERM)
    assert [int(endless.stdout.readline()) in workers for _ in range(50)] == [True] * 50
