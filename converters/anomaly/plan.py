"""Convert the settings of an anomaly head to integers, for the outputs of a model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.anomaly.head import HINT, AnomalyHead
from arenite.converters.graph.tensor import Tensor
from arenite.errors import UsageError

#: Fractional bits of means, variances, scores, distances and multipliers.
BITS = 16
#: The number that stands for "more than any score".
MAX_U32 = (1 << 32) - 1
MAX_SIZE = 65_535
#: The largest embedding with a low-rank covariance: sums of squares stay below 2^63.
MAX_LOW_RANK_SIZE = 4096


@dataclass(frozen=True)
class Units:
    """The integers that convert an output to units of the input (``ar_anomaly_units``)."""

    multiplier: int
    output_zero: int
    input_zero: int


@dataclass(frozen=True)
class AnomalyPlan:
    """The parameters of the C code (``ar_anomaly_params``), and the units of an autoencoder's difference."""

    head: AnomalyHead
    size: int
    units: Units | None

    @property
    def parameters(self) -> dict[str, int]:
        """The fields of ``ar_anomaly_params``."""
        head = self.head
        limit = MAX_U32 if head.max_distance is None else round(head.max_distance * (1 << BITS))
        return {
            "size": self.size,
            "warmup": head.warmup,
            "floor": max(1, round(head.floor * (1 << BITS))),
            "sigmas": round(head.sigmas * 256),
            "limit": limit,
            "classes": head.classes,
            "memory_bits": head.memory.bit_length() - 1,
            "learn_all": int(head.learn == "all"),
            "rank": head.rank,
        }

    @property
    def state_dtype(self) -> np.dtype[Any]:
        """The layout of the state: the same bytes as the struct that a generated library has."""
        fields: list[Any] = [
            ("count", "<u4"),
            ("scores", "<u4"),
            ("score_mean", "<i4"),
            ("score_variance", "<u4"),
            ("frozen", "<u4"),
            ("mean", "<i4", (self.size,)),
            ("variance", "<u4", (self.size,)),
        ]
        if self.head.rank:
            fields += [("trace", "<u4"), ("components", "<i4", (self.head.rank * self.size,))]
        if self.head.classes:
            # An even number of 16-bit values, so that the struct has no padding.
            fields += [
                ("taught", "<u4", (self.head.classes,)),
                ("prototypes", "<i2", (self.prototype_values,)),
            ]
        return np.dtype(fields)

    @property
    def prototype_values(self) -> int:
        """The number of 16-bit values that hold all prototypes, rounded up to an even number."""
        return -(-self.head.classes * self.size // 2) * 2

    def tag(self, image_sha256: bytes) -> int:
        """Return the number that marks saved states of this head and this image."""
        text = repr((self.parameters, self.units)).encode()
        return int.from_bytes(hashlib.sha256(image_sha256 + text).digest()[:4], "little")


def plan_anomaly(head: AnomalyHead, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> AnomalyPlan:
    """Return the plan of ``head`` for a model. Raises ``UsageError`` if the output is missing or not int8, or if the
    input of an autoencoder has another number of values."""
    output = _tensor(outputs, head.output, "output")
    if head.rank and not head.rank < output.elements <= MAX_LOW_RANK_SIZE:
        raise UsageError(
            f"Anomaly: rank is {head.rank}, but output '{output.name}' has {output.elements} values, expected "
            f"{head.rank + 1} to {MAX_LOW_RANK_SIZE:,}.",
            "Remove rank, or choose another output.",
        )
    if head.input is None:
        return AnomalyPlan(head, output.elements, None)
    source = _tensor(inputs, head.input, "input")
    if source.elements != output.elements:
        raise UsageError(
            f"Anomaly: input {head.input} has {source.elements} values and output {head.output} has {output.elements}, "
            "expected the same number.",
            "Remove input, unless the model is an autoencoder.",
        )
    (source_scale, source_zero), (scale, zero) = _unit(source), _unit(output)
    multiplier = round(scale / source_scale * (1 << BITS))
    if not 0 < multiplier < 1 << 23:
        raise UsageError(
            f"Anomaly: the scale of output '{output.name}' is {scale / source_scale:g} times that of the input, "
            "expected less than 128 times.",
            "Calibrate the model with real samples.",
        )
    return AnomalyPlan(head, output.elements, Units(multiplier, zero, source_zero))


def _tensor(tensors: Sequence[Tensor], index: int, side: str) -> Tensor:
    """Return the int8 tensor with this index. Raises ``UsageError`` if there is none."""
    if index >= len(tensors):
        raise UsageError(f"Anomaly: {side} is {index}, but the model has {len(tensors)}.", HINT)
    tensor = tensors[index]
    if tensor.dtype != "int8":
        raise UsageError(
            f"Anomaly: {side} '{tensor.name}' is {tensor.dtype}, expected int8.",
            "Convert the model with the recipe int8.",
        )
    if not 0 < tensor.elements <= MAX_SIZE:
        raise UsageError(
            f"Anomaly: {side} '{tensor.name}' has {tensor.elements} values, expected 1 to {MAX_SIZE:,}.", HINT
        )
    return tensor


def _unit(tensor: Tensor) -> tuple[float, int]:
    """Return scale and zero point of a tensor. Raises ``UsageError`` unless it has one of each."""
    if tensor.quant is None or tensor.quant.per_axis:
        raise UsageError(f"Anomaly: '{tensor.name}' has no scale.", "Convert the model with the recipe int8.")
    return tensor.scale, tensor.zero_point
