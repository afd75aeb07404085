"""Read what the agent of a fleet counts in a device's firmware (docs/fleet.md, "Firmware")."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arenite.errors import DeviceError
from arenite.host.update.link import SILENCE_S, Link
from arenite.host.update.smp_message import GROUP_ARENITE, READ, WRITE, Answer

#: Numbers of histograms. Each statistic of the input has its own, from ``INPUT`` on.
LATENCY, CLASSES, CONFIDENCE, INPUT = 0, 1, 2, 16
HISTOGRAMS = (LATENCY, CLASSES, CONFIDENCE, INPUT, INPUT + 1)
#: The number at which a count of the device stays.
MAX_COUNT = 65_535

_STATE, _HISTOGRAM, _WINDOW = 1, 2, 3
_NOT_FOUND, _BAD_STATE, _UNSUPPORTED = 5, 6, 8
_MAX_BUCKETS = 96
_TRIES = 3


@dataclass(frozen=True)
class AgentState:
    """``up_s``: seconds since the start. ``cause``: number of the reset cause. ``boot``: a number that changes with
    each start. ``window``: number of the window, from 1 at each start. ``inferences``: those in the window."""

    up_s: int
    cause: int
    boot: int
    window: int
    inferences: int


@dataclass(frozen=True)
class Window:
    """The counts of a window by the number of the histogram. ``is_consistent``: no inference was counted while they
    were read, so that all are those of ``state``."""

    state: AgentState
    counts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    is_consistent: bool = True


def read_agent_state(link: Link, silence_s: float = SILENCE_S) -> AgentState | None:
    """Return the state of the agent, or None if the firmware has none. Raises ``DeviceError`` if the device does not
    answer."""
    answer = link.request(READ, GROUP_ARENITE, _STATE, silence_s=silence_s)
    if answer.error == _UNSUPPORTED:
        return None
    return AgentState(*(_number(answer, name) for name in ("up", "cause", "boot", "seq", "n")))


def read_window(link: Link, silence_s: float = SILENCE_S) -> Window | None:
    """Return the state and the counts of the open window, or None if the firmware has no agent. A window in which the
    device counts all the time is read in spite of that, after a few tries. Raises ``DeviceError`` if the device does
    not answer."""
    state = read_agent_state(link, silence_s)
    for tries in range(_TRIES):
        if state is None:
            return None
        counts = {number: _read_histogram(link, number, silence_s) for number in HISTOGRAMS}
        after = read_agent_state(link, silence_s)
        if after is not None and (after.boot, after.window) == (state.boot, state.window):
            is_consistent = after.inferences == state.inferences
            if is_consistent or tries + 1 == _TRIES:
                return Window(state, {k: c for k, c in counts.items() if c}, is_consistent)
        state = after
    raise DeviceError(
        "The device restarts, or another program closes its windows, while its counts are read.",
        "Check the supply of the device, and that no other program uses its port.",
    )


def close_window(link: Link, window: int, inferences: int | None, silence_s: float = SILENCE_S) -> bool:
    """Close the window with the number ``window``, and return True. With ``inferences``, return False and leave the
    window open if it has another number of them. Raises ``DeviceError`` if the device does not answer."""
    body = {"seq": window} if inferences is None else {"seq": window, "n": inferences}
    answer = link.request(WRITE, GROUP_ARENITE, _WINDOW, body, silence_s)
    if answer.error == _BAD_STATE:
        return False
    return _number(answer, "seq") == window + 1


def _read_histogram(link: Link, number: int, silence_s: float) -> tuple[int, ...]:
    """Return the counts, or nothing if the device has no such histogram."""
    counts: list[int] = []
    while True:
        answer = link.request(READ, GROUP_ARENITE, _HISTOGRAM, {"id": number, "off": len(counts)}, silence_s)
        if answer.error == _NOT_FOUND:
            return ()
        buckets, data = _number(answer, "n"), answer.body.get("counts")
        if not isinstance(data, bytes) or len(data) % 2 or not data or buckets > _MAX_BUCKETS:
            raise _strange("counts")
        counts += struct.unpack(f"<{len(data) // 2}H", data)
        if len(counts) >= buckets:
            return tuple(counts[:buckets])


def _number(answer: Answer, name: str) -> int:
    value: Any = answer.body.get(name)
    if answer.error or type(value) is not int or not 0 <= value < 2**32:
        raise _strange(name)
    return value


def _strange(name: str) -> DeviceError:
    return DeviceError(
        f"The answer of the device's agent has not the form that this version of Arenite expects ({name}).",
        "Update Arenite, or the firmware of the device.",
    )
