"""The writer stores equal vectors of scales, and of zero points, only once in a file."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.small_models import Net


def _file(zero_points: tuple[int, int]) -> bytes:
    """Return a model with two constants of 256 channels. All scales are 1, and each constant has one of
    ``zero_points``."""
    n = Net(0)
    x = n.input((1, 4), "int8")
    for zero_point in zero_points:
        quant = Quantization((1.0,) * 256, (zero_point,) * 256, 0)
        n.tensor((256,), "int32", data=np.arange(256), quant=quant)
    return to_flatbuffer(n.model([x]))


def test_equal_vectors_are_stored_once_and_read_twice() -> None:
    shared, separate = _file((0, 0)), _file((0, 1))
    assert len(separate) - len(shared) >= 256 * 8
    quants = [t.quant for t in parse(shared).main.tensors[1:]]
    assert len(quants) == 2 and quants[0] == quants[1] == Quantization((1.0,) * 256, (0,) * 256, 0)
    assert [t.quant.zero_point[0] for t in parse(separate).main.tensors[1:] if t.quant] == [0, 1]
