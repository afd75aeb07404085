"""Import a classical model from an ONNX file, as skl2onnx and onnxmltools write it, without a framework."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.feature_types import FEATURE_TYPES
from arenite.converters.graph.model import Model, Op, Quantization, Signature, Subgraph, Tensor
from arenite.converters.graph.trees import MAX_FEATURES, OPERATOR, ensemble_of
from arenite.converters.importers import source_kinds
from arenite.converters.importers.imported_model import ImportedModel, ImportOptions, source_sha256
from arenite.converters.importers.onnx_ml.feature_steps import thresholds_before
from arenite.converters.importers.onnx_ml.onnx_graph import read_onnx_graph
from arenite.converters.importers.onnx_ml.operators import HINT, Reading, evaluate
from arenite.converters.importers.onnx_ml.symbolic_values import Activated, Label, Linear, Trees
from arenite.converters.importers.onnx_ml.tree_tables import swapped, tables_of, to_fixed_point
from arenite.converters.tflite.reader import DEFAULT_SIGNATURE
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UnsupportedModelError, UsageError

#: The largest number of features of a linear model or a perceptron.
MAX_INPUTS = 2048

_RELU = 1
_FULLY_CONNECTED = {
    "fused_activation_function": 0,
    "weights_format": 0,
    "keep_num_dims": False,
    "asymmetric_quantize_inputs": False,
    "quantized_bias_type": 0,
}
#: The options table and the options of activations that have some.
_ACTIVATION_OPTIONS: dict[str, tuple[str, dict[str, float]]] = {
    "SOFTMAX": ("SoftmaxOptions", {"beta": 1.0}),
    "L2_NORMALIZATION": ("L2NormOptions", {"fused_activation_function": 0}),
}


def import_classical(source: str, options: ImportOptions) -> ImportedModel:
    """Return the model in the ONNX file ``source``.

    A tree ensemble becomes the custom operator of ``graph.trees``, with features of the type ``options.features``, and
    is not quantized further. A linear model or a perceptron becomes a float32 model of fully connected layers; a scaler
    before it becomes part of the first layer. Raises ``UnsupportedModelError``, ``ModelError`` and ``UsageError``.
    """
    reading = _read(Path(source), options)
    results = {name: reading.values[name] for name in reading.graph.outputs if name in reading.values}
    scores = {name: value for name, value in results.items() if not isinstance(value, Label)}
    if not scores:
        raise UnsupportedModelError(
            f"{source} gives no scores that Arenite can compute; its outputs are {', '.join(reading.graph.outputs)}.",
            HINT,
        )
    name, value = next(iter(scores.items()))
    input_name = reading.graph.inputs[0].name
    if isinstance(value, Trees):
        model, notes = _tree_model(value, input_name, name, options.features)
    else:
        if options.features != "float32":
            raise UsageError(
                f"--features {options.features} is for trees; {source} has fully connected layers.",
                "Leave out --features. The recipe of the quantization determines the type of the input.",
            )
        assert isinstance(value, (Linear, Activated))
        model, notes = _dense_model(value, input_name, name), []
    labels = reading.labels
    if (
        labels == tuple(map(str, range(len(labels))))
        or len(labels) != model.main.tensors[model.main.outputs[0]].shape[-1]
    ):
        labels = ()
    if len(scores) > 1:
        others = ", ".join(f"'{other}'" for other in scores if other != name)
        notes.append(f"The image has the output '{name}'. It leaves out {others}.")
    if labels:
        notes.append(f"Output k belongs to the class {', '.join(labels)[:200]}, in this order.")
    return ImportedModel(
        source_kinds.ONNX,
        to_flatbuffer(model),
        source_sha256(source, source_kinds.ONNX),
        None,
        {},
        (*reading.notes, *notes),
        labels,
        is_classifier=len(scores) < len(results) and model.main.tensors[model.main.outputs[0]].shape[-1] > 1,
    )


def _read(path: Path, options: ImportOptions) -> Reading:
    """Return the values of the file's graph."""
    graph = read_onnx_graph(path)
    if len(graph.inputs) != 1:
        raise UnsupportedModelError(
            f"{path} has {len(graph.inputs)} inputs; a classical model has one, a row of features.",
            "Export the model with one input: to_onnx(model, X[:1].astype(numpy.float32)).",
        )
    (source,) = graph.inputs
    stated = options.shape.get(source.name) or options.shape.get("")
    shape = source.shape if stated is None else stated
    size = shape[-1] if len(shape) == 2 else None
    if size is None or not 0 < size <= MAX_INPUTS:
        raise UnsupportedModelError(
            f"The input '{source.name}' of {path} has the shape {list(shape)}, expected [batch, features] with up to "
            f"{MAX_INPUTS:,} features.",
            "Export the model with a fixed number of features: to_onnx(model, X[:1].astype(numpy.float32)).",
        )
    reading = Reading(graph, {source.name: Linear.identity(size)})
    reading.constants.update({name: value for name, value in graph.constants.items() if value is not None})
    for node in graph.nodes:
        evaluate(reading, node)
    return reading


def _tree_model(trees: Trees, input_name: str, output_name: str, features: str) -> tuple[Model, list[str]]:
    """Return the model with the custom operator for ``trees``, and notes on it."""
    if features not in FEATURE_TYPES:
        raise UsageError(
            f"--features does not take '{features}'.", f"Give one of {', '.join(FEATURE_TYPES)}."
        )
    if trees.features > MAX_FEATURES:
        raise UnsupportedModelError(
            f"The trees have {trees.features} features; the limit is {MAX_FEATURES}.",
            "Train with fewer features: leave out those with the smallest feature_importances_.",
        )
    nodes = trees.nodes
    if int(nodes.feature.max(initial=0)) >= trees.features:
        raise UnsupportedModelError(
            f"A node compares feature {int(nodes.feature.max())}; the input has {trees.features} features.",
            "Export the model again.",
        )
    threshold, swaps = thresholds_before(trees.steps, nodes.feature, nodes.threshold)
    fixed = to_fixed_point(trees.values, trees.bias, len(nodes.roots))
    tables = tables_of(swapped(nodes, threshold, swaps), fixed, trees.features, features)
    quant = None if features == "float32" else Quantization((1.0,), (0,))
    names = ("feature", "threshold", "left", "right", "roots", "leaves", "bias", "targets")
    tensors = [Tensor(0, input_name, (1, trees.features), features, quant)]
    for k, (name, table) in enumerate(zip(names, tables.tables(), strict=False), 1):
        tensors.append(Tensor(k, f"trees/{name}", table.shape, table.dtype.name, data=table))
    out = len(tensors)
    tensors.append(Tensor(out, output_name, (1, tables.outputs), "int32", Quantization((fixed.step,), (0,))))
    op = Op(0, "CUSTOM", tuple(range(out)), (out,), custom_code=OPERATOR)
    model = _model(tensors, [op], 0, out, input_name, output_name)
    ensemble_of(model.main, op)  # checks the tables once more, as every reader does
    count = len(tables.feature)
    notes = [
        f"{len(tables.roots):,} tree{'s' * (len(tables.roots) != 1)} with {count:,} node{'s' * (count != 1)} and a "
        f"depth of up to {tables.depth()}."
    ]
    if fixed.exact:
        notes.append("Every leaf is a multiple of one step, so the sums are exact.")
    else:
        notes.append(
            f"Leaves are fixed-point numbers with a step of {fixed.step:.3g}; an output differs from the exact sum by "
            f"at most {fixed.largest_error:.3g}."
        )
    if features != "float32":
        notes.append(f"The features are whole numbers of the type {features}, as the model was trained with.")
    return model, notes


def _dense_model(value: Linear | Activated, input_name: str, output_name: str) -> Model:
    """Return the float32 model of fully connected layers and activations."""
    stages: list[Linear | str] = []
    current: Linear | Activated | None = value
    while current is not None:
        if isinstance(current, Activated):
            stages.append(current.kind)
            current = current.linear
        stages.append(current)
        current = current.layer
    stages.reverse()
    first = stages[0]
    assert isinstance(first, Linear)
    tensors = [Tensor(0, input_name, (1, first.weights.shape[1]), "float32")]
    ops: list[Op] = []
    last = 0

    def add(name: str, shape: tuple[int, ...], data: np.ndarray | None = None) -> int:
        tensors.append(Tensor(len(tensors), name, shape, "float32", data=data))
        return len(tensors) - 1

    layer = 0
    for position, stage in enumerate(stages):
        if isinstance(stage, str):
            if stage == "RELU":  # is fused into the layer before
                continue
            out = add(f"{stage.lower()}_{layer}", tensors[last].shape)
            options_type, settings = _ACTIVATION_OPTIONS.get(stage, ("", {}))
            ops.append(Op(len(ops), stage, (last,), (out,), settings, options_type))
            last = out
            continue
        size = stage.weights.shape
        is_identity = (
            size[0] == size[1] and not stage.bias.any() and np.array_equal(stage.weights, np.eye(size[0]))
        )
        following = stages[position + 1] if position + 1 < len(stages) else None
        if is_identity and following != "RELU" and len(stages) > 1:
            continue
        layer += 1
        weights = add(f"dense_{layer}/weights", size, stage.weights.astype(np.float32))
        bias = add(f"dense_{layer}/bias", size[:1], stage.bias.astype(np.float32))
        out = add(f"dense_{layer}", (1, size[0]))
        options = _FULLY_CONNECTED | {"fused_activation_function": _RELU if following == "RELU" else 0}
        ops.append(
            Op(len(ops), "FULLY_CONNECTED", (last, weights, bias), (out,), options, "FullyConnectedOptions")
        )
        last = out
    tensors[last] = replace(tensors[last], name=output_name)
    return _model(tensors, ops, 0, last, input_name, output_name)


def _model(
    tensors: list[Tensor], ops: list[Op], source: int, out: int, input_name: str, output_name: str
) -> Model:
    graph = Subgraph("main", tuple(tensors), tuple(ops), (source,), (out,))
    signature = Signature(DEFAULT_SIGNATURE, 0, ((input_name, source),), ((output_name, out),))
    return Model((graph,), signatures=(signature,))
