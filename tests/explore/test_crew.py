"""Workers that answer, and what is done when nobody waits for an answer, or one of them dies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from workers import set_up

from polyref.explore import crew as crew_module
from polyref.explore.crew import BusyError, Crew
from polyref.scale.pool import WorkerDiedError


def with_crew(size: int, act: Callable[[Crew], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Crew(set_up, size) as crew:
            await asyncio.wait_for(act(crew), 60)

    asyncio.run(run())


def test_every_question_gets_its_own_answer():
    async def act(crew: Crew) -> None:
        assert await asyncio.gather(*[crew.ask(n) for n in range(50)]) == list(range(50))

    with_crew(2, act)


def test_a_slow_answer_holds_up_no_others():
    async def act(crew: Crew) -> None:
        slow = asyncio.ensure_future(crew.ask("wait for ever"))
        assert await asyncio.gather(*[crew.ask(n) for n in range(5)]) == list(range(5))
        assert not slow.done()
        slow.cancel()

    with_crew(2, act)


def test_what_nobody_waits_for_is_given_up_and_its_worker_replaced():
    async def act(crew: Crew) -> None:
        before = await crew.ask("who")
        slow = asyncio.ensure_future(crew.ask("wait for ever"))
        await asyncio.sleep(0.1)
        behind = asyncio.ensure_future(crew.ask("who"))
        slow.cancel()
        assert await behind != before

    with_crew(1, act)


def test_a_question_that_waits_is_not_asked_if_nobody_wants_to_know():
    async def act(crew: Crew) -> None:
        await crew.ask("who")
        slow, dead = (asyncio.ensure_future(crew.ask(asked)) for asked in ("wait for ever", "die"))
        await asyncio.sleep(0.1)
        dead.cancel()
        slow.cancel()
        assert await crew.ask("still here") == "still here"

    with_crew(1, act)


def test_an_answer_that_is_there_in_time_costs_no_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(crew_module, "PATIENCE", 5.0)

    async def act(crew: Crew) -> None:
        before = await crew.ask("who")
        quick = asyncio.ensure_future(crew.ask("quick"))
        await asyncio.sleep(0)
        quick.cancel()
        assert await crew.ask("who") == before

    with_crew(1, act)


def test_an_error_reaches_who_asked_and_a_worker_that_dies_is_replaced():
    async def act(crew: Crew) -> None:
        with pytest.raises(ValueError, match="failed"):
            await crew.ask("fail")
        with pytest.raises(WorkerDiedError):
            await crew.ask("die")
        assert await crew.ask("still here") == "still here"

    with_crew(1, act)


def test_too_many_questions_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(crew_module, "MOST_WAITING", 2)

    async def act(crew: Crew) -> None:
        waiting = [asyncio.ensure_future(crew.ask("wait for ever")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await crew.ask("one more")
        for one in waiting:
            one.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*waiting)

    with_crew(1, act)
