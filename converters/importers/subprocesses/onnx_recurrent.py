"""Prepare the LSTM, GRU and RNN operators of an ONNX model for onnx2tf, which unrolls them."""

from typing import Any

import numpy as np
from onnx import helper, numpy_helper
from protocol import Refusal
from step_limit import MAX_UNROLLED_STEPS

_RECURRENT = ("LSTM", "GRU", "RNN")

#: Positions of operator inputs. They are the same for all three operators; only LSTM has initial_c.
_SEQUENCE_LENGTHS, _INITIAL_H, _INITIAL_C = 4, 5, 6


def prepare_recurrent(model: Any, shapes: Any) -> Any:
    """Give recurrent operators without initial states zeros as initial states, remove sequence lengths that are equal
    to the number of time steps, and return a note for each operator.

    ``shapes`` maps the names of tensors to their shapes. onnx2tf fails for an LSTM without initial states. Raises
    ``Refusal`` for more than ``MAX_UNROLLED_STEPS`` steps, and for sequence lengths that differ from the number of
    steps.
    """
    constants = {i.name: i for i in model.graph.initializer}
    notes = []
    for number, node in enumerate(model.graph.node):
        if node.op_type not in _RECURRENT:
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        steps, batch = _steps_and_batch(node, shapes, attributes.get("layout", 0))
        name = node.name or node.output[0] or node.op_type
        if steps > MAX_UNROLLED_STEPS:
            raise Refusal(
                f"Layer '{name}' ({node.op_type}) has {steps} time steps; at most {MAX_UNROLLED_STEPS} can be "
                "converted.",
                "Export the model with shorter inputs, or reduce the steps before this layer, for example by a "
                "convolution with a stride.",
                "model",
            )
        # An input that is absent has the name "".
        inputs = list(node.input) + [""] * (_INITIAL_H + (node.op_type == "LSTM") + 1 - len(node.input))
        _drop_lengths(name, inputs, constants, steps)
        directions = 2 if attributes.get("direction", b"forward") == b"bidirectional" else 1
        order = (batch, directions) if attributes.get("layout", 0) else (directions, batch)
        for position in (_INITIAL_H, _INITIAL_C)[: 1 + (node.op_type == "LSTM")]:
            if not inputs[position]:
                inputs[position] = f"arenite_state_{number}_{position}"
                zeros = np.zeros((*order, attributes["hidden_size"]), np.float32)
                model.graph.initializer.append(numpy_helper.from_array(zeros, inputs[position]))
        del node.input[:]
        node.input.extend(inputs)
        notes.append(f"Layer '{name}' ({node.op_type}) was unrolled into {steps} steps.")
    return notes


def _steps_and_batch(node: Any, shapes: Any, layout: int) -> Any:
    """Return (number of time steps, batch size) of a recurrent operator. ``layout`` is its ONNX attribute: 1 if the
    batch is the first dimension, else 0."""
    shape = shapes.get(node.input[0])
    if shape is None or len(shape) != 3 or None in shape:
        raise Refusal(
            f"The number of time steps of layer '{node.name or node.output[0]}' ({node.op_type}) is not known.",
            "Export the model with a fixed number of steps, or state it with --input-shape.",
            "model",
        )
    return (shape[1], shape[0]) if layout else (shape[0], shape[1])


def _drop_lengths(name: str, inputs: Any, constants: Any, steps: int) -> None:
    """Remove the sequence lengths from ``inputs`` (tensor names). Raises ``Refusal`` if one is not ``steps``."""
    lengths = inputs[_SEQUENCE_LENGTHS]
    if not lengths:
        return
    if lengths not in constants or not np.all(numpy_helper.to_array(constants[lengths]) == steps):
        raise Refusal(
            f"Layer '{name}' ends each sequence at a length of its own, which cannot be unrolled.",
            "Export the model without sequence lengths, and pad the inputs to one length.",
            "model",
        )
    inputs[_SEQUENCE_LENGTHS] = ""
