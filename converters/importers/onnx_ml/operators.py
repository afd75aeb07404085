"""Evaluate the ONNX operators of classical models symbolically (``symbolic_values``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from arenite.converters.importers.onnx_ml.onnx_graph import ML_DOMAIN, OnnxGraph, OnnxNode, texts_of
from arenite.converters.importers.onnx_ml.symbolic_values import Activated, Label, Linear, Trees, Value
from arenite.converters.importers.onnx_ml.tree_nodes import read_tree_nodes
from arenite.errors import UnsupportedModelError

HINT = (
    "Supported are trees, forests, gradient boosting, linear models and perceptrons, after scalers. Compute other "
    "steps before the model, in your own program."
)
#: The activation (None for no activation) for each value of the attribute ``post_transform``.
_POST_TRANSFORMS = {"NONE": None, "SOFTMAX": "SOFTMAX", "SOFTMAX_ZERO": "SOFTMAX", "LOGISTIC": "LOGISTIC"}

#: Operators that change no value here: a label stays a label, and the shape [1, n] stays.
_UNCHANGED = frozenset(
    {"Cast", "Identity", "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "ZipMap"}
)


@dataclass
class Reading:
    """What is known while the operators of ``graph`` are evaluated one after the other.

    ``values`` has the symbolic values of the tensors that depend on the model's input, and ``constants`` the other
    tensors, both by name. ``labels`` has the names of the classes, and ``notes`` sentences for the user.
    """

    graph: OnnxGraph
    values: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    def value(self, node: OnnxNode, position: int = 0) -> Value:
        """Return the computed value at an input. Raises ``UnsupportedModelError`` if it is a constant or missing."""
        name = node.inputs[position] if position < len(node.inputs) else ""
        if name not in self.values:
            raise refuse(node, f"its input {position} '{name}' does not depend on the model's input")
        return self.values[name]

    def constant(self, node: OnnxNode, position: int) -> np.ndarray | None:
        """Return the constant at an input; None if the input is absent or computed."""
        return self.constants.get(node.inputs[position]) if position < len(node.inputs) else None

    def linear(self, node: OnnxNode, position: int = 0) -> Linear:
        """Return the linear function at an input. The output of a layer is a linear function of itself."""
        value = self.value(node, position)
        if isinstance(value, Activated):
            return Linear.identity(value.size, value)
        if not isinstance(value, Linear):
            raise refuse(node, "it does not follow a linear layer or an activation")
        return value


def refuse(node: OnnxNode, problem: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"{node}: {problem}.", HINT)


def evaluate(reading: Reading, node: OnnxNode) -> None:
    """Add the outputs of ``node`` to ``reading``. Raises ``UnsupportedModelError``, or ``ModelError`` for damaged
    attributes."""
    if node.domain not in ("", ML_DOMAIN):
        raise refuse(node, f"operators of the domain '{node.domain}' are not supported")
    if node.kind == "Constant":
        value = node.attributes.get("value")
        if isinstance(value, np.ndarray):
            reading.constants[node.outputs[0]] = value
        return
    computed = [reading.values[name] for name in node.inputs if name in reading.values]
    if not computed:  # a calculation with constants; the operator that needs it reports that it is missing
        return
    if any(isinstance(value, Label) for value in computed):
        _read_labels(reading, node)
        reading.values |= {name: Label() for name in node.outputs}
        return
    handler = _OPERATORS.get(node.kind)
    if node.kind in _UNCHANGED:
        if node.kind == "ZipMap":
            _read_labels(reading, node)
        results: Sequence[Value] = [reading.value(node)]
    elif handler is None:
        raise refuse(node, "this operator is not supported here")
    else:
        results = handler(reading, node)
    reading.values |= dict(zip(node.outputs, results, strict=False))


def _read_labels(reading: Reading, node: OnnxNode) -> None:
    for name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
        if labels := tuple(texts_of(node.attributes.get(name))):
            reading.labels = labels
    if node.kind == "ArrayFeatureExtractor" and not reading.labels:
        classes = reading.constant(node, 0)
        reading.labels = () if classes is None else tuple(str(int(v)) for v in classes.reshape(-1))


def _row(node: OnnxNode, array: np.ndarray | None, size: int) -> np.ndarray:
    """Return the constant ``array`` as float64. It must have one value, or one for each of ``size`` features."""
    if array is None or array.dtype.kind not in "fiu" or array.size not in (1, size):
        raise refuse(node, f"it needs a constant with one value, or one for each of {size} features")
    return array.astype(np.float64).reshape(-1)


def _scaler(reading: Reading, node: OnnxNode) -> list[Value]:
    x = reading.linear(node)
    size = len(x.bias)
    parts = [node.attributes.get(name) for name in ("offset", "scale")]
    offset, scale = (_row(node, part if isinstance(part, np.ndarray) else None, size) for part in parts)
    return [x.elementwise(-offset, scale, np.zeros(1))]


def _arithmetic(reading: Reading, node: OnnxNode) -> list[Value]:
    """Evaluate Add, Sub, Mul and Div of a value and a constant, and ``1 - probability``."""
    first = 0 if node.inputs[0] in reading.values else 1
    if all(name in reading.values for name in node.inputs[:2]):
        raise refuse(node, "it combines two computed values")
    value, constant = reading.value(node, first), reading.constant(node, 1 - first)
    is_complement = node.kind == "Sub" and first == 1 and constant is not None and (constant == 1).all()
    # 1 - logistic(z) = logistic(-z).
    if is_complement and isinstance(value, Activated) and value.kind == "LOGISTIC":
        return [Activated("LOGISTIC", value.linear.elementwise(np.zeros(1), -np.ones(1), np.zeros(1)))]
    x = reading.linear(node, first)
    c, zero, one = _row(node, constant, len(x.bias)), np.zeros(1), np.ones(1)
    if node.kind == "Add":
        return [x.elementwise(c, one, zero)]
    if node.kind == "Sub":
        return [x.elementwise(-c, one, zero) if first == 0 else x.elementwise(zero, -one, c)]
    if node.kind == "Mul":
        return [x.elementwise(zero, c, zero)]
    if first == 1 or (c == 0).any():
        raise refuse(node, "it divides by a computed value or by 0")
    return [x.elementwise(zero, c, zero, divide=True)]


def _matrix(node: OnnxNode, array: np.ndarray | None, inputs: int) -> np.ndarray:
    """Return the constant ``array`` as float64. It must be a matrix with ``inputs`` rows."""
    if array is None or array.dtype.kind != "f" or array.ndim != 2 or array.shape[0] != inputs:
        raise refuse(node, f"it needs a constant matrix with {inputs} rows")
    return array.astype(np.float64)


def _matmul(reading: Reading, node: OnnxNode) -> list[Value]:
    x = reading.linear(node)
    matrix = _matrix(node, reading.constant(node, 1), len(x.bias))
    return [x.through(matrix.T, np.zeros(matrix.shape[1]))]


def _gemm(reading: Reading, node: OnnxNode) -> list[Value]:
    x, matrix = reading.linear(node), reading.constant(node, 1)
    if node.attributes.get("transA"):
        raise refuse(node, "it transposes its input")
    if matrix is not None and node.attributes.get("transB"):
        matrix = matrix.T
    weights = _matrix(node, matrix, len(x.bias)).T * _number(node, "alpha", 1.0)
    has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
    bias = _row(node, reading.constant(node, 2), len(weights)) if has_bias else np.zeros(1)
    return [x.through(weights, np.broadcast_to(bias * _number(node, "beta", 1.0), (len(weights),)))]


def _number(node: OnnxNode, name: str, default: float) -> float:
    value = node.attributes.get(name, default)
    return float(value) if isinstance(value, (int, float)) else default


def _linear_model(reading: Reading, node: OnnxNode) -> list[Value]:
    """Evaluate LinearRegressor and LinearClassifier."""
    x = reading.linear(node)
    size = len(x.bias)
    coefficients, intercepts = node.attributes.get("coefficients"), node.attributes.get("intercepts")
    if not isinstance(coefficients, np.ndarray) or coefficients.size % size or not coefficients.size:
        raise refuse(node, f"its coefficients do not fit {size} features")
    weights = coefficients.astype(np.float64).reshape(-1, size)
    bias = np.zeros(1) if intercepts is None else np.asarray(intercepts, np.float64).reshape(-1)
    if bias.size not in (1, len(weights)):
        raise refuse(node, "its intercepts do not fit its coefficients")
    z = x.through(weights, np.broadcast_to(bias, (len(weights),)))
    post = str(node.attributes.get("post_transform", "NONE"))
    if node.kind == "LinearRegressor":
        if post != "NONE":
            raise refuse(node, f"it has the transformation {post}")
        return [z]
    _read_labels(reading, node)
    if len(reading.labels) == 2 and len(weights) == 1:
        z = z.through(np.array([[-1.0], [1.0]]), np.zeros(2))
    if post not in _POST_TRANSFORMS:
        raise refuse(node, f"it has the transformation {post}")
    kind = _POST_TRANSFORMS[post]
    return [Label(), z if kind is None else Activated(kind, z)]


def _activation(kind: str) -> Callable[[Reading, OnnxNode], list[Value]]:
    def apply(reading: Reading, node: OnnxNode) -> list[Value]:
        if kind == "SOFTMAX" and node.attributes.get("axis", -1) not in (-1, 1):
            raise refuse(node, "its axis is not the last one")
        return [Activated(kind, reading.linear(node))]

    return apply


def _normalizer(reading: Reading, node: OnnxNode) -> list[Value]:
    value, norm = reading.value(node), node.attributes.get("norm", "MAX")
    if isinstance(value, Activated) and norm == "L1" and value.kind in ("SOFTMAX", "LOGISTIC"):
        if value.kind == "LOGISTIC" and value.size > 2:
            reading.notes.append(
                "The outputs are the probability of each class against all others; they do not sum to 1. The class "
                "with the largest probability is the same as in the source."
            )
        return [value]
    if norm != "L2":
        divisor = "sum of its absolute values" if norm == "L1" else "largest of its absolute values"
        raise UnsupportedModelError(
            f"{node}: the norm {norm} is not supported before a model; L2 is.",
            f"Divide each row by the {divisor} in your program, and export the model without the Normalizer: "
            "to_onnx(pipeline[-1], ...).",
        )
    return [Activated("L2_NORMALIZATION", reading.linear(node))]


def _concat(reading: Reading, node: OnnxNode) -> list[Value]:
    """Evaluate the concatenation of the probabilities of two classes."""
    parts = [reading.value(node, k) for k in range(len(node.inputs))]
    activations = [p for p in parts if isinstance(p, Activated)]
    if len(activations) != len(parts) or {p.kind for p in activations} != {"LOGISTIC"}:
        raise refuse(node, "it joins values that are not probabilities of one layer")
    first = activations[0].linear
    if any(p.linear.layer is not first.layer for p in activations):
        raise refuse(node, "it joins values of different layers")
    weights = np.concatenate([p.linear.weights for p in activations])
    bias = np.concatenate([p.linear.bias for p in activations])
    return [Activated("LOGISTIC", Linear(first.layer, weights, bias))]


def _columns(reading: Reading, node: OnnxNode) -> list[Value]:
    """Evaluate ArrayFeatureExtractor of scores, which selects some of their columns."""
    indices = reading.constant(node, 1)
    value = reading.value(node)
    size = len(value.bias) if isinstance(value, Linear) else value.size if isinstance(value, Activated) else 0
    if indices is None or not indices.size or indices.min() < 0 or indices.max() >= size:
        raise refuse(node, f"it selects columns that its input, with {size} columns, does not have")
    chosen = indices.reshape(-1).astype(np.int64)
    if isinstance(value, Activated) and value.kind == "LOGISTIC":
        return [Activated("LOGISTIC", value.linear.rows(chosen))]
    return [reading.linear(node).rows(chosen)]


def _trees(reading: Reading, node: OnnxNode) -> list[Value]:
    """Evaluate TreeEnsembleClassifier and TreeEnsembleRegressor."""
    x = reading.value(node)
    if not isinstance(x, Linear) or x.steps is None:
        raise refuse(node, "trees must follow the model's input or scalers of single features")
    post = str(node.attributes.get("post_transform", "NONE"))
    if post not in _POST_TRANSFORMS:
        raise refuse(node, f"it has the transformation {post}")
    is_classifier = node.kind == "TreeEnsembleClassifier"
    if is_classifier:
        _read_labels(reading, node)
        columns = len(reading.labels)
        if columns < 2:
            raise refuse(node, "it has fewer than two classes")
    else:
        targets = node.attributes.get("n_targets", 1)
        columns = targets if isinstance(targets, int) and 0 < targets < 1 << 16 else 0
        if not columns or post != "NONE":
            raise refuse(node, f"it has {targets} targets and the transformation {post}")
    nodes = read_tree_nodes(node, "class" if is_classifier else "target", columns)
    values, trees = nodes.weights, len(nodes.roots)
    how = node.attributes.get("aggregate_function", "SUM")
    if how == "AVERAGE":
        values = values / trees
    elif how != "SUM":
        raise refuse(node, f"it combines trees with {how}; SUM and AVERAGE are supported")
    base = next(
        (b for b in map(node.attributes.get, ("base_values", "base_values_as_tensor")) if b is not None), None
    )
    start = np.zeros(1) if base is None else np.asarray(base, np.float64).reshape(-1)
    if is_classifier and columns == 2 and not (values[:, 0].any() and values[:, 1].any()):
        values, bias = _binary(node, values.sum(axis=1), start, trees, post)
    elif start.size not in (1, columns) or not np.isfinite(start).all():
        raise refuse(node, f"it has {start.size} base values for {columns} outputs")
    else:
        bias = np.broadcast_to(start, (columns,)).copy()
    result = Trees(nodes, values, bias, x.steps, len(x.bias))
    return [Label(), result] if is_classifier else [result]


def _binary(
    node: OnnxNode, values: np.ndarray, start: np.ndarray, trees: int, post: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return (values, bias) for two classes if each leaf has one value. ``start`` has the base values.

    If all values are positive, they are the probability p of class 1, and the outputs are 1 - p and p. Otherwise they
    are the logarithm of the odds z, and the outputs are 0 and z. This is ONNX's rule.
    """
    if start.size not in (1, 2) or not np.isfinite(start).all():
        raise refuse(node, f"it has {start.size} base values for 2 outputs")
    base = float(start[-1])
    if post == "NONE" and (values >= 0).all():
        others = 1 / trees - values
        # ONNX stores the values as float32. Without their rounding error, the leaves of fully grown trees are votes:
        # 0 or 1 / trees.
        others = np.where(np.abs(others) < 1e-6 / trees, 0.0, others)
        return np.stack([others, values], axis=1), np.array([-base, base])
    return np.stack([np.zeros(len(values)), values], axis=1), np.array([0.0, base])


def _gather(reading: Reading, node: OnnxNode) -> list[Value]:
    raise UnsupportedModelError(
        f"{node}: it selects features by their index, as in the files that skl2onnx writes of an IsolationForest.",
        "Write an IsolationForest with arenite.export_sklearn(model, 'model.onnx'). Select the features of another "
        "model in your program.",
    )


def _argmax(reading: Reading, node: OnnxNode) -> list[Value]:
    return [Label()]


_OPERATORS: dict[str, Callable[[Reading, OnnxNode], list[Value]]] = {
    "Scaler": _scaler,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _arithmetic),
    "MatMul": _matmul,
    "Gemm": _gemm,
    "LinearRegressor": _linear_model,
    "LinearClassifier": _linear_model,
    "Relu": _activation("RELU"),
    "Tanh": _activation("TANH"),
    "Sigmoid": _activation("LOGISTIC"),
    "Softmax": _activation("SOFTMAX"),
    "Normalizer": _normalizer,
    "Concat": _concat,
    "ArrayFeatureExtractor": _columns,
    "Gather": _gather,
    "TreeEnsembleClassifier": _trees,
    "TreeEnsembleRegressor": _trees,
    "ArgMax": _argmax,
}
