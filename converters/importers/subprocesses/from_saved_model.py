"""Convert SavedModel folders to TFLite. This module runs in the environment "tensorflow"."""

from typing import Any

import tensorflow as tf
from protocol import Converted, Refusal, fixed_shapes
from saved_model_files import check_saved_model
from tf_tools import has_fake_quantization, to_tflite


def convert(job: Any) -> Any:
    check_saved_model(job.source)
    loaded = tf.saved_model.load(job.source)
    job.stage = f"convert {job.source}"
    key = _signature(job, sorted(loaded.signatures))
    function = loaded.signatures[key]
    specs = function.structured_input_signature[1]
    names, outputs = sorted(specs), sorted(function.structured_outputs)  # a signature's inputs have no order
    shapes = fixed_shapes(job, [(n, _open_shape(n, specs[n])) for n in names])
    quantized = has_fake_quantization(function)
    call = lambda **values: function(**values)  # noqa: E731
    inputs = [(n, shape, specs[n].dtype) for n, shape in zip(names, shapes, strict=True)]
    flatbuffer = to_tflite(call, inputs, loaded, quantized)

    def run(sample: Any) -> Any:
        values = {n: tf.constant(sample[n], specs[n].dtype) for n in names}
        return {name: y.numpy() for name, y in function(**values).items()}

    notes = ["The model was trained with quantization: its trained ranges became int8."] if quantized else []
    return Converted(flatbuffer, names, outputs, run, f"tensorflow {tf.__version__}", notes, quantized)


def _signature(job: Any, keys: Any) -> Any:
    """Return the signature to convert, one of ``keys``. Raises ``Refusal`` if the user must choose it."""
    if not keys:
        raise Refusal(
            f"{job.source} has no signature, so its inputs are unknown.",
            "Save it with signatures, for example with model.export().",
            "model",
        )
    if job.signature:
        if job.signature not in keys:
            raise Refusal(f"{job.source} has no signature '{job.signature}'.", f"It has {', '.join(keys)}.")
        return job.signature
    if "serving_default" in keys:  # Keras exports the same function a second time, as "serve"
        keys = [k for k in keys if k != "serve"]
    if len(keys) > 1:
        raise Refusal(
            f"{job.source} has {len(keys)} signatures: {', '.join(keys)}.",
            f"Choose the one to convert, for example --signature {keys[0]}.",
        )
    return keys[0]


def _open_shape(name: Any, spec: Any) -> Any:
    """Return the dimensions of an input, with None for each dimension that is not fixed."""
    if spec.shape.rank is None:
        raise Refusal(
            f"Input '{name}' has no shape, not even a number of dimensions.",
            "Export the model with an input signature that states the shape.",
            "model",
        )
    return tuple(spec.shape.as_list())
