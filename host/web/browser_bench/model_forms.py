"""The forms of a model that runtimes in a page accept: their files, inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Tensor
from arenite.converters.onnx_export.export import to_onnx
from arenite.converters.tflite.float_edges import (
    has_float_edge,
    quantized_values,
    real_values,
    with_float_edges,
)
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.samples import Samples


@dataclass(frozen=True)
class ModelForm:
    """A form of the model ``source``. ``edges`` is "own" for the model's own inputs and outputs, "float" if the
    quantized ones are float32 with a QUANTIZE or DEQUANTIZE."""

    edges: str
    model: Model
    source: Model

    def task(self) -> dict[str, Any]:
        """Return what the page needs to know about the form, without the addresses of its files."""
        graph = self.model.main
        return {
            name: [
                {"dtype": t.dtype, "elements": t.elements, "shape": t.shape}
                for t in (graph.tensors[i] for i in indices)
            ]
            for name, indices in (("inputs", graph.inputs), ("outputs", graph.outputs))
        }

    def inputs(self, samples: Samples) -> bytes:
        """Return the inputs of all samples as bytes, in the types of the form."""
        tensors = [self.source.main.tensors[i] for i in self.source.main.inputs]
        return b"".join(
            self._input(tensor, value).tobytes()
            for row in samples.inputs
            for tensor, value in zip(tensors, row, strict=True)
        )

    def _input(self, tensor: Tensor, value: np.ndarray) -> np.ndarray:
        return real_values(tensor, value) if self._is_converted(tensor) else np.ascontiguousarray(value)

    def output_bytes(self) -> int:
        """Return the bytes of one sample's outputs."""
        return sum(self.model.main.tensors[i].nbytes for i in self.model.main.outputs)

    def outputs(self, data: bytes, samples: int) -> list[list[np.ndarray]]:
        """Return the outputs of each sample in the types of the model, from the bytes that the page sent."""
        at, rows = 0, []
        graph, source = self.model.main, self.source.main
        for _ in range(samples):
            row = []
            for index, original in zip(graph.outputs, source.outputs, strict=True):
                tensor, wanted = graph.tensors[index], source.tensors[original]
                array = np.frombuffer(data, DTYPES[tensor.dtype], tensor.elements, at).reshape(tensor.shape)
                row.append(quantized_values(wanted, array) if self._is_converted(wanted) else array)
                at += tensor.nbytes
            rows.append(row)
        return rows

    def _is_converted(self, tensor: Tensor) -> bool:
        return self.edges == "float" and has_float_edge(tensor)

    def file(self, model_format: str = "tflite") -> bytes:
        """Return the file in the format "tflite" or "onnx". Raises ``UnsupportedModelError`` if an operator has no form
        in ONNX."""
        return to_flatbuffer(self.model) if model_format == "tflite" else to_onnx(self.model)


def forms_of(source: Model) -> Sequence[ModelForm]:
    """Return the forms of a model that a runtime may accept: first the one with the model's own inputs and outputs."""
    # Without signatures every runtime orders inputs and outputs as the graph does.
    plain = replace(source, signatures=(), metadata={})
    graph = plain.main
    own = ModelForm("own", plain, source)
    if not any(has_float_edge(graph.tensors[i]) for i in (*graph.inputs, *graph.outputs)):
        return (own,)
    return (own, ModelForm("float", with_float_edges(plain), source))
