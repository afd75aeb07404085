"""Tests of the detection of interruptions: moments in which the system took the processor from the benchmark."""

from __future__ import annotations

import os
import time

import pytest

from benchmarks.camera.interruptions import Interruptions


def test_a_sleep_does_not_count_as_an_interruption() -> None:
    interruptions = Interruptions()
    # Other processes may interrupt this process, so one of the tries must be without an interruption.
    for _ in range(50):
        interruptions.begin()
        time.sleep(0.001)
        if not interruptions.happened():
            return
    pytest.fail("Every sleep counted as an interruption.")


def test_two_threads_on_one_processor_interrupt_each_other() -> None:
    allowed = os.sched_getaffinity(0)
    interruptions = Interruptions(all_threads=True)
    os.sched_setaffinity(0, {min(allowed)})
    child = os.fork()
    if child == 0:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pass
        os._exit(0)
    try:
        interruptions.begin()
        end = time.monotonic() + 60
        while not interruptions.happened() and time.monotonic() < end:
            pass
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.sched_setaffinity(0, allowed)
    assert interruptions.count == 1
