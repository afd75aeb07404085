"""Run real models in the unmodified TFLite interpreter and provide their tensors in the form that the
camera loop uses."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.model import Tensor
from arenite.errors import ToolError
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.host.camera.runtimes.base import TensorMemory, TensorSlot


@cache
def _opened(name: str) -> CameraModel | str:
    """Return the model with a name in the zoo or a path, or the reason why it cannot be opened."""
    try:
        return open_model(name)
    except ToolError as error:
        return error.problem


def zoo_model(name: str | Path) -> CameraModel:
    """Return the model with a name in the zoo or a path. Skip the test if it cannot be fetched."""
    model = _opened(str(name))
    if isinstance(model, str):
        pytest.skip(model)
    return model


@cache
def photographs() -> dict[str, np.ndarray]:
    """Return the photographs by name, each as uint8 [height, width, 3]. Skip the test if they cannot be fetched."""
    from PIL import Image

    package, files = _members("photos")
    photos = {}
    for path, data in zip(package, files, strict=True):
        with Image.open(io.BytesIO(data)) as picture:
            photos[Path(path).stem] = np.asarray(picture.convert("RGB"))
    return photos


@cache
def small_faces() -> np.ndarray:
    """Return 200 pictures, uint8 [200, 25, 25]: the first 100 are faces, the others are not."""
    _, (data,) = _members("faces")
    values = np.load(io.BytesIO(data))
    return np.asarray(np.round(values * 255), np.uint8)


def _members(name: str) -> tuple[tuple[str, ...], list[bytes]]:
    """Return the paths and the contents of the files in the picture package ``name``. Skip the test if the package
    cannot be fetched."""
    from arenite.models.manifest import manifest
    from arenite.models.package_members import package_members

    package = manifest().pictures[name]
    try:
        return package.paths, package_members(package, "pictures")
    except ToolError as error:
        pytest.skip(error.problem)


def memory(tensor: Tensor, array: np.ndarray) -> TensorMemory:
    """Return the description of ``tensor`` whose values are stored in ``array``."""
    scale, zero = (tensor.scale, tensor.zero_point) if tensor.quant is not None else (0.0, 0)
    return TensorMemory(tensor.name, tensor.shape, tensor.dtype, array.ctypes.data, array.nbytes, scale, zero)


class InterpreterModel:
    """A model in the unmodified TFLite interpreter. ``slot`` describes the arrays ``inputs`` and ``outputs``.
    ``invoke`` copies the inputs into the interpreter, runs it and copies its outputs back."""

    def __init__(self, model: CameraModel) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._interpreter = Interpreter(str(model.path), num_threads=1)
        self._interpreter.allocate_tensors()
        self.inputs, self.outputs = (
            [np.zeros(t.shape, t.dtype) for t in side] for side in (model.inputs, model.outputs)
        )
        self.slot = TensorSlot(
            tuple(map(memory, model.inputs, self.inputs)), tuple(map(memory, model.outputs, self.outputs))
        )

    def invoke(self) -> None:
        for details, value in zip(self._interpreter.get_input_details(), self.inputs, strict=True):
            self._interpreter.set_tensor(details["index"], value)
        self._interpreter.invoke()
        for details, value in zip(self._interpreter.get_output_details(), self.outputs, strict=True):
            value[...] = self._interpreter.get_tensor(details["index"])
