"""Load a model: read it, check and optimize it, and plan its arena."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.converters.graph.tensor import Tensor
from arenite.files import write_atomic
from arenite.host.build.prepare import Prepared, prepare


@dataclass(frozen=True)
class TensorInfo:
    """An input or an output of a model. A stored value means ``scale * (value - zero_point)``. ``scale`` and
    ``zero_point`` are None without quantization."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | None
    zero_point: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "scale": self.scale,
            "zero_point": self.zero_point,
        }


class Model:
    """A model with a planned tensor arena. ``arenite.load`` returns an object of this class.

    Attributes:
        path: the file from which the model was read.
        sha256: the SHA-256 of this file.
        macs: the number of multiply-accumulates of one inference, after the graph optimizations.
        notes: one sentence for each repair and each folded operator.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.path = prepared.path
        self.sha256 = prepared.sha256
        self.macs = prepared.macs
        self.notes = prepared.notes

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The model's inputs, in order."""
        graph = self.prepared.model.main
        return tuple(_info(graph.tensors[i]) for i in graph.inputs)

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The model's outputs, in order."""
        graph = self.prepared.model.main
        return tuple(_info(graph.tensors[i]) for i in graph.outputs)

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the operators, in the execution order of the plan."""
        graph = self.prepared.model.main
        return tuple(graph.ops[k].name for k in self.prepared.plan.order)

    @property
    def arena_bytes(self) -> int:
        """The size of the planned arena in bytes, for portable kernels."""
        return self.prepared.plan.arena_bytes

    def save(self, path: str | Path) -> Path:
        """Write the image to ``path``: the flatbuffer with its arena plan, which stock LiteRT can load. Returns the
        path. Raises ``UsageError`` if the file cannot be written."""
        write_atomic(path, self.prepared.image)
        return Path(path)

    def to_json(self) -> dict[str, Any]:
        """Return path, hash, inputs, outputs, operators, multiply-accumulates and arena as a JSON object."""
        return {
            "path": str(self.path),
            "sha256": self.sha256,
            "inputs": [info.to_json() for info in self.inputs],
            "outputs": [info.to_json() for info in self.outputs],
            "operators": list(self.operators),
            "macs": self.macs,
            "arena": self.arena_bytes,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Model({str(self.path)!r}, {len(self.operators)} operators, arena {self.arena_bytes:,} bytes)"


def load(path: str | Path, *, passes: bool = True) -> Model:
    """Read a quantized ``.tflite`` file or an image, check that Arenite can run it bit-exactly, and plan its arena.

    Args:
        path: the file.
        passes: apply the graph optimizations. They do not change any output.

    Raises:
        ModelError: the file is malformed.
        UnsupportedModelError: Arenite cannot run an operator bit-exactly. The message names the operator.
        UsageError: the file cannot be read.
    """
    return Model(prepare(path, passes=passes))


def prepared_model(model: Model | str | Path, *, passes: bool = True) -> Prepared:
    """Return the prepared form of ``model``. If it is a path, prepare the file."""
    return model.prepared if isinstance(model, Model) else prepare(model, passes=passes)


def _info(tensor: Tensor) -> TensorInfo:
    quant = tensor.quant
    return TensorInfo(
        tensor.name,
        tuple(tensor.shape),
        tensor.dtype,
        float(quant.scale[0]) if quant is not None else None,
        int(quant.zero_point[0]) if quant is not None else None,
    )
