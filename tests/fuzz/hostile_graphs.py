"""Well-formed model files with values that no converter writes: options, shapes, constants, tensor indices."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Op, Tensor
from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all

#: Values of options, and of elements of constants, that a kernel could handle wrongly.
_INTEGERS = (0, -1, 1, 2, 3, 7, 255, 65536, 2**31 - 1, -(2**31))


def hostile_graph(seed: int) -> Model:
    """Return a random graph of one operator, with one to three values replaced."""
    rng = random.Random(seed)
    model = random_model(seed, seed, sorted(load_all()), 1)
    tensors, ops = list(model.main.tensors), list(model.main.ops)
    for _ in range(rng.randrange(1, 4)):
        change = rng.randrange(4)
        k = rng.randrange(len(ops))
        if change == 0 and ops[k].options:
            ops[k] = replace(ops[k], options=_with_hostile_option(ops[k].options, rng))
        elif change == 1:
            ops[k] = _with_other_tensor(ops[k], len(tensors), rng)
        elif change == 2:
            i = rng.randrange(len(tensors))
            tensors[i] = _with_hostile_constant(tensors[i], rng)
        else:
            i = rng.randrange(len(tensors))
            if not tensors[i].is_constant:
                shape = list(tensors[i].shape) or [1]
                shape[rng.randrange(len(shape))] = rng.choice((0, 1, 2, 3, 5, 1000))
                tensors[i] = replace(tensors[i], shape=tuple(shape))
    graph = replace(model.main, tensors=tuple(tensors), ops=tuple(ops))
    return model.with_main(graph)


def _with_hostile_option(options: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return the options with one value replaced."""
    changed = dict(options)
    key = rng.choice(sorted(changed))
    value = changed[key]
    if isinstance(value, int) and not isinstance(value, bool):
        changed[key] = rng.choice(_INTEGERS)
    elif isinstance(value, float):
        changed[key] = rng.choice((0.0, -1.0, 1e30, -1e30, 1e-38))
    elif isinstance(value, tuple) and value and isinstance(value[0], int):
        at = rng.randrange(len(value))
        changed[key] = (*value[:at], rng.choice(_INTEGERS), *value[at + 1 :])
    return changed


def _with_other_tensor(op: Op, count: int, rng: random.Random) -> Op:
    """Return the operator with another tensor as one of its inputs. ``count`` is the number of tensors."""
    if not op.inputs:
        return op
    at = rng.randrange(len(op.inputs))
    return replace(op, inputs=(*op.inputs[:at], rng.randrange(count), *op.inputs[at + 1 :]))


def _with_hostile_constant(tensor: Tensor, rng: random.Random) -> Tensor:
    """Return the tensor with one value replaced, if it is an integer constant."""
    if tensor.data is None or not tensor.data.size or tensor.data.dtype.kind != "i":
        return tensor
    limits = np.iinfo(tensor.data.dtype)
    data = tensor.data.copy()
    data.reshape(-1)[rng.randrange(data.size)] = min(max(rng.choice(_INTEGERS), limits.min), limits.max)
    return replace(tensor, data=data)
