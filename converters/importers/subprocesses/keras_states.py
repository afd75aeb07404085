"""Trace stateful recurrent layers of Keras as functions: the states before a call are arguments, and the states after
it are results. This module runs in the environment "tensorflow"."""

from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from protocol import Refusal


class LayerStates:
    """The states that the stateful layers of ``model`` keep between calls.

    ``arguments`` and ``results`` are their names in the signature of the traced function, and ``shapes`` their shapes.
    They are float32. Raises ``Refusal`` for a layer that reads its sequence from the end.
    """

    def __init__(self, model: Any) -> None:
        self._keras_2 = not hasattr(model, "stateless_call")
        self.layers = [layer for layer in _flat(model) if _is_stateful(layer)]
        self._variables: list[Any] = []
        self._of_layer: dict[int, tuple[int, int]] = {}
        for layer in self.layers:
            variables = tf.nest.flatten(layer.states)
            if not variables or any(v is None for v in variables):
                raise Refusal(
                    f"Layer '{layer.name}' ({type(layer).__name__}) is stateful, and the shape of its state is not "
                    "known.",
                    "Call the model once on data before you save it, or build it with a fixed batch size.",
                    "model",
                )
            start = len(self._variables)
            self._variables += variables
            self._of_layer[id(layer)] = start, len(self._variables)
        self.shapes = [tuple(v.shape) for v in self._variables]
        count = range(len(self._variables))
        self.arguments = [f"arenite_state_{k}" for k in count]
        self.results = [f"arenite_next_state_{k}" for k in count]

    def call(self, function: Any, states: Any) -> Any:
        """Return (the result of ``function()``, the states after it). ``function`` calls the model, whose layers begin
        with ``states``: one tensor for each argument."""
        if not self._variables:
            return function(), []
        if self._keras_2:
            return self._call_keras_2(function, states)
        import keras

        with keras.StatelessScope(state_mapping=list(zip(self._variables, states, strict=True))) as scope:
            result = function()
        after = [scope.get_current_value(v) for v in self._variables]
        return result, [tf.convert_to_tensor(value) for value in after]

    def _call_keras_2(self, function: Any, states: Any) -> Any:
        """Do as ``call``, for Keras 2. It has no way to replace variables, so the layers are asked for their initial
        states, and the function that loops over the steps gives their last states."""
        from tf_keras.src import backend

        after = list(states)
        running: list[Any] = []
        loop = backend.rnn

        def recorded(*args: Any, **options: Any) -> Any:
            outputs = loop(*args, **options)
            if running:
                start, end = self._of_layer[id(running.pop())]
                after[start:end] = tf.nest.flatten(outputs[2])
            return outputs

        with _keras_2_layers(self.layers) as initial_states:
            for layer in self.layers:
                start, end = self._of_layer[id(layer)]
                own = tf.nest.pack_sequence_as(layer.states, list(states[start:end]))
                initial_states(layer, own, running)
            backend.rnn = recorded
            try:
                return function(), after
            finally:
                backend.rnn = loop


@contextmanager
def _keras_2_layers(layers: Any) -> Any:
    """Make ``layers`` begin with given states while the context is open. The context is a function that takes a layer,
    its states, and the list to which the layer is added when it runs."""

    def set_states(layer: Any, states: Any, running: Any) -> None:
        def get_initial_state(inputs: Any) -> Any:
            running.append(layer)
            return states

        layer.stateful = False
        layer.get_initial_state = get_initial_state

    try:
        yield set_states
    finally:
        for layer in layers:
            layer.stateful = True
            del layer.get_initial_state


def _flat(model: Any) -> list[Any]:
    """Return every layer of ``model``, also those inside of other layers. Raises ``Refusal`` for a bidirectional layer
    that keeps its state."""
    layers = []
    for layer in model._flatten_layers():
        backward = getattr(layer, "backward_layer", None)
        if backward is not None and getattr(backward, "stateful", False):
            raise _refusal(layer, "its backward half reads each part of the sequence from its end")
        layers.append(layer)
    return layers


def _is_stateful(layer: Any) -> bool:
    if not getattr(layer, "stateful", False) or not hasattr(layer, "cell"):
        return False
    if getattr(layer, "go_backwards", False):
        raise _refusal(layer, "it reads each part of the sequence from its end")
    return True


def _refusal(layer: Any, reason: str) -> Refusal:
    return Refusal(
        f"Layer '{layer.name}' ({type(layer).__name__}) is stateful, but {reason}, so its state does not continue in "
        "the next part.",
        "Build it with stateful=False, and give it the whole sequence at once.",
        "model",
    )
