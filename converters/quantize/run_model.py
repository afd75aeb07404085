"""Run a model, float or quantised, on real values in LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arenite.converters.errors import ModelError, UsageError
from arenite.converters.quantize.data import Dataset

#: Told how many samples of how many are done.
Progress = Callable[[int, int], None]


def quantise(values: np.ndarray, scale: float, zero_point: int, dtype: np.dtype) -> np.ndarray:
    """Real values as LiteRT's QUANTIZE makes them integers: divided in float32, ties away from zero, clipped."""
    scaled = values.astype(np.float32) / np.float32(scale)
    rounded = np.copysign(np.floor(np.abs(scaled.astype(np.float64)) + 0.5), scaled)
    info = np.iinfo(dtype)
    return np.clip(rounded + zero_point, info.min, info.max).astype(dtype)


class Runner:
    """A model loaded in LiteRT: real values in, real values out.

    ``reference``: with ``BUILTIN_REF`` kernels, whose integers the firmware gives; otherwise with LiteRT's fast
    kernels. By default the reference for a model with quantised inputs, outputs or activations. Variables start afresh
    for every sample. Raises ``ModelError`` when LiteRT refuses the model.
    """

    def __init__(self, flatbuffer: bytes, *, reference: bool | None = None) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        def start(kind: Any) -> Any:
            made = Interpreter(model_content=flatbuffer, experimental_op_resolver_type=kind, num_threads=1)
            made.allocate_tensors()
            return made

        # Delegates are left out: they change results with the processor that runs them.
        kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        try:
            self._interpreter = start(kernels)
            if reference is None:
                reference = _is_quantised(self._interpreter)
            if reference:
                try:
                    self._interpreter = start(OpResolverType.BUILTIN_REF)
                    kernels = OpResolverType.BUILTIN_REF
                except ValueError as error:  # there is no reference kernel for ELU
                    if "'ELU'" not in str(error):
                        raise
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"LiteRT refuses the model: {str(error).strip()}.", "Check it with `arenite inspect`."
            ) from error
        self._start = lambda: start(kernels)
        # reset_all_variables() leaves resource variables as they are: only a new interpreter starts them afresh.
        self._has_resources = any(
            op["op_name"] == "VAR_HANDLE" for op in self._interpreter._get_ops_details()
        )
        self._fresh = True
        self.inputs = self._interpreter.get_input_details()
        self.outputs = self._interpreter.get_output_details()

    def run(self, sample: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs for one sample: float32 real values (plain integers stay integers)."""
        if not self._fresh:
            if self._has_resources:
                self._interpreter = self._start()
            else:
                self._interpreter.reset_all_variables()
        self._fresh = False
        if len(sample) != len(self.inputs):
            raise UsageError(
                f"A sample has {len(sample)} arrays; the model has {len(self.inputs)} inputs.",
                "Give the data of this model.",
            )
        for detail, value in zip(self.inputs, sample, strict=True):
            if tuple(detail["shape"]) != value.shape:
                raise UsageError(
                    f"A sample has shape {value.shape}; the input '{detail['name']}' takes "
                    f"{tuple(int(n) for n in detail['shape'])}.",
                    "Give the data of this model.",
                )
            self._interpreter.set_tensor(detail["index"], _into(value, detail))
        self._interpreter.invoke()
        return [_out_of(self._interpreter.get_tensor(d["index"]), d) for d in self.outputs]


def run_all(
    flatbuffer: bytes,
    dataset: Dataset,
    *,
    reference: bool | None = None,
    output: int = 0,
    progress: Progress = lambda *_: None,
) -> list[np.ndarray]:
    """Output number ``output`` for every sample."""
    runner = Runner(flatbuffer, reference=reference)
    if not 0 <= output < len(runner.outputs):
        raise UsageError(f"The model has no output {output}.", f"Choose from 0 to {len(runner.outputs) - 1}.")
    found = []
    for k, sample in enumerate(dataset.inputs):
        found.append(runner.run(sample)[output])
        progress(k + 1, len(dataset))
    return found


def _is_quantised(interpreter: Any) -> bool:
    """Whether any activation is an integer with a scale; weights alone do not count."""
    made = {int(i) for op in interpreter._get_ops_details() for i in op["outputs"]}
    made |= {int(d["index"]) for d in interpreter.get_input_details()}
    return any(
        d["index"] in made and d["quantization"][0] and d["dtype"] in (np.int8, np.uint8, np.int16)
        for d in interpreter.get_tensor_details()
    )


def _into(value: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    scale, zero_point = detail["quantization"]
    dtype = np.dtype(detail["dtype"])
    if scale and dtype.kind in "iu":
        return quantise(value, scale, zero_point, dtype)
    return value.astype(dtype)


def _out_of(value: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    scale, zero_point = detail["quantization"]
    if scale and value.dtype.kind in "iu":
        return np.float32(scale) * (value.astype(np.int64) - zero_point).astype(np.float32)
    return np.array(value)
