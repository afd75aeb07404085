"""Rewrite RReLU for litert-torch, which does not convert it."""

from typing import Any

import torch


def replace_rrelu(module: Any, arguments: Any) -> Any:
    """Return ``module``, exported with the example inputs ``arguments``, with LeakyReLU in place of RReLU.

    RReLU has random slopes only in training. Otherwise its slope is the mean of its limits.
    """
    graph_module: Any = torch.export.export(module, arguments).module()
    graph = graph_module.graph
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.rrelu.default:
            limits = dict(zip(("lower", "upper"), node.args[1:3], strict=False)) | node.kwargs
            slope = (limits.get("lower", 1 / 8) + limits.get("upper", 1 / 3)) / 2
            node.target, node.args, node.kwargs = torch.ops.aten.leaky_relu.default, (node.args[0], slope), {}
    graph.lint()
    graph_module.recompile()
    # The mode (train or eval) of an exported program is fixed: setting it raises an error.
    graph_module.train = graph_module.eval = lambda *_: graph_module
    return graph_module
