"""Functions that return quantizations for tensors in elementwise graphs."""

from __future__ import annotations

from arenite.converters.graph.model import Quantization
from tests.fuzz.graph_builder import f32


def q(scale: float, zero_point: int = 0) -> Quantization:
    """Return a quantization of a whole tensor. The scale is rounded to float32."""
    return Quantization((f32(scale),), (zero_point,))
