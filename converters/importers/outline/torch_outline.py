"""Read the outline (inputs, outputs and layers) of a program that torch.export.save wrote."""

from __future__ import annotations

import re
from typing import Any

from arenite.converters.importers.outline.outline import (
    Outline,
    OutlineLayer,
    OutlineTensor,
    Shape,
    integer,
    value_count,
)

#: A place in the stack trace of a node.
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')

#: Parts of paths that are not of the user's program.
_FRAMEWORKS = ("site-packages", "dist-packages", "/lib/python", "<string>", "<frozen")

#: Arguments with steps in pixels.
_STEPS = ("stride", "dilation")


def read_torch_program(program: dict[str, Any]) -> Outline:
    """Return the outline of ``program``, the JSON object in a .pt2 file.

    Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError`` if ``program`` has another form than
    expected.
    """
    module = program["graph_module"]
    graph, signature = module["graph"], module["signature"]
    shapes = {name: _shape(value) for name, value in graph["tensor_values"].items()}
    inputs, weights = [], 0
    for spec in signature["input_specs"]:
        if "user_input" in spec:
            name = str(spec["user_input"]["arg"]["as_tensor"]["name"])
            inputs.append(OutlineTensor(name, shapes[name]))
        for kind in ("parameter", "buffer"):
            if kind in spec:
                weights += value_count(size or 0 for size in shapes[spec[kind]["arg"]["name"]])
    outputs = [str(spec["user_output"]["arg"]["as_tensor"]["name"]) for spec in signature["output_specs"]
               if "user_output" in spec]  # fmt: skip
    return Outline(
        tuple(_layer(node) for node in graph["nodes"]),
        tuple(inputs),
        tuple(OutlineTensor(name, shapes[name]) for name in outputs),
        weights,
        tuple(tensor.shape is not None and len(tensor.shape) == 4 for tensor in inputs),
    )


def _shape(value: dict[str, Any]) -> Shape:
    sizes = tuple(size.get("as_int") for size in value["sizes"])
    return tuple(None if size is None else integer(size) for size in sizes)


def _layer(node: dict[str, Any]) -> OutlineLayer:
    """Return the module that ``node`` belongs to, with the node's operator. A node outside of a module has its own
    name."""
    metadata = node.get("metadata") or {}
    _, path, module = [*str(metadata.get("nn_module_stack", "")).split(";")[-1].split(","), "", "", ""][:3]
    operator = str(node["target"]).removeprefix("torch.ops.").removesuffix(".default")
    parent = module.rpartition(".")[2] if path else ""
    steps = {
        item["name"]: tuple(map(integer, item["arg"]["as_ints"]))
        for item in node["inputs"]
        if item["name"] in _STEPS and "as_ints" in item["arg"]
    }
    place = _place(str(metadata.get("stack_trace")))
    return OutlineLayer(path or str(node.get("name", operator)), operator, steps, parent, place)


def _place(trace: str) -> str:
    """Return the last line of the user's program in a stack trace, such as "net.py line 12", or ""."""
    places = [(path, line) for path, line in _PLACE.findall(trace) if not any(f in path for f in _FRAMEWORKS)]
    return f"{places[-1][0].rpartition('/')[2]} line {places[-1][1]}" if places else ""
