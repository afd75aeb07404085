"""Decide with the C library of the host."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.converters.decision.plan import DecisionPlan, GatePlan
from arenite.converters.decision.reference import Event, EventKind, decide_all
from arenite.converters.processing.native import library as native

_U8, _U16, _U32, _U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
_P = ctypes.c_void_p
#: About how many events have room in one call of ``ar_decide_many``.
_ROOM = 1 << 16


class DecisionPlanStruct(ctypes.Structure):
    """``ar_decision_plan``"""

    _fields_ = (
        ("on", _P),
        ("off", _P),
        ("refractory", _U32),
        ("classes", _U16),
        ("hops", _U16),
        ("factor", _U16),
        ("minimum", _U16),
        ("exclusive", _U8),
        ("flip", _U8),
    )


class DecisionStruct(ctypes.Structure):
    """``ar_decision``"""

    _fields_ = (
        ("plan", ctypes.POINTER(DecisionPlanStruct)),
        ("smoothed", _P),
        ("heard", _P),
        ("quiet_until", _P),
        ("history", _P),
        ("next", _U32),
    )


class EventStruct(ctypes.Structure):
    """``ar_event``"""

    _fields_ = (("at", _U64), ("index", _U16), ("score", ctypes.c_int8), ("kind", _U8))

    def event(self) -> Event:
        """Return the event."""
        return Event(self.at, self.index, self.score, EventKind(self.kind))


class GatePlanStruct(ctypes.Structure):
    """``ar_gate_plan``"""

    _fields_ = (("on", _U64), ("off", _U64), ("hang", _U16), ("channels", _U16))


class GateStruct(ctypes.Structure):
    """``ar_gate``"""

    _fields_ = (("plan", ctypes.POINTER(GatePlanStruct)), ("left", _U16), ("is_high", _U8))


def plan_fields(plan: DecisionPlan) -> dict[str, int]:
    """Return the numbers of ``ar_decision_plan``, by field."""
    return {
        "refractory": plan.refractory,
        "classes": plan.classes,
        "hops": plan.hops,
        "factor": plan.factor,
        "minimum": plan.minimum,
        "exclusive": int(plan.exclusive),
        "flip": plan.flip,
    }


def gate_fields(plan: GatePlan) -> dict[str, int]:
    """Return the numbers of ``ar_gate_plan``, by field."""
    return {"on": plan.on, "off": plan.off, "hang": plan.hang, "channels": plan.channels}


class CompiledDecider:
    """The same as ``reference.Decider``, in C."""

    def __init__(self, library: ctypes.CDLL, plan: DecisionPlan) -> None:
        self._library, self._classes = library, plan.classes
        library.ar_decide.restype = library.ar_decide_many.restype = _U32
        library.ar_decision_active.restype = _U32
        library.ar_decision_reset.restype = None
        arrays = (
            np.array(plan.on, np.int32),
            np.array(plan.off, np.int32),
            np.zeros(plan.classes, np.int32),
            np.zeros(plan.classes, np.uint16),
            np.zeros(1 if plan.exclusive else plan.classes, np.uint64),
            np.zeros((plan.hops, plan.classes), np.int8),
        )
        self._arrays = arrays  # the structs only have their addresses
        on, off, smoothed, heard, quiet_until, history = (array.ctypes.data for array in arrays)
        self._plan = DecisionPlanStruct(on, off, **plan_fields(plan))
        self._state = DecisionStruct(
            ctypes.pointer(self._plan), smoothed, heard, quiet_until, None if plan.factor else history, 0
        )
        self._events = (EventStruct * plan.max_events)()
        self.reset()

    def reset(self) -> None:
        """Forget all scores and events."""
        self._library.ar_decision_reset(ctypes.byref(self._state))

    @property
    def is_active(self) -> bool:
        """Whether an event has started and not ended."""
        return bool(self._library.ar_decision_active(ctypes.byref(self._state)))

    def decide(self, scores: np.ndarray | None, at: int) -> list[Event]:
        """Return the events of one hop, as ``reference.Decider.decide``."""
        row = None if scores is None else _int8(scores, self._classes)
        place = _P(None if row is None else row.ctypes.data)
        count = self._library.ar_decide(ctypes.byref(self._state), place, _U64(at), self._events)
        return [self._events[k].event() for k in range(count)]

    def decide_all(self, scores: np.ndarray, at: np.ndarray, has_scores: np.ndarray) -> list[Event]:
        """Return the events of many hops: int8 scores [hops, classes], their uint64 sample indices, and uint8 flags for
        the hops that have scores."""
        rows = _int8(scores, self._classes).reshape(-1, self._classes)
        ends = np.ascontiguousarray(at, np.uint64)
        present = np.ascontiguousarray(has_scores, np.uint8)
        found: list[Event] = []
        step = max(_ROOM // len(self._events), 1)
        room = step * len(self._events)
        events: Any = (EventStruct * room)()
        for begin in range(0, len(ends), step):
            part = slice(begin, begin + step)
            arrays = rows[part], ends[part], present[part]
            places = (_P(array.ctypes.data) for array in arrays)
            numbers = _U32(len(ends[part])), self._events, events, _U32(room)
            count = self._library.ar_decide_many(ctypes.byref(self._state), *places, *numbers)
            found += [events[k].event() for k in range(count)]
        return found


class CompiledGate:
    """The same as ``reference.SampleGate``, in C."""

    def __init__(self, library: ctypes.CDLL, plan: GatePlan) -> None:
        library.ar_gate_samples.restype = library.ar_gate_hold.restype = _U32
        self._library, self._channels = library, plan.channels
        self._plan = GatePlanStruct(**gate_fields(plan))
        self._state = GateStruct(ctypes.pointer(self._plan), 0, 0)

    def measure(self, samples: np.ndarray) -> bool:
        """Return whether the gate is open after a block, as ``reference.SampleGate.measure``."""
        block = np.ascontiguousarray(samples, np.int16)
        count = _U32(block.size // self._channels)
        return bool(self._library.ar_gate_samples(ctypes.byref(self._state), _P(block.ctypes.data), count))

    def hold(self, is_active: bool) -> bool:
        """Take a decision instead of samples, as ``reference.SampleGate.hold``."""
        return bool(self._library.ar_gate_hold(ctypes.byref(self._state), _U32(is_active)))


def _int8(scores: np.ndarray, classes: int) -> np.ndarray:
    rows = np.ascontiguousarray(scores, np.int8)
    if rows.size % classes:
        raise ValueError(f"{rows.size} scores, expected a multiple of {classes}")
    return rows


def events_of(
    plan: DecisionPlan,
    scores: np.ndarray,
    at: np.ndarray | Sequence[int],
    has_scores: np.ndarray | None = None,
) -> list[Event]:
    """Return all events of a stream of int8 ``scores`` [hops, classes] with the C library, or with NumPy if there is no
    library. ``at`` and ``has_scores`` are as for ``reference.decide_all``."""
    library = native.library()
    present = np.ones(len(at), np.uint8) if has_scores is None else np.asarray(has_scores)
    if library is None:
        return decide_all(plan, scores, [int(end) for end in at], [bool(flag) for flag in present])
    return CompiledDecider(library, plan).decide_all(scores, np.asarray(at), present)
