"""Convert a TensorFlow function with fixed shapes to TFLite. This module runs in the environment "tensorflow"."""

import re
import tempfile
from typing import Any

import tensorflow as tf
from protocol import Refusal
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def to_tflite(function: Any, inputs: Any, trackable: Any, quantized: Any = False) -> Any:
    """Convert ``function(**{name: tensor}) -> {name: tensor}`` to a flatbuffer whose signature has these names.

    ``inputs`` is a list of (name, shape, dtype). ``trackable`` is the object that holds the variables of the function.
    ``quantized`` is true if the function was trained with quantization, so that the flatbuffer becomes int8.
    """
    specs = {name: tf.TensorSpec(shape, dtype, name=name) for name, shape, dtype in inputs}
    module: Any = tf.Module()
    concrete = tf.function(lambda **kwargs: function(**kwargs)).get_concrete_function(**specs)
    if any(n.op.startswith("Assign") for n in _nodes(concrete)):
        module.tracked = trackable  # the function keeps state between calls, so its variables stay variables
    else:
        concrete = _frozen(concrete, specs)
    module.call = concrete
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        # Gradients are not needed, and the gradients of some activations (swish) cannot be saved once the variables are
        # constants.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(module, folder, signatures={"serving_default": concrete}, options=options)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["serving_default"])
        if quantized:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.inference_input_type = converter.inference_output_type = tf.int8
        try:
            return converter.convert()
        except Exception as error:
            missing = sorted(
                set(re.findall(r"'?tf\.(\w+)'? op is neither a custom op nor a flex op", str(error)))
            )
            if not missing:
                raise
            if "xf16>" in str(error) or "xbf16>" in str(error):
                raise Refusal(
                    "The model computes in 16 bits, for which TensorFlow Lite has no operators.",
                    "Save the model with float32 computation, or give a .keras or .h5 file, which is changed to that.",
                    "model",
                ) from error
            layers = _layers(str(error))
            named = (f"tf.{m} (layer '{layers[m]}')" if m in layers else f"tf.{m}" for m in missing)
            raise Refusal(
                f"TensorFlow Lite has no operator for {', '.join(named)}.",
                "Compute this part outside the model, or with other operators.",
                "model",
            ) from error


def _layers(text: Any) -> Any:
    """Return {operator: layer} for the operators that ``text``, an error of the converter, says are missing. A layer is
    the name of the operator's node, such as "net/conv/Conv2D"."""
    # The place of an operator comes before the error: loc(callsite(fused["Acos:", "net/acos/Acos@__inference_call_9"]
    place = r"fused\[\"\w+:\", \"([^\"@]+)(?:@[^\"]*)?\"\]"
    layers: dict[str, str] = {}
    for line in text.splitlines():
        missing = re.search(r"'?tf\.(\w+)'? op is neither a custom op nor a flex op", line)
        name = re.search(place, line)
        if missing and name:
            layers.setdefault(missing[1], name[1])
    return layers


def _frozen(concrete: Any, specs: Any) -> Any:
    """Return the concrete function with its variables replaced by constants, because TensorFlow Lite's converter does
    not find the variables of Keras 3. ``specs`` has {argument name: tensor specification}."""
    names = sorted(concrete.structured_outputs)
    order = [t.name.split(":")[0] for t in concrete.inputs[: len(specs)]]
    frozen = convert_variables_to_constants_v2(concrete)
    # The frozen function does not have the inputs that no operator reads.
    frozen_inputs = [t.name.split(":")[0] for t in frozen.inputs]

    def call(**values: Any) -> Any:
        by_node = dict(zip(order, (values[n] for n in _argument_order(concrete, specs)), strict=True))
        return dict(zip(names, frozen(*(by_node[n] for n in frozen_inputs)), strict=True))

    return tf.function(call).get_concrete_function(**specs)


def _argument_order(concrete: Any, specs: Any) -> Any:
    """Return the argument names of ``specs`` in the order of the function's input tensors."""
    return [t.op.get_attr("_user_specified_name").decode() for t in concrete.inputs[: len(specs)]]


def _nodes(concrete: Any) -> Any:
    """Return the operators of a concrete function and of all functions that it can call."""
    graph = concrete.graph.as_graph_def()
    return [*graph.node, *(n for f in graph.library.function for n in f.node_def)]


def has_fake_quantization(concrete: Any) -> Any:
    """Return whether the graph of a concrete function, or a function that it calls, simulates quantization."""
    return any(n.op.startswith("FakeQuantWithMinMax") for n in _nodes(concrete))
