"""Convert scores to real numbers, and read answers that are a single score or plain values."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.runtimes.base import TensorMemory

#: The maximum number of values in an answer without postprocessing.
MAX_VALUES = 4096
_INT, _FLOAT = struct.Struct("<i"), struct.Struct("<f")


def key_to_real(dtype: str, scale: float, zero: int, logits: bool) -> Callable[[int], float]:
    """Return a function that converts the sort keys in the C code's results to scores. A sort key is an integer in the
    order of the scores.

    For an integer ``dtype``, the key is the quantized score, with ``scale`` and ``zero``. For float32, it is made of
    the bits of the number; a NaN becomes 0. If ``logits`` is True, the function applies a sigmoid.
    """
    if dtype != "float32":
        if logits:
            return lambda key: sigmoid(scale * (key - zero))
        return lambda key: scale * (key - zero)
    pack, unpack = _INT.pack, _FLOAT.unpack

    def real(key: int) -> float:
        (value,) = unpack(pack(key if key >= 0 else key ^ 0x7FFFFFFF))
        return float(value) if value == value else 0.0

    return (lambda key: sigmoid(real(key))) if logits else real


def sigmoid(value: float) -> float:
    # ``math.exp`` overflows above 709.
    if value < 0:
        small = math.exp(max(value, -700.0))
        return small / (1.0 + small)
    return 1.0 / (1.0 + math.exp(-min(value, 700.0)))


def values_reader(memory: TensorMemory) -> Callable[[Any], Answer]:
    """Return a function that reads the first values of an output. If the output has one value, that is the answer's
    score. The function ignores its argument, because values have no coordinates."""
    count = min(math.prod(memory.shape), MAX_VALUES)
    scale, zero = memory.scale, memory.zero_point

    def read(_: Any) -> Answer:
        raw = memory.array().reshape(-1)[:count].tolist()
        values = tuple([(v - zero) * scale for v in raw] if scale else map(float, raw))
        return Answer("score", score=values[0]) if count == 1 else Answer("values", values=values)

    return read


def score_reader(run: Callable[[], Any]) -> Callable[[Any], Answer]:
    """Return a function that reads the score that ``run`` returns. It ignores its argument."""
    return lambda _: Answer("score", score=float(run()))
