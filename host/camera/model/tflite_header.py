"""Read the tensors, the metadata and the detection outputs of a ``.tflite`` file before a runtime loads it."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.converters.graph.tensor import Quantization, Tensor
from arenite.errors import ModelError
from arenite.host.camera.model.flatbuffer_reader import Buffer, TableView

#: Numbers of the TFLite schema (lite/schema/schema.fbs): the numbers of fields of its tables, and in ``_TYPES`` the
#: values of TensorType.
_MODEL_CODES, _MODEL_SUBGRAPHS, _MODEL_BUFFERS, _MODEL_METADATA = 1, 2, 4, 6
_GRAPH_TENSORS, _GRAPH_INPUTS, _GRAPH_OUTPUTS, _GRAPH_OPS = 0, 1, 2, 3
_OP_CODE, _OP_OUTPUTS = 0, 2
_TENSOR_SHAPE, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_QUANT = 0, 1, 3, 4
_QUANT_SCALE, _QUANT_ZERO = 2, 3
_CODE_CUSTOM = 1
_TYPES = {
    0: "float32",
    1: "float16",
    2: "int32",
    3: "uint8",
    4: "int64",
    6: "bool",
    7: "int16",
    9: "int8",
    10: "float64",
    15: "uint32",
    16: "uint16",
}
_DETECTION_OPERATOR = "TFLite_Detection_PostProcess"
#: Larger metadata entries are ignored. All entries that the loop reads are smaller.
_MAX_METADATA_BYTES = 64 << 20


@dataclass(frozen=True)
class ModelHeader:
    """The inputs and outputs of the main subgraph. ``metadata`` has the requested entries by name. If the model
    contains TensorFlow's detection operator, ``detections`` has the indices in ``outputs`` of the boxes, the classes,
    the scores and the number of boxes; else it is empty."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    metadata: dict[str, bytes]
    detections: tuple[int, ...] = ()


def read_header(data: Buffer, wanted: tuple[str, ...], name: str) -> ModelHeader:
    """Return the header of the TFLite file with the content ``data``, with the metadata entries named in
    ``wanted``. ``name`` is for error messages. Raises ``ModelError``."""
    if bytes(data[4:8]) != b"TFL3":
        raise ModelError(
            f"{name} is not a TFLite model.", "Give a .tflite or .onnx file, or a name of the zoo."
        )
    try:
        root = TableView.root(data)
        graph = root.table_of(_MODEL_SUBGRAPHS, 0)
        inputs = tuple(_read_tensor(graph, i) for i in graph.integers(_GRAPH_INPUTS))
        outputs = tuple(_read_tensor(graph, i) for i in graph.integers(_GRAPH_OUTPUTS))
        detections = _detection_outputs(root, graph)
        metadata = {}
        for entry in root.tables(_MODEL_METADATA):
            key = entry.text(0)
            if key in wanted:
                blob = root.table_of(_MODEL_BUFFERS, entry.integer(1, "I")).bytes(0)
                if 0 < len(blob) <= _MAX_METADATA_BYTES:
                    metadata[key] = blob
    except ValueError as error:
        raise ModelError(f"Cannot read {name}: {error}.", "Get the file again.") from error
    return ModelHeader(inputs, outputs, metadata, detections)


def _detection_outputs(root: TableView, graph: TableView) -> tuple[int, ...]:
    """Return the index in the graph's outputs of each output of the detection operator; () if there is no such
    operator."""
    codes = [code.text(_CODE_CUSTOM) for code in root.tables(_MODEL_CODES)]
    if _DETECTION_OPERATOR not in codes:
        return ()
    outputs = graph.integers(_GRAPH_OUTPUTS)
    for op in graph.tables(_GRAPH_OPS):
        if op.integer(_OP_CODE, "I") == codes.index(_DETECTION_OPERATOR):
            tensors = op.integers(_OP_OUTPUTS)
            if len(tensors) == 4 and set(tensors) <= set(outputs):
                return tuple(outputs.index(tensor) for tensor in tensors)
    return ()


def _read_tensor(graph: TableView, index: int) -> Tensor:
    table = graph.table_of(_GRAPH_TENSORS, index)
    dtype = _TYPES.get(table.integer(_TENSOR_TYPE, "b"), "resource")
    # A dynamic dimension is stored as 1, or as -1 in older files.
    shape = tuple(d if d > 0 else 1 for d in table.integers(_TENSOR_SHAPE))
    parameters = table.table(_TENSOR_QUANT)
    quant = None
    if parameters is not None and dtype in ("int8", "uint8", "int16", "int32"):
        scale, zero = parameters.numbers(_QUANT_SCALE, "f"), parameters.integers(_QUANT_ZERO, "q")
        if scale:
            quant = Quantization(tuple(scale), zero if len(zero) == len(scale) else (0,) * len(scale))
    return Tensor(index, table.text(_TENSOR_NAME), shape, dtype, quant)
