"""What the agent of a fleet can count of a model's inferences on a device."""

from __future__ import annotations

from arenite.converters.graph.model import DTYPES, Model, Tensor
from arenite.firmware.update.program import MAX_CLASSES, AgentShape


def agent_shape(model: Model) -> AgentShape:
    """Return the shape of the agent for ``model``. The first output is taken for scores of classes if it is one vector
    of at most ``MAX_CLASSES`` values of 8 bits."""
    graph = model.main
    scores = graph.tensors[graph.outputs[0]]
    is_vector = bool(scores.shape) and scores.shape[-1] == scores.nbytes
    classes = scores.nbytes if is_vector and _has_bytes(scores) and scores.nbytes <= MAX_CLASSES else 0
    return AgentShape(classes, _has_bytes(graph.tensors[graph.inputs[0]]))


def _has_bytes(tensor: Tensor) -> bool:
    dtype = DTYPES[tensor.dtype]
    return dtype is not None and dtype.kind in "iu" and dtype.itemsize == 1
