"""Tests of the settings that the camera loop requests from the system, such as real-time priority and locked memory.
The system grants a request, or the outcome of the request contains the reason."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
from pathlib import Path

import pytest

from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving import realtime
from arenite.host.camera.serving.realtime import RequestOutcome
from tests.host.camera.runtimes.small_models import heavy_net, saved
from tests.host.camera.serving.child_processes import as_nobody, in_child

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scheduling of Linux")


def test_pinning_is_inherited_by_later_threads() -> None:
    def work() -> bool:
        target = max(os.sched_getaffinity(0))
        granted = realtime.pin([target])
        affinities: list[set[int]] = []
        thread = threading.Thread(target=lambda: affinities.append(os.sched_getaffinity(0)))
        thread.start()
        thread.join()
        return granted == RequestOutcome(
            "pin", True, f"The thread runs on processor {target}."
        ) and affinities == [{target}]

    in_child(work)


def test_another_thread_can_be_pinned() -> None:
    def work() -> bool:
        started, stop = threading.Event(), threading.Event()
        ids: list[int] = []

        def wait() -> None:
            ids.append(threading.get_native_id())
            started.set()
            stop.wait()

        thread = threading.Thread(target=wait)
        thread.start()
        started.wait()
        value_before = os.sched_getaffinity(0)
        target = min(value_before)
        granted = realtime.pin([target], ids[0]).granted
        affinity = os.sched_getaffinity(ids[0])
        stop.set()
        thread.join()
        return granted and affinity == {target} and os.sched_getaffinity(0) == value_before

    in_child(work)


@pytest.mark.parametrize("cpus", [[4000], [], [-1], [10**12]])
def test_missing_processors_are_rejected(cpus: list[int]) -> None:
    value_before = os.sched_getaffinity(0)
    outcome = realtime.pin(cpus)
    assert not outcome.granted
    assert str(sorted(value_before)) in outcome.detail
    assert os.sched_getaffinity(0) == value_before


def test_without_rights_the_outcome_names_the_limit() -> None:
    def work() -> bool:
        as_nobody()
        locked, raised = realtime.lock_memory(), realtime.raise_priority()
        return (
            not locked.granted
            and "ulimit -l" in locked.detail
            and "0 bytes" in locked.detail
            and not raised.granted
            and "ulimit -r" in raised.detail
            and "limit is 0" in raised.detail
            and os.sched_getscheduler(0) == os.SCHED_OTHER
        )

    in_child(work)


def _raised(limit: int) -> bool:
    """Try to raise a resource limit and return whether that was allowed. Some containers do not allow it."""
    try:
        resource.setrlimit(limit, (50, 50))
    except (ValueError, OSError):
        return False
    return True


def test_priority_is_raised_with_sufficient_rights() -> None:
    def work() -> bool:
        if _raised(resource.RLIMIT_RTPRIO) and os.getuid() == 0:
            os.setuid(65534)  # with the raised limit, any user may set the priority; without it, only root
        granted = realtime.raise_priority()
        policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
        raised = granted == RequestOutcome("priority", True, "SCHED_FIFO 20.")
        raised &= policy == os.SCHED_FIFO and os.sched_getparam(0).sched_priority == 20
        # A child process does not inherit the real-time priority.
        child = os.fork()
        if child == 0:
            os._exit(0 if os.sched_getscheduler(0) == os.SCHED_OTHER else 1)
        return raised and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    if os.getuid() != 0:
        pytest.skip("only root may raise priorities")
    in_child(work)


def test_nice_is_used_if_real_time_is_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def work() -> bool:
        monkeypatch.setattr(os, "sched_setscheduler", refuse)
        granted = realtime.raise_priority()
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        return granted.granted and "nice -10 instead of" in granted.detail and nice == -10

    if os.getuid() != 0:
        pytest.skip("only root may raise priorities")
    in_child(work)


def test_normal_priority_is_restored() -> None:
    def work() -> bool:
        value_before = os.getpriority(os.PRIO_PROCESS, 0)
        realtime.raise_priority()
        realtime.normal_priority()
        return (
            os.sched_getscheduler(0) == os.SCHED_OTHER and os.getpriority(os.PRIO_PROCESS, 0) == value_before
        )

    in_child(work)


def _kilobytes(field: str) -> int:
    """Return the value of ``field`` in /proc/self/status, such as VmRSS, in kilobytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def test_locking_memory_loads_no_further_pages() -> None:
    def work() -> bool:
        # All sizes are in kilobytes. RSS is the memory of the process that is in RAM.
        rss_before = _kilobytes("VmRSS")
        if not realtime.lock_memory().granted:
            return False
        locked = _kilobytes("VmLck")
        rss_growth = _kilobytes("VmRSS") - rss_before
        realtime.unlock_memory()
        return locked > 1000 and rss_growth < 4000 and _kilobytes("VmLck") == 0

    if os.getuid() != 0:
        pytest.skip("only root has no limit on locked memory")
    in_child(work)


def test_warming_up_runs_every_slot(tmp_path: Path) -> None:
    runtime = open_runtime(saved(heavy_net(64), tmp_path), slots=3)
    for slot in runtime.slots:
        slot.inputs[0].array()[...] = 1
    times = realtime.warm_up(runtime, 2)
    assert len(times) == 6
    assert min(times) > 0
    first = runtime.slots[0].outputs[0].array()
    assert first.any()
    assert all((slot.outputs[0].array() == first).all() for slot in runtime.slots)


def test_the_garbage_collector_is_frozen() -> None:
    try:
        realtime.freeze_garbage_collector()
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()
