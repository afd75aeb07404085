"""Tests of admission: order, the bound of the queue, and requests that end while they wait or run."""

from __future__ import annotations

import asyncio

import pytest

from arenite.host.llm.admission import Admission, QueueFullError


def test_requests_run_in_order_and_the_queue_is_bounded() -> None:
    async def run() -> None:
        admission = Admission(1, 2)
        release, order = asyncio.Event(), list[int]()

        async def request(number: int) -> None:
            async with admission.admitted():
                order.append(number)
                await release.wait()

        tasks = [asyncio.create_task(request(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert (admission.running, admission.waiting, order) == (1, 2, [0])
        with pytest.raises(QueueFullError):
            await request(3)
        release.set()
        await asyncio.gather(*tasks)
        assert (admission.running, admission.waiting, order) == (0, 0, [0, 1, 2])

    asyncio.run(run())


def test_cancelled_requests_give_their_places_back() -> None:
    async def run() -> None:
        admission = Admission(1, 1)

        async def request() -> None:
            async with admission.admitted():
                await asyncio.Event().wait()

        for _ in range(5):
            running, waiting = asyncio.create_task(request()), asyncio.create_task(request())
            await asyncio.sleep(0)
            assert (admission.running, admission.waiting) == (1, 1)
            for task in (waiting, running):
                task.cancel()
            await asyncio.gather(running, waiting, return_exceptions=True)
            assert (admission.running, admission.waiting) == (0, 0)
        async with admission.admitted():
            assert admission.running == 1

    asyncio.run(run())


def test_without_a_queue_a_busy_model_refuses() -> None:
    async def run() -> None:
        admission = Admission(1, 0)
        async with admission.admitted():
            with pytest.raises(QueueFullError):
                async with admission.admitted():
                    pass
        async with admission.admitted():
            pass

    asyncio.run(run())
