"""Convert SavedModel folders to TFLite. This module runs in the environment "tensorflow"."""

from typing import Any

import tensorflow as tf
from memory_limit import limited_loading
from protocol import Converted, Refusal, fixed_shapes
from signature_choice import SignatureProblem, choose_signature
from tf_tools import has_fake_quantization, to_tflite


def convert(job: Any) -> Any:
    """Convert the SavedModel of ``job``, which ``check_saved_model`` has accepted, and return a ``Converted``."""
    with limited_loading(job.source_bytes()):
        loaded = tf.saved_model.load(job.source)
    job.stage = f"convert {job.source}"
    key = _signature(job, sorted(loaded.signatures))
    function = loaded.signatures[key]
    specs = function.structured_input_signature[1]
    names, outputs = sorted(specs), sorted(function.structured_outputs)  # a signature's inputs have no order
    shapes = fixed_shapes(job, [(n, _open_shape(specs[n])) for n in names])
    quantized = has_fake_quantization(function)
    call = lambda **values: function(**values)  # noqa: E731
    inputs = [(n, shape, specs[n].dtype) for n, shape in zip(names, shapes, strict=True)]
    flatbuffer = to_tflite(call, inputs, loaded, quantized)

    def run(sample: Any) -> Any:
        values = {n: tf.constant(sample[n], specs[n].dtype) for n in names}
        return {name: y.numpy() for name, y in function(**values).items()}

    notes = ["The model was trained with quantization: its trained ranges became int8."] if quantized else []
    return Converted(flatbuffer, names, outputs, run, f"tensorflow {tf.__version__}", notes, quantized)


def _signature(job: Any, names: Any) -> Any:
    """Return the signature to convert, one of ``names``. Raises ``Refusal`` if the user must choose it."""
    try:
        return choose_signature(job.source, job.signature, names)
    except SignatureProblem as wrong:
        raise Refusal(wrong.problem, wrong.hint, wrong.kind) from wrong


def _open_shape(spec: Any) -> Any:
    """Return the dimensions of an input, with None for each dimension that is not fixed. Return None if their number
    is unknown."""
    return None if spec.shape.rank is None else tuple(spec.shape.as_list())
