"""Rewrite transposed convolutions with padding for litert-torch, which only converts transposed convolutions without
padding."""

import operator
from typing import Any

import torch

_CONVOLUTION = torch.ops.aten.conv_transpose2d.input


def remove_padding(module: Any, arguments: Any) -> Any:
    """Return ``module``, exported with the example inputs ``arguments``, with transposed convolutions without padding.

    PyTorch's ``padding`` removes a border of the output, and ``output_padding`` removes less of it at the end. So the
    convolution is computed without both, and a slice of its output is taken. Rows and columns that ``output_padding``
    adds after the end of the unpadded output hold only the bias.
    """
    graph_module: Any = torch.export.export(module, arguments).module()
    graph = graph_module.graph
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is _CONVOLUTION:
            _rewrite(graph, node)
    graph.lint()
    graph_module.recompile()
    # The mode (train or eval) of an exported program is fixed: setting it raises an error.
    graph_module.train = graph_module.eval = lambda *_: graph_module
    return graph_module


def _rewrite(graph: Any, node: Any) -> None:
    """Replace the transposed convolution ``node`` by one without padding and a slice of its output.

    ``full`` is the output size without padding. ``missing`` is the number of rows and columns that ``output_padding``
    adds after the end of that output. If there are any, the bias is added last, so that they hold it too.
    """
    arguments = dict(enumerate(node.args))
    x, weight, bias = arguments[0], arguments[1], arguments.get(2)
    stride, padding, extra, dilation = (
        _pair(arguments.get(k, default)) for k, default in ((3, 1), (4, 0), (5, 0), (7, 1))
    )
    groups = arguments.get(6, 1)
    if not any((*padding, *extra)):
        return
    sizes = [int(d) for d in node.meta["val"].shape[2:]]
    kernel = [int(d) for d in weight.meta["val"].shape[2:]]
    full = [
        (int(d) - 1) * s + step * (k - 1) + 1
        for d, s, step, k in zip(x.meta["val"].shape[2:], stride, dilation, kernel, strict=True)
    ]
    missing = [max(0, p + size - f) for p, size, f in zip(padding, sizes, full, strict=True)]
    late_bias = bias if any(missing) else None
    with graph.inserting_before(node):
        call = graph.call_function
        early = None if late_bias is not None else bias
        y = call(_CONVOLUTION, (x, weight, early, stride, [0, 0], [0, 0], groups, dilation))
        for axis in (0, 1):
            end = min(padding[axis] + sizes[axis], full[axis])
            y = call(torch.ops.aten.slice.Tensor, (y, axis + 2, padding[axis], end))
        if any(missing):
            y = call(torch.ops.aten.constant_pad_nd.default, (y, [0, missing[1], 0, missing[0]]))
        if late_bias is not None:
            column = call(torch.ops.aten.view.default, (late_bias, [1, -1, 1, 1]))
            y = call(torch.ops.aten.add.Tensor, (y, column))
    node.replace_all_uses_with(y)
    graph.erase_node(node)


def _pair(value: Any) -> list[int]:
    """Return an argument of a convolution as [vertical, horizontal]. PyTorch stores one number if both are equal."""
    values = [value] if isinstance(value, int) else [operator.index(v) for v in value]
    return values * 2 if len(values) == 1 else values
