"""Run a float or quantized model on real values with LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.errors import UsageError

#: Called with (number of finished samples, number of samples).
Progress = Callable[[int, int], None]


def quantize_values(values: np.ndarray, scale: float, zero_point: int, dtype: np.dtype) -> np.ndarray:
    """Quantize real values as LiteRT's QUANTIZE: divide in float32, round ties away from zero, and clip."""
    scaled = values.astype(np.float32) / np.float32(scale)
    rounded = np.copysign(np.floor(np.abs(scaled.astype(np.float64)) + 0.5), scaled)
    info = np.iinfo(dtype)
    return cast(np.ndarray, np.clip(rounded + zero_point, info.min, info.max).astype(dtype))


class RealValueRunner:
    """A model in LiteRT whose inputs and outputs are real values.

    If ``reference`` is true, the model runs with the ``BUILTIN_REF`` kernels, which give the same integers as the
    firmware. If it is false, the model runs with LiteRT's fast kernels. By default a model with quantized inputs,
    outputs or activations runs with the reference kernels. Raises ``ModelError`` if LiteRT refuses the model.
    """

    def __init__(self, flatbuffer: bytes, *, reference: bool | None = None) -> None:
        self._litert = LiteRtModel(flatbuffer, exact=bool(reference))
        if reference is None and self._litert.computes_quantized():
            self._litert = LiteRtModel(flatbuffer, exact=True)
        self.inputs, self.outputs = self._litert.inputs, self._litert.outputs

    def run(self, sample: Sequence[np.ndarray], *, fresh: bool = True) -> list[np.ndarray]:
        """Return the outputs for one sample: float32 real values, or integers if the output has no scale. If ``fresh``,
        all variables are reset first, otherwise they keep the values that the sample before left. A sample may have the
        values of the variables after its inputs (``dataset.states``)."""
        if not len(self.inputs) <= len(sample) <= len(self.inputs) + self._litert.state_count:
            raise UsageError(
                f"A sample has {len(sample)} arrays; the model has {len(self.inputs)} inputs.",
                "Give the data of this model.",
            )
        for detail, value in zip(self.inputs, sample, strict=False):
            if tuple(detail["shape"]) != value.shape:
                raise UsageError(
                    f"A sample has shape {value.shape}; the input '{detail['name']}' takes "
                    f"{tuple(int(n) for n in detail['shape'])}.",
                    "Give the data of this model.",
                )
        values = [_quantize_input(value, detail) for value, detail in zip(sample, self.inputs, strict=False)]
        self._litert.run([*values, *sample[len(self.inputs) :]], fresh=fresh)
        return [_dequantize_output(v, d) for v, d in zip(self._litert.results(), self.outputs, strict=True)]


def run_outputs(
    flatbuffer: bytes,
    dataset: Dataset,
    *,
    reference: bool | None = None,
    progress: Progress = lambda *_: None,
) -> list[list[np.ndarray]]:
    """Return every output for every sample: ``result[output][sample]``. The arguments are those of ``run_dataset``."""
    runner = RealValueRunner(flatbuffer, reference=reference)
    by_sample = []
    for k, sample in enumerate(dataset.inputs):
        by_sample.append(runner.run(sample, fresh=k == 0 or not dataset.continues))
        progress(k + 1, len(dataset))
    return [[outputs[i] for outputs in by_sample] for i in range(len(runner.outputs))]


def run_dataset(
    flatbuffer: bytes,
    dataset: Dataset,
    *,
    reference: bool | None = None,
    output: int = 0,
    progress: Progress = lambda *_: None,
) -> list[np.ndarray]:
    """Return the output with the number ``output`` (counted from 0) for every sample. See ``RealValueRunner`` for
    ``reference``."""
    runner = RealValueRunner(flatbuffer, reference=reference)
    if not 0 <= output < len(runner.outputs):
        raise UsageError(f"The model has no output {output}.", f"Choose from 0 to {len(runner.outputs) - 1}.")
    all_outputs = []
    for k, sample in enumerate(dataset.inputs):
        all_outputs.append(runner.run(sample, fresh=k == 0 or not dataset.continues)[output])
        progress(k + 1, len(dataset))
    return all_outputs


def _quantize_input(value: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    """Return real values in the type of an input. ``detail`` is its description in LiteRT."""
    scale, zero_point = detail["quantization"]
    dtype = np.dtype(detail["dtype"])
    if scale and dtype.kind in "iu":
        return quantize_values(value, scale, zero_point, dtype)
    return value.astype(dtype)


def _dequantize_output(value: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    """Return the real values of an output. ``detail`` is its description in LiteRT."""
    scale, zero_point = detail["quantization"]
    if scale and value.dtype.kind in "iu":
        return cast(np.ndarray, np.float32(scale) * (value.astype(np.int64) - zero_point).astype(np.float32))
    return value
