"""Run a model in LiteRT on samples, one after another, and read the values of any tensor.

LiteRT's optimized kernels without delegates are fast and give the same bytes in every run on the same machine; they are
for float models. The reference kernels are for quantized models: the firmware computes exactly their results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.tflite.litert.explicit_states import (
    ExplicitStates,
    last_values,
    quantized_state,
    with_explicit_states,
)
from arenite.converters.tflite.litert.start_interpreter import start_interpreter
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import ModelError


class LiteRtModel:
    """A model loaded in LiteRT. Arenite's NumPy code runs the operators that LiteRT lacks (see ``start_interpreter``).

    Args:
        flatbuffer: The TFLite model.
        exact: Whether to use the reference kernels instead of the optimized kernels.
        keep: Whether every tensor stays readable after a run. This takes the memory of all tensors together.

    Raises:
        ModelError: LiteRT refuses the model.
    """

    def __init__(self, flatbuffer: bytes, *, exact: bool = False, keep: bool = False) -> None:
        self._explicit: ExplicitStates | None = None
        self._start = partial(start_interpreter, flatbuffer, exact=exact, keep=keep)
        try:
            self._interpreter = self._start()
            # reset_all_variables() does not reset resource variables: only a new interpreter does.
            self._has_resources = any(
                op["op_name"] == "VAR_HANDLE" for op in self._interpreter._get_ops_details()
            )
            count = len(self._interpreter.get_input_details()), len(self._interpreter.get_output_details())
            if self._has_resources:
                self._explicit = with_explicit_states(parse(flatbuffer))
            if self._explicit is not None:
                content = to_flatbuffer(self._explicit.model)
                self._start = partial(start_interpreter, content, exact=exact, keep=keep)
                self._interpreter = self._start()
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"LiteRT refuses the model: {str(error).strip()}.", "Check it with `arenite inspect`."
            ) from error
        self._state_inputs = self._interpreter.get_input_details()[count[0] :]
        self._state_outputs = self._interpreter.get_output_details()[count[1] :]
        self.inputs = self._interpreter.get_input_details()[: count[0]]
        self.outputs = self._interpreter.get_output_details()[: count[1]]
        self._states = [] if self._explicit is None else [state.start for state in self._explicit.states]
        self._used = False

    def run(self, inputs: Sequence[np.ndarray], *, fresh: bool = True) -> None:
        """Run one inference. If ``fresh``, all variables are in their initial state, otherwise they have the values
        that the inference before left. ``inputs`` may have real values after the inputs of the model, one array for
        each of ``state_tensors``: the inference begins with them.

        Raises ``ModelError`` if LiteRT cannot run the model.
        """
        if fresh and self._used and self._has_resources and self._explicit is None:
            self._interpreter = self._start()
        elif fresh and self._used:
            self._interpreter.reset_all_variables()
        self._used = True
        for detail, value in zip(self.inputs, inputs[: len(self.inputs)], strict=True):
            self._interpreter.set_tensor(detail["index"], value)
        if self._explicit is not None:
            self._set_states(self._explicit, inputs[len(self.inputs) :], fresh)
        try:
            self._interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"LiteRT cannot run the model: {str(error).strip()}.", "Check it with `arenite inspect`."
            ) from error
        if self._explicit is not None:
            results = [self._interpreter.get_tensor(d["index"]) for d in self._state_outputs]
            self._states = last_values(self._explicit, self._states, results)

    def _set_states(self, explicit: ExplicitStates, real_states: Sequence[np.ndarray], fresh: bool) -> None:
        if real_states:
            pairs = zip(explicit.states, real_states, strict=True)
            self._states = [quantized_state(state, value) for state, value in pairs]
        elif fresh:
            self._states = [state.start for state in explicit.states]
        for detail, k in zip(self._state_inputs, explicit.inputs, strict=True):
            self._interpreter.set_tensor(detail["index"], self._states[k])

    @property
    def state_count(self) -> int:
        """The number of ``state_tensors`` whose values ``run`` takes."""
        return 0 if self._explicit is None else len(self._explicit.states)

    def real_states(self) -> list[np.ndarray]:
        """Return the real values of each of ``state_tensors`` after ``run``, as float32. Return nothing if the
        variables of the model cannot be read."""
        if self._explicit is None:
            return []
        pairs = zip(self._explicit.states, self._states, strict=True)
        return [real_values(value, state.tensor).astype(np.float32) for state, value in pairs]

    def value(self, index: int) -> np.ndarray:
        """Return a copy of tensor ``index`` of the main subgraph, after ``run``."""
        return np.array(self._interpreter.get_tensor(index))

    def computes_quantized(self) -> bool:
        """Return whether an input or a computed tensor has int8, uint8 or int16 values with a scale. Weights do not
        count."""
        computed = {int(i) for op in self._interpreter._get_ops_details() for i in op["outputs"]}
        computed |= {int(d["index"]) for d in self.inputs}
        return any(
            d["index"] in computed and d["quantization"][0] and d["dtype"] in (np.int8, np.uint8, np.int16)
            for d in self._interpreter.get_tensor_details()
        )

    def results(self) -> list[np.ndarray]:
        """Return a copy of every graph output, after ``run``."""
        return [self.value(d["index"]) for d in self.outputs]


def run_outputs(
    flatbuffer: bytes, samples: Iterable[Sequence[np.ndarray]], *, exact: bool = False
) -> Iterator[list[np.ndarray]]:
    """Yield the graph outputs for every sample. Quantized outputs are integers, not real values. ``exact`` has the same
    meaning as for ``LiteRtModel``."""
    litert = LiteRtModel(flatbuffer, exact=exact)
    for sample in samples:
        litert.run(sample)
        yield litert.results()


def run_tensor_values(
    flatbuffer: bytes,
    samples: Iterable[Sequence[np.ndarray]],
    tensors: Sequence[int],
    *,
    exact: bool = False,
) -> Iterator[dict[int, np.ndarray]]:
    """Yield {tensor: values} for the tensors with the indices ``tensors`` in the main subgraph, for every sample.
    Only one sample is in memory at a time. ``exact`` has the same meaning as for ``LiteRtModel``."""
    litert = LiteRtModel(flatbuffer, exact=exact, keep=True)
    for sample in samples:
        litert.run(sample)
        yield {i: litert.value(i) for i in tensors}


def real_values(value: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return the real values of ``tensor`` as float64. ``value`` has its values as LiteRT returns them."""
    if tensor.quant is None or tensor.dtype == "float32":
        return value.astype(np.float64)
    return (value.astype(np.float64) - tensor.zero_point) * tensor.scale
