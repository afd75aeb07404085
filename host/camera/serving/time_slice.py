"""Shorten the time slice and the timer slack of a thread. Linux allows this to every user.

Linux gives the processor first to the thread whose time slice ends first, so a thread with a short slice is scheduled
sooner after it wakes up. Its share of the processor does not change.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

from arenite.host.camera.serving.realtime import RequestOutcome

#: The numbers of the system calls sched_setattr and sched_getattr, by machine.
_CALLS = {
    "x86_64": (314, 315),
    "aarch64": (274, 275),
    "riscv64": (274, 275),
    "armv7l": (380, 381),
    "armv6l": (380, 381),
}
#: struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period.
_ATTRIBUTES = struct.Struct("<IIQiIQQQ")
_SET_TIMER_SLACK = 29


def set_time_slice(slice_ms: float, thread: int = 0) -> RequestOutcome:
    """Request a time slice of ``slice_ms`` milliseconds (0.1 to 100) for a thread; 0 requests the system's own slice.
    ``thread`` is its native id, 0 for the calling thread. Threads that it starts later inherit the slice. Linux has
    this since version 6.12."""
    attributes = _attributes(thread)
    if attributes is None:
        return RequestOutcome("time slice", False, "This system has no time slice per thread.")
    _size, policy, flags, nice, priority, *_ = attributes
    if policy not in (os.SCHED_OTHER, os.SCHED_BATCH):
        return RequestOutcome("time slice", False, "A thread with real-time priority has no time slice.")
    slice_ns = round(slice_ms * 1e6)
    request = _ATTRIBUTES.pack(_ATTRIBUTES.size, policy, flags, nice, priority, slice_ns, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(_CALLS[platform.machine()][0], thread, ctypes.c_char_p(request), 0) != 0:
        return RequestOutcome("time slice", False, f"{os.strerror(ctypes.get_errno())}.")
    # Older kernels accept the request and ignore it.
    if slice_ns and get_time_slice_ms(thread) != slice_ns / 1e6:
        return RequestOutcome(
            "time slice", False, f"Linux {platform.release()} ignores it. Use Linux 6.12 or newer."
        )
    return RequestOutcome("time slice", True, f"{slice_ms:g} ms.")


def get_time_slice_ms(thread: int = 0) -> float | None:
    """Return the time slice of a thread in milliseconds; None if the system does not report it."""
    attributes = _attributes(thread)
    return attributes[5] / 1e6 if attributes is not None and attributes[5] else None


def _attributes(thread: int) -> tuple[int, ...] | None:
    """Return the scheduling attributes of a thread, as in ``_ATTRIBUTES``; None if the system has no such call."""
    calls = _CALLS.get(platform.machine())
    if platform.system() != "Linux" or calls is None:
        return None
    memory = ctypes.create_string_buffer(_ATTRIBUTES.size)
    if ctypes.CDLL(None, use_errno=True).syscall(calls[1], thread, memory, _ATTRIBUTES.size, 0) != 0:
        return None
    return _ATTRIBUTES.unpack(memory.raw)


def set_timer_slack(slack_ns: int) -> bool:
    """Let the kernel end each sleep of the calling thread at most ``slack_ns`` nanoseconds late (50,000 by default)
    in order to combine timers. Return whether the kernel accepted it; only Linux does."""
    if platform.system() != "Linux":
        return False
    result: int = ctypes.CDLL(None).prctl(_SET_TIMER_SLACK, ctypes.c_ulong(slack_ns), 0, 0, 0)
    return result == 0
