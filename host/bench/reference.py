"""Run models with LiteRT's reference kernels. Arenite's outputs are compared with their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from arenite.converters.tflite.litert.start_interpreter import start_interpreter
from arenite.errors import ModelError


class Reference:
    """A model loaded in LiteRT with ``BUILTIN_REF`` kernels.

    ``run`` takes one array per graph input, with the shape and type of the model's input, and returns one
    array per output. LiteRT has no reference kernel for ELU, so ELU is replaced by a table of the results of LiteRT's
    optimized kernel. Tree ensembles and signal operators, which LiteRT lacks, are computed by Arenite's NumPy code.
    """

    def __init__(self, flatbuffer: bytes) -> None:
        self._start = partial(start_interpreter, flatbuffer, exact=True)
        try:
            self._interpreter = self._start()
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"LiteRT does not load the model: {str(error).strip()}.", "Check it with `arenite inspect`."
            ) from error
        # reset_all_variables() does not reset resource variables; only a new interpreter does.
        self._has_resources = any(
            op["op_name"] == "VAR_HANDLE" for op in self._interpreter._get_ops_details()
        )
        self._used = False
        self.inputs = self._interpreter.get_input_details()
        self.outputs = self._interpreter.get_output_details()

    def run(self, inputs: Sequence[np.ndarray], *, reset: bool = True) -> list[np.ndarray]:
        """Run one inference. ``reset`` first sets variables to their initial values.

        Raises ``ModelError`` if LiteRT fails on these inputs.
        """
        if reset and self._used:
            if self._has_resources:
                self._interpreter = self._start()
            else:
                self._interpreter.reset_all_variables()
        self._used = True
        for detail, value in zip(self.inputs, inputs, strict=True):
            self._interpreter.set_tensor(detail["index"], value)
        try:
            self._interpreter.invoke()
        except RuntimeError as error:
            raise ModelError(
                f"LiteRT cannot run the model on a sample: {str(error).strip().rstrip('.')}.",
                "Give valid samples with --data. For example, an index must be inside its table.",
            ) from error
        return [np.array(self._interpreter.get_tensor(d["index"])) for d in self.outputs]
