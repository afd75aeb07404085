"""Tests of the time slice and the timer slack of a thread, which every user may set."""

from __future__ import annotations

import os
import platform
import sys
import threading
from pathlib import Path

import pytest

from arenite.host.camera.serving import realtime
from arenite.host.camera.serving.time_slice import get_time_slice_ms, set_time_slice, set_timer_slack
from tests.host.camera.serving.child_processes import as_nobody, in_child

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scheduling of Linux")

#: The version of the Linux kernel.
LINUX = tuple(int(part) for part in platform.release().split(".")[:2]) if sys.platform == "linux" else (0, 0)


def test_every_user_may_shorten_the_time_slice() -> None:
    def work() -> bool:
        as_nobody()
        outcome = set_time_slice(0.25)
        if LINUX < (6, 12):
            return not outcome.granted and "6.12" in outcome.detail
        slices: list[float | None] = []
        thread = threading.Thread(target=lambda: slices.append(get_time_slice_ms()))
        thread.start()
        thread.join()
        # Threads that start later inherit the slice.
        return outcome.granted and get_time_slice_ms() == 0.25 and slices == [0.25]

    in_child(work)


def test_the_scheduling_class_and_the_nice_value_are_kept() -> None:
    def work() -> bool:
        nice = os.nice(3)
        set_time_slice(0.5)
        return os.sched_getscheduler(0) == os.SCHED_OTHER and os.getpriority(os.PRIO_PROCESS, 0) == nice

    in_child(work)


def test_a_real_time_thread_has_no_time_slice() -> None:
    def work() -> bool:
        if "SCHED_FIFO" not in realtime.raise_priority().detail.split(" instead of ")[0]:
            return True  # not permitted here
        outcome = set_time_slice(0.5)
        policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
        return not outcome.granted and "real-time" in outcome.detail and policy == os.SCHED_FIFO

    in_child(work)


def test_the_timer_slack_of_the_thread_is_set() -> None:
    def work() -> bool:
        slack = Path("/proc/thread-self/timerslack_ns")
        if not slack.exists():
            slack = Path("/proc/self/timerslack_ns")
        return set_timer_slack(1) and slack.read_text().strip() == "1"

    in_child(work)
