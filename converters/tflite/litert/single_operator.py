"""Run one operator in LiteRT: a resize or QUANTIZE."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from arenite.converters.graph.model import Model, Op, Quantization, Subgraph, Tensor
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.converters.tflite.writer import to_flatbuffer


def run_resize(pixels: np.ndarray, width: int, height: int, method: str, convention: str) -> np.ndarray:
    """Return ``pixels``, float32 [height, width, channels], resized to ``width`` x ``height`` with RESIZE_BILINEAR
    (``method`` "bilinear") or RESIZE_NEAREST_NEIGHBOR. The conventions "tf" (half_pixel_centers) and "tf-corners"
    (align_corners) set the operator's options."""
    h, w, c = pixels.shape
    name = "RESIZE_BILINEAR" if method == "bilinear" else "RESIZE_NEAREST_NEIGHBOR"
    table = "ResizeBilinearOptions" if method == "bilinear" else "ResizeNearestNeighborOptions"
    options = {"align_corners": convention == "tf-corners", "half_pixel_centers": convention == "tf"}
    size = Tensor(1, "size", (2,), "int32", data=np.array([height, width], np.int32))
    tensors = (
        Tensor(0, "x", (1, h, w, c), "float32"),
        size,
        Tensor(2, "y", (1, height, width, c), "float32"),
    )
    op = Op(0, name, (0, 1), (2,), options, table, 3)
    return cast(np.ndarray, _run(op, tensors, pixels[np.newaxis])[0])


def run_quantize(real: np.ndarray, dtype: str, scale: float, zero_point: int) -> np.ndarray:
    """Return float32 values ``real`` quantized by QUANTIZE, as an array of ``dtype`` with the same shape."""
    quant = Quantization((float(np.float32(scale)),), (zero_point,))
    flat = np.ascontiguousarray(real, np.float32).reshape(1, -1)
    tensors = (Tensor(0, "x", flat.shape, "float32"), Tensor(1, "y", flat.shape, dtype, quant))
    op = Op(0, "QUANTIZE", (0,), (1,), {}, "QuantizeOptions", 2)
    return _run(op, tensors, flat).reshape(real.shape)


def _run(op: Op, tensors: tuple[Tensor, ...], value: np.ndarray) -> np.ndarray:
    graph: Any = Subgraph("main", tensors, (op,), (0,), op.outputs)
    litert = LiteRtModel(to_flatbuffer(Model((graph,))), exact=True)
    litert.run([np.ascontiguousarray(value, np.float32)])
    return litert.results()[0]
