"""Run the anomaly head with the C code that devices run."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from arenite.converters.anomaly.plan import AnomalyPlan, Units
from arenite.converters.anomaly.reference import Judgement, Nearest
from arenite.converters.processing.native import library as native

_U32, _I32, _P = ctypes.c_uint32, ctypes.c_int32, ctypes.c_void_p


class ParamsStruct(ctypes.Structure):
    _fields_ = [
        *((name, _U32) for name in ("size", "warmup", "floor", "sigmas", "limit")),
        ("classes", ctypes.c_uint16),
        ("memory_bits", ctypes.c_uint8),
        ("learn_all", ctypes.c_uint8),
        ("rank", _U32),
    ]


class _HeadStruct(ctypes.Structure):
    _fields_ = [
        ("params", ctypes.POINTER(ParamsStruct)),
        *((name, _P) for name in ("head", "mean", "variance", "taught", "prototypes")),
        ("threshold", _U32),
        ("alarm", _U32),
        *((name, _P) for name in ("low_rank", "trace", "components", "row")),
    ]


class _UnitsStruct(ctypes.Structure):
    _fields_ = [(name, _I32) for name in ("multiplier", "output_zero", "input_zero")]


@cache
def library() -> ctypes.CDLL | None:
    """Return the C library of the host, or None if there is none."""
    loaded = native.library()
    return None if loaded is None else with_types(loaded)


def with_types(loaded: ctypes.CDLL) -> ctypes.CDLL:
    """Declare what the functions of the anomaly head return, and return the library."""
    for name in ("score", "threshold", "update", "teach"):
        getattr(loaded, f"ar_anomaly_{name}").restype = _U32
    loaded.ar_anomaly_classify.restype = _I32
    for name in ("reset", "forget", "difference"):
        getattr(loaded, f"ar_anomaly_{name}").restype = None
    return loaded


def difference(code: ctypes.CDLL, units: Units, source: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Return the same as ``reference.difference``."""
    source, output = (np.ascontiguousarray(a, np.int8) for a in (source, output))
    result = np.empty_like(output)
    struct = _UnitsStruct(units.multiplier, units.output_zero, units.input_zero)
    places = (_P(array.ctypes.data) for array in (source, output, result))
    code.ar_anomaly_difference(ctypes.byref(struct), _U32(output.size), *places)
    return result


class CompiledHead:
    """An anomaly head that runs the C code. It has the methods of ``reference.ReferenceHead``."""

    def __init__(self, code: ctypes.CDLL, plan: AnomalyPlan) -> None:
        self.plan, self._code = plan, code
        self.state = np.zeros(1, plan.state_dtype)
        self._params = ParamsStruct(**plan.parameters)
        names = plan.state_dtype.names or ()
        places = (
            self.state[name].ctypes.data if name in names else None
            for name in ("count", "mean", "variance", "taught", "prototypes")
        )
        self._head = _HeadStruct(ctypes.pointer(self._params), *places)
        self._row = np.zeros(plan.size, np.int32)
        if plan.head.rank:
            functions = ctypes.c_byte.in_dll(code, "ar_low_rank")
            self._head.low_rank = ctypes.addressof(functions)
            self._head.trace, self._head.components = (
                self.state[name].ctypes.data for name in ("trace", "components")
            )
            self._head.row = self._row.ctypes.data

    def _call(self, name: str, *arguments: Any) -> Any:
        return getattr(self._code, f"ar_anomaly_{name}")(ctypes.byref(self._head), *arguments)

    def _values(self, embedding: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(embedding.reshape(-1), np.int8)
        assert values.size == self.plan.size
        return values

    def score(self, embedding: np.ndarray) -> int:
        values = self._values(embedding)
        return int(self._call("score", _P(values.ctypes.data)))

    def threshold(self) -> int:
        return int(self._call("threshold"))

    def update(self, embedding: np.ndarray) -> Judgement:
        values = self._values(embedding)
        score = int(self._call("update", _P(values.ctypes.data)))
        return Judgement(score, self._head.threshold, bool(self._head.alarm))

    def freeze(self, frozen: bool = True) -> None:
        self.state[0]["frozen"] = frozen

    def reset(self) -> None:
        self._call("reset")

    def teach(self, index: int, embedding: np.ndarray) -> int:
        values = self._values(embedding)
        return int(self._call("teach", _U32(index), _P(values.ctypes.data)))

    def forget(self, index: int) -> None:
        self._call("forget", _U32(index))

    def classify(self, embedding: np.ndarray) -> Nearest:
        values, distance = self._values(embedding), _U32()
        index = self._call("classify", _P(values.ctypes.data), ctypes.byref(distance))
        return Nearest(int(index), distance.value)
