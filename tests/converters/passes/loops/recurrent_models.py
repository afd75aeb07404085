"""Float models with an unrolled recurrent layer, written as the converters of Keras and PyTorch write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.importers.carried_states import with_variables
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, samples_for

CELLS = ("lstm", "gru", "rnn")
#: The time steps and features of the input sequence, and the units of the layer.
STEPS, FEATURES, UNITS = 7, 5, 8

#: The number of gates of each cell.
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


class RecurrentNet(FloatNet):
    """Builds unrolled recurrent layers.

    ``cut`` is the operator that takes the time steps from the sequence: UNPACK as in Keras, or SLICE as in PyTorch.
    With ``folded``, the first step has no operators that read the state, as converters write it, because the state
    is zero.
    """

    def __init__(self, cell: str, *, cut: str = "UNPACK", folded: bool = True, seed: int = 3) -> None:
        super().__init__(seed)
        self.cell, self.cut, self.folded = cell, cut, folded

    def steps_of(self, x: int) -> list[int]:
        """Return the tensors [1, features] of the steps of ``x`` [1, steps, features]."""
        _, steps, features = self.tensors[x].shape
        if self.cut == "SLICE":
            cut = [
                self.layer(
                    "SLICE",
                    [x, self.ints([0, t, 0]), self.ints([1, 1, features])],
                    (1, 1, features),
                    "SliceOptions",
                )
                for t in range(steps)
            ]
            shape = [1, features]
            return [
                self.layer("RESHAPE", [i, self.ints(shape)], (1, features), "ReshapeOptions") for i in cut
            ]
        steps_first = self.layer(
            "RESHAPE", [x, self.ints([steps, 1, features])], (steps, 1, features), "ReshapeOptions"
        )
        rows = [self.tensor((1, features), "float32") for _ in range(steps)]
        self.add("UNPACK", [steps_first], rows, "UnpackOptions", num=steps, axis=0)
        return rows

    def recurrent(self, rows: Sequence[int], units: int = UNITS) -> list[int]:
        """Return the outputs [1, units] of a layer after each of ``rows``."""
        features = self.tensors[rows[0]].shape[-1]
        gates = GATES[self.cell]
        self._kernel = self.random(gates * units, features, scale=0.6)
        self._state = self.random(gates * units, units, scale=0.5)
        self._bias, self._one = self.random(gates * units, scale=0.2), self.real([1.0])
        self._units = units
        h, c = -1, -1
        if not self.folded:
            h = c = self.real(np.zeros((1, units)))
        outputs = []
        for row in rows:
            h, c = getattr(self, f"_{self.cell}")(row, h, c)
            outputs.append(h)
        return outputs

    def _dense(self, x: int, weights: int, bias: int) -> int:
        """Add a fully connected layer."""
        shape = (1, self.tensors[weights].shape[0])
        return self.layer("FULLY_CONNECTED", [x, weights, bias], shape, "FullyConnectedOptions")

    def _unary(self, name: str, x: int) -> int:
        """Add the activation ``name``."""
        return self.layer(name, [x], self.tensors[x].shape)

    def _binary(self, name: str, a: int, b: int) -> int:
        """Add the element-by-element operator ``name``."""
        return self.layer(name, [a, b], self.tensors[b].shape, f"{name.title()}Options")

    def _parts(self, x: int) -> list[int]:
        """Split ``x`` into one tensor per gate."""
        count = GATES[self.cell]
        parts = [self.tensor((1, self._units), "float32") for _ in range(count)]
        self.add("SPLIT", [self.ints([1]), x], parts, "SplitOptions", num_splits=count)
        return parts

    def _lstm(self, x: int, h: int, c: int) -> tuple[int, int]:
        """Add one step for input ``x`` and the states ``h`` and ``c`` (-1: zero). Return the new states."""
        z = self._dense(x, self._kernel, self._bias)
        if h >= 0:
            z = self._binary("ADD", z, self._dense(h, self._state, -1))
        i, f, g, o = self._parts(z)
        new = self._binary("MUL", self._unary("LOGISTIC", i), self._unary("TANH", g))
        if c >= 0:
            new = self._binary("ADD", self._binary("MUL", self._unary("LOGISTIC", f), c), new)
        return self._binary("MUL", self._unary("LOGISTIC", o), self._unary("TANH", new)), new

    def _gru(self, x: int, h: int, c: int) -> tuple[int, int]:
        """Add one step for input ``x`` and state ``h`` (-1: zero). Return the new state, and -1."""
        z, r, n = self._parts(self._dense(x, self._kernel, self._bias))
        if h >= 0:
            hz, hr, hn = self._parts(self._dense(h, self._state, -1))
            z, r = self._binary("ADD", z, hz), self._binary("ADD", r, hr)
            n = self._binary("ADD", n, self._binary("MUL", self._unary("LOGISTIC", r), hn))
        z, n = self._unary("LOGISTIC", z), self._unary("TANH", n)
        new = self._binary("MUL", self._binary("SUB", self._one, z), n)
        return (self._binary("ADD", self._binary("MUL", z, h), new) if h >= 0 else new), -1

    def _rnn(self, x: int, h: int, c: int) -> tuple[int, int]:
        """Add one step for input ``x`` and state ``h`` (-1: zero). Return the new state, and -1."""
        z = self._dense(x, self._kernel, self._bias)
        return self._unary(
            "TANH", self._binary("ADD", z, self._dense(h, self._state, -1)) if h >= 0 else z
        ), -1

    def pack(self, rows: Sequence[int]) -> int:
        """Return ``rows`` [1, units] as one tensor [steps, 1, units]."""
        shape = (len(rows), *self.tensors[rows[0]].shape)
        return self.layer("PACK", list(rows), shape, "PackOptions", values_count=len(rows), axis=0)


def recurrent_model(cell: str, *, cut: str = "UNPACK", folded: bool = True, steps: int = STEPS) -> Model:
    """Return a model with a recurrent layer and a dense layer on its last output."""
    n = RecurrentNet(cell, cut=cut, folded=folded)
    return n.model([n.dense(n.recurrent(n.steps_of(n.input((1, steps, FEATURES), "float32")))[-1], 4)])


def sequence_model(reverse: bool, *, outputs: str) -> Model:
    """Return a model of a recurrent layer that reads the sequence forward or in reverse. ``outputs`` selects the
    outputs of the model: "all" steps, "both" (the last step and all steps) or "some" steps."""
    n = RecurrentNet("gru", seed=5 + reverse)
    rows = n.steps_of(n.input((1, STEPS, FEATURES), "float32"))
    hidden = n.recurrent(rows[::-1] if reverse else rows)
    every = n.pack(hidden[::-1] if reverse else hidden)
    return n.model(
        {"all": [every], "both": [hidden[-1], every], "some": [hidden[-1], hidden[2], hidden[4]]}[outputs]
    )


def streaming_model(cell: str, steps: int, units: int = UNITS) -> Model:
    """Return a model with the inputs (part of the sequence, state...) and the outputs (answer, state...)."""
    n = RecurrentNet(cell, folded=False)
    rows = n.steps_of(n.input((1, steps, FEATURES), "float32"))
    states = [n.input((1, units), "float32") for _ in range(2 if cell == "lstm" else 1)]
    n.recurrent(rows[:1], units)  # creates the weights that the steps read
    h, c = states[0], states[-1]
    for row in rows:
        h, c = getattr(n, f"_{cell}")(row, h, c)
    return n.model([n.dense(h, 3), *([h, c] if cell == "lstm" else [h])])


def stateful_model(cell: str, steps: int, units: int = UNITS) -> Model:
    """Return the ``streaming_model`` that keeps its state itself. It has one input and one output."""
    model = streaming_model(cell, steps, units)
    main = model.main
    pairs = list(zip(main.inputs[1:], main.outputs[1:], strict=True))
    one_each = replace(main, inputs=main.inputs[:1], outputs=main.outputs[:1])
    return with_variables(replace(model, subgraphs=(one_each,), signatures=()), pairs)


def quantized(model: Model, recipe: str = "int8") -> Model:
    """Return the simplified and quantized model."""
    flatbuffer, _ = simplify(to_flatbuffer(model))
    observations = observe(flatbuffer, samples_for(parse(flatbuffer)))
    return parse(quantize(flatbuffer, load_recipe(recipe), observations).flatbuffer)
