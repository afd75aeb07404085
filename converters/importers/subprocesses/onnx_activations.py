"""Replace activations of an ONNX model that TFLite lacks: GELU made of Erf or Tanh, other uses of Erf, and Softsign.

ONNX has GELU only since version 20 of its operators (opset 20), so exporters write it as 5 to 8 operators. One of them,
Erf, does not exist in TFLite. A group of operators is recognized by the values that it computes, not by the order of
its operators, because exporters differ in where they divide and multiply.
"""

import math
from typing import Any

import numpy as np
from onnx import helper, numpy_helper, version_converter

#: Operators that compute each element on its own, and functions that compute the same.
_ELEMENTWISE = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Neg": np.negative,
    "Identity": np.positive,
    "Tanh": np.tanh,
    "Erf": np.vectorize(math.erf, otypes=[np.float64]),
}

#: The beginning of the names of new operators and tensors.
_PREFIX = "arenite/"

#: The maximum number of operators between the input of a GELU and its Erf or Tanh, and from there to its output.
_MAX_STEPS = 6

#: The inputs at which groups of operators are compared with GELU, and the two forms of GELU at these inputs: ``_EXACT``
#: with Erf, ``_APPROXIMATE`` with Tanh.
_POINTS = np.linspace(-6.0, 6.0, 121)
_EXACT = np.array([0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in _POINTS])
_APPROXIMATE = 0.5 * _POINTS * (1 + np.tanh(math.sqrt(2 / math.pi) * (_POINTS + 0.044715 * _POINTS**3)))

#: A group of operators is a GELU if it differs from GELU by less than this at every point. It can differ because its
#: constants are float32, or rounded to 6 digits by some exporters. The two forms of GELU differ by up to 4.7e-4.
_TOLERANCE = 1e-5


def replace_activations(model: Any) -> Any:
    """Return (model, notes): each Softsign becomes x / (1 + |x|), and each GELU gets a form that becomes TFLite's GELU.

    A GELU with Erf is written in the order of operators that TensorFlow Lite recognizes. A GELU with Tanh becomes
    ONNX's operator Gelu, for which the model is converted to version 20 of ONNX's operators. If that conversion
    fails, the GELU stays as it is, because TFLite has all its operators. An Erf outside of a GELU is approximated,
    and a note says so.
    """
    notes = []
    for position in reversed(range(len(model.graph.node))):
        node = model.graph.node[position]
        if node.op_type == "Softsign":
            _Graph(model.graph).replace(position, node.output[0], _softsign(model.graph, node))
    graph = _Graph(model.graph)
    exact = graph.matches("Erf", _EXACT)
    for position, source, output in reversed(exact):
        graph.replace(position, output, _gelu(model.graph, source, output))
    _drop_unused(model.graph)
    for position in reversed(range(len(model.graph.node))):
        node = model.graph.node[position]
        if node.op_type == "Erf" and not node.name.startswith(_PREFIX):
            _Graph(model.graph).replace(position, node.output[0], _erf(model.graph, node))
            notes.append(f"Layer '{node.name or node.output[0]}' (Erf) is approximated to within 0.0003.")
    approximate = _Graph(model.graph).matches("Tanh", _APPROXIMATE)
    if not approximate:
        return model, notes
    try:
        newer = version_converter.convert_version(model, max(20, _version(model)))
    except Exception:  # an operator of this model has no rule for the newer version
        return model, notes
    graph = _Graph(newer.graph)
    for position, source, output in reversed(graph.matches("Tanh", _APPROXIMATE)):
        gelu = helper.make_node("Gelu", [source], [output], approximate="tanh")
        graph.replace(position, output, [gelu])
    _drop_unused(newer.graph)
    return newer, notes


class _Graph:
    """An ONNX graph. ``scalars`` has its float constants of one element by name, ``producers`` the position of the
    operator that computes a tensor, and ``readers`` the positions of the operators that read a tensor."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.scalars: dict[str, Any] = {}
        for initializer in graph.initializer:
            if math.prod(initializer.dims) == 1 and len(initializer.dims) <= 1:
                self._add_scalar(initializer.name, numpy_helper.to_array(initializer))
        self.producers: dict[str, int] = {}
        self.readers: dict[str, list[int]] = {}
        for position, node in enumerate(graph.node):
            for name in node.output:
                self.producers[name] = position
            for name in node.input:
                self.readers.setdefault(name, []).append(position)
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self._add_scalar(node.output[0], numpy_helper.to_array(node.attribute[0].t))

    def _add_scalar(self, name: str, array: Any) -> None:
        if array.size == 1 and array.ndim <= 1 and array.dtype.kind == "f":
            self.scalars[name] = np.float64(array.ravel()[0])

    def matches(self, op_type: str, expected: Any) -> Any:
        """Return (position of the last operator, input, output) of each group of operators that contains an operator of
        type ``op_type`` and computes ``expected`` from the inputs ``_POINTS``."""
        found = []
        for node in self.graph.node:
            if node.op_type == op_type:
                match = self._match(node, expected)
                if match is not None:
                    found.append(match)
        return sorted(set(found))

    def _match(self, node: Any, expected: Any) -> Any:
        for output in self._descendants(node.output[0]):
            for source in self._ancestors(node.input[0]):
                # 3 * _MAX_STEPS is more than the number of operators between any ``source`` and ``output``.
                value = self._value(output, {source: _POINTS}, 3 * _MAX_STEPS)
                if value is not None and np.abs(value - expected).max() < _TOLERANCE:
                    return self.producers[output], source, output
        return None

    def _descendants(self, name: str) -> Any:
        """Return the outputs of the element-wise operators that read ``name`` directly or through other element-wise
        operators, within ``_MAX_STEPS`` steps, the nearest first."""
        names, level = [], [name]
        for _ in range(_MAX_STEPS):
            nodes = [self.graph.node[p] for n in level for p in self.readers.get(n, ())]
            level = [n.output[0] for n in nodes if n.op_type in _ELEMENTWISE]
            names += level
        return names

    def _ancestors(self, name: str) -> Any:
        """Return ``name`` and the tensors from which element-wise operators compute it, within ``_MAX_STEPS`` steps,
        the nearest first."""
        names, level = [name], [name]
        for _ in range(_MAX_STEPS):
            nodes = [self.graph.node[self.producers[n]] for n in level if n in self.producers]
            level = [i for n in nodes if n.op_type in _ELEMENTWISE for i in n.input if i not in self.scalars]
            level = [i for i in dict.fromkeys(level) if i not in names]
            names += level
        return names

    def _value(self, name: str, known: dict[str, Any], depth: int) -> Any:
        """Return the value of the tensor ``name``, computed by at most ``depth`` operators in a row from the values in
        ``known`` ({tensor: value}). Return None if it depends on another tensor."""
        if name in known:
            return known[name]
        if name in self.scalars:
            return self.scalars[name]
        node = self.graph.node[self.producers[name]] if name in self.producers else None
        if node is None or node.op_type not in _ELEMENTWISE or depth == 0:
            return None
        values = [self._value(i, known, depth - 1) for i in node.input]
        if any(v is None for v in values):
            return None
        with np.errstate(all="ignore"):
            known[name] = _ELEMENTWISE[node.op_type](*values)  # type: ignore[operator]
        return known[name]

    def replace(self, position: int, output: str, nodes: Any) -> None:
        """Replace the operator at ``position``, which computes ``output``, by ``nodes``. Positions of earlier operators
        do not change."""
        assert self.graph.node[position].output[0] == output
        kept = list(self.graph.node)
        new = [*kept[:position], *nodes, *kept[position + 1 :]]
        del self.graph.node[:]
        self.graph.node.extend(new)


def _gelu(graph: Any, source: str, output: str) -> Any:
    """Return the operators of a GELU with Erf in the order of ``tf.nn.gelu``, and add their constants to the graph."""
    half, root, one = _constants(graph, output, 0.5, math.sqrt(0.5), 1.0)
    scaled, erf, shifted, halved = (f"{_PREFIX}{output}/{n}" for n in ("scaled", "erf", "shifted", "halved"))
    return [
        helper.make_node("Mul", [source, half], [halved], name=halved),
        helper.make_node("Mul", [source, root], [scaled], name=scaled),
        helper.make_node("Erf", [scaled], [erf], name=erf),
        helper.make_node("Add", [one, erf], [shifted], name=shifted),
        helper.make_node("Mul", [halved, shifted], [output], name=f"{_PREFIX}{output}/gelu"),
    ]


def _softsign(graph: Any, node: Any) -> Any:
    (one,) = _constants(graph, node.output[0], 1.0)
    size, divisor = (f"{_PREFIX}{node.output[0]}/{n}" for n in ("size", "divisor"))
    return [
        helper.make_node("Abs", [node.input[0]], [size], name=size),
        helper.make_node("Add", [size, one], [divisor], name=divisor),
        helper.make_node("Div", [node.input[0], divisor], list(node.output), name=node.name),
    ]


def _erf(graph: Any, node: Any) -> Any:
    """Return operators for tanh(1.12968 x + 0.0997927 x^3) with x limited to [-3, 3], which is within 2.9e-4 of erf(x).

    A formula with divisions and exponentials would be more exact in float32, but less exact in int8, where a step is
    8e-3.
    """
    low, high, linear, cubic = _constants(graph, node.output[0], -3.0, 3.0, 1.129675827, 0.09979270935)
    below, x, square, product, factor, inner = (
        f"{_PREFIX}{node.output[0]}/{n}" for n in ("below", "x", "square", "product", "factor", "inner")
    )
    return [
        helper.make_node("Min", [node.input[0], high], [below], name=below),
        helper.make_node("Max", [below, low], [x], name=x),
        helper.make_node("Mul", [x, x], [square], name=square),
        helper.make_node("Mul", [square, cubic], [product], name=product),
        helper.make_node("Add", [product, linear], [factor], name=factor),
        helper.make_node("Mul", [x, factor], [inner], name=inner),
        helper.make_node("Tanh", [inner], list(node.output), name=node.name),
    ]


def _constants(graph: Any, output: str, *values: float) -> list[str]:
    """Add scalars to the graph for the operators that compute ``output``, and return their names."""
    names = [f"{_PREFIX}{output}/constant_{k}" for k in range(len(values))]
    for name, value in zip(names, values, strict=True):
        graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
    return names


def _drop_unused(graph: Any) -> None:
    """Remove operators whose outputs are neither read nor outputs of the graph."""
    while True:
        read = _read(graph) | {o.name for o in graph.output}
        unused = [n for n in graph.node if not any(o in read for o in n.output)]
        if not unused:
            return
        for node in unused:
            graph.node.remove(node)


def _read(graph: Any) -> Any:
    """Return the names of the tensors that operators read, including operators in subgraphs of If, Loop and Scan."""
    names = {i for n in graph.node for i in n.input}
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                names |= _read(inner) | {o.name for o in inner.output}
    return names


def _version(model: Any) -> Any:
    """Return the version of ONNX's own operators that the model uses."""
    return max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
