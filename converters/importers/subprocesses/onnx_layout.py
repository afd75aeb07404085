"""Find out whether an image input of an ONNX model is NCHW or NHWC, from the operators that read it."""

from typing import Any

from onnx import helper, numpy_helper

#: Operators that keep the meaning of each dimension. The search goes on with the operators that read their outputs.
_ELEMENTWISE = frozenset(
    {"Identity", "Cast", "Add", "Sub", "Mul", "Div", "Neg", "Clip", "Relu", "Sqrt", "Pow", "Max", "Min", "Sigmoid",
     "Tanh", "Pad", "Concat", "Dropout"}
)  # fmt: skip

#: Operators whose input is NCHW by definition.
_CHANNELS_FIRST = frozenset(
    {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool",
     "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN", "DepthToSpace", "SpaceToDepth",
     "GridSample", "MaxRoiPool", "RoiAlign"}
)  # fmt: skip


def image_layout(graph: Any, name: str, shape: Any) -> str:
    """Return the layout of the input ``name`` with the shape ``shape`` of 4 dimensions: "NHWC" or "NCHW", or "" if the
    operators that read it show neither.

    An input that a Transpose converts to NCHW is NHWC. So is an input with a single channel that a Reshape moves to the
    front, as tf2onnx does. An input of operators on images, such as Conv, is NCHW, because ONNX has no other layout for
    them.
    """
    constants = {i.name: i for i in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    level, seen = [name], {name}
    while level:
        behind = []
        for node in graph.node:
            if not any(i in level for i in node.input):
                continue
            layout = _layout_at(node, shape, constants)
            if layout:
                return layout
            if node.op_type in _ELEMENTWISE:
                behind += [o for o in node.output if o not in seen]
        seen.update(behind)
        level = behind
    return ""


def _layout_at(node: Any, shape: Any, constants: Any) -> str:
    """Return the layout that the input of ``node`` must have, or "" if the operator does not show it."""
    if node.op_type in _CHANNELS_FIRST:
        return "NCHW"
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "Transpose":
        order = list(attributes.get("perm", ()))
        return {(0, 3, 1, 2): "NHWC", (0, 2, 3, 1): "NCHW"}.get(tuple(order), "")
    if node.op_type == "Reshape" and node.input[1] in constants:
        target = [int(d) for d in numpy_helper.to_array(constants[node.input[1]]).ravel()]
        batch, height, width, channels = shape
        if channels == 1 and target[1:] == [1, height, width] and height != 1 and target[0] in (-1, 0, batch):
            return "NHWC"
    return ""
