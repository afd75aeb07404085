"""Convert Keras 3 and Keras 2 files to TFLite. The layers may have wrappers of the TensorFlow Model Optimization
Toolkit. This module runs in the environment "tensorflow"."""

import os
import re
import tempfile
from contextlib import ExitStack
from typing import Any

import tensorflow as tf
from keras_states import LayerStates
from memory_limit import limited_loading
from protocol import Converted, Refusal, fixed_shapes
from step_limit import MAX_UNROLLED_STEPS
from tf_tools import to_tflite

#: Layers of the TensorFlow Model Optimization Toolkit.
_WRAPPERS = ("PruneLowMagnitude", "ClusterWeights", "QuantizeWrapper", "QuantizeWrapperV2", "QuantizeLayer")

_WITHOUT_CLASSES = "Save the model with model.export() as a SavedModel, which needs no Python code."


def convert(job: Any, checked: Any) -> Any:
    """Convert the Keras file of ``job``, and return a ``Converted``. ``checked`` is what ``checked_config``
    returned for the file."""
    with limited_loading(checked[2]):
        model, ran_by, notes, quantized = load(job, checked)
    job.stage = f"convert {job.source}"
    tensors = list(getattr(model, "inputs", None) or [])
    if not tensors:
        raise Refusal(
            f"The model in {job.source} does not state the shapes of its inputs.",
            "Call the model once on data before you save it, or save it with model.export() as a SavedModel.",
            "model",
        )
    names = _names(tensors)
    shapes = fixed_shapes(job, [(n, tuple(t.shape)) for n, t in zip(names, tensors, strict=True)])
    states = LayerStates(model)
    notes = [*notes, *_full_precision(model), *_unroll(model, shapes)]
    notes += [f"Layer '{layer.name}' keeps its state between inferences." for layer in states.layers]
    dtypes = [tf.as_dtype(t.dtype) for t in tensors]

    def call(**values: Any) -> Any:
        flat = [values[n] for n in names]
        before = [values[n] for n in states.arguments]
        result, after = states.call(lambda: model(_structured(model, flat), training=False), before)
        named = {f"output_{i}": tf.convert_to_tensor(y) for i, y in enumerate(tf.nest.flatten(result))}
        return named | dict(zip(states.results, after, strict=True))

    inputs = [
        *zip(names, shapes, dtypes, strict=True),
        *((n, s, tf.float32) for n, s in zip(states.arguments, states.shapes, strict=True)),
    ]
    flatbuffer = to_tflite(call, inputs, model, quantized)
    compiled = tf.function(call)
    outputs = [f"output_{i}" for i in range(len(tf.nest.flatten(model.outputs)))]

    def run(sample: Any) -> Any:
        values = {n: tf.constant(sample[n], d) for n, d in zip(names, dtypes, strict=True)}
        values |= {n: tf.zeros(s) for n, s in zip(states.arguments, states.shapes, strict=True)}
        return {name: y.numpy() for name, y in compiled(**values).items()}

    pairs = list(zip(states.arguments, states.results, strict=True))
    return Converted(flatbuffer, names, outputs, run, ran_by, notes, quantized, states=pairs)


def _full_precision(model: Any) -> Any:
    """Make layers that compute in float16 or bfloat16 compute in float32. Return a list with one note on them, or an
    empty list.

    The weights of such layers are float32 already, and TFLite has no kernels for 16-bit floats.
    """
    changed = 0
    for layer in model._flatten_layers():
        if str(getattr(layer, "compute_dtype", "")) in ("float16", "bfloat16"):
            if hasattr(layer, "_set_dtype_policy"):  # Keras 2
                layer._set_dtype_policy("float32")
            else:
                layer.dtype_policy = "float32"
            changed += 1
    return [f"{changed} layers of mixed precision compute in float32."] if changed else []


def _unroll(model: Any, shapes: Any) -> Any:
    """Unroll recurrent layers, and return a note for each of them. ``shapes`` are the shapes of the model's inputs.

    Arenite makes a loop of equal steps later, but does not read the loops of TensorFlow. Raises ``Refusal`` for a layer
    with more than ``MAX_UNROLLED_STEPS`` steps.
    """
    longest = max((shape[1] for shape in shapes if len(shape) > 1), default=0)
    notes = []
    for outer in getattr(model, "layers", []):
        inner: list[Any] = [getattr(outer, n, None) for n in ("forward_layer", "backward_layer")]
        for layer in [outer] if None in inner else inner:
            if getattr(layer, "unroll", None) is not False:
                continue
            sequence = tf.nest.flatten(outer.input)[0]  # a mask or initial states can follow it
            steps = sequence.shape[1] or longest  # Keras may leave the number of steps open
            if steps > MAX_UNROLLED_STEPS:
                raise Refusal(
                    f"Layer '{layer.name}' ({type(layer).__name__}) has {steps} time steps; at most "
                    f"{MAX_UNROLLED_STEPS} can be converted.",
                    "Shorten the sequence before this layer, for example by a convolution with a stride, or make the "
                    "state an input and an output of the model and run it on a part of the sequence.",
                    "model",
                )
            layer.unroll = True
            if hasattr(layer, "_could_use_gpu_kernel"):  # Keras 2 keeps a loop for layers with a GPU kernel
                layer._could_use_gpu_kernel = False
            notes.append(f"Layer '{layer.name}' was unrolled into {steps} steps.")
    return notes


def load(job: Any, checked: Any) -> Any:
    """Return (model, package that loaded it, notes, whether the model was trained with quantization)."""
    version, classes, _ = checked
    if classes is None:
        raise Refusal(
            f"{job.source} holds weights but no model.",
            "Save the whole model: model.save('model.keras').",
            "model",
        )
    wrapped = [w for w in _WRAPPERS if w in classes]
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        # Keras chooses the format by the file's name. A file can be valid in both formats, so the name must select the
        # format that was checked.
        path = os.path.join(folder, "model.keras" if job.kind == "keras" else "model.h5")
        os.symlink(os.path.abspath(job.source), path)
        if version.startswith("3") and not wrapped:
            import keras

            with _LoadingErrors(job):
                return keras.saving.load_model(path, compile=False), f"keras {keras.__version__}", [], False
        import tf_keras

        ran_by = f"tf_keras {tf_keras.__version__}"
        with _LoadingErrors(job):
            if not wrapped:
                return tf_keras.models.load_model(path, compile=False), ran_by, [], False
            model, notes, quantized = _load_wrapped(job, path, wrapped)
            return model, ran_by, notes, quantized


def _load_wrapped(job: Any, path: Any, wrapped: Any) -> Any:
    """Return (model, notes, whether the model was trained with quantization) of a file with the wrappers ``wrapped``.
    Wrappers of pruning and clustering are removed."""
    import tensorflow_model_optimization as tfmot
    import tf_keras

    quantized = any(w.startswith("Quantize") for w in wrapped)
    if quantized and job.kind == "keras":
        raise Refusal(
            f"{job.source} was trained with quantization, and tf_keras cannot read back its own .keras files of such "
            "models.",
            "Save the model as .h5 or with tf.saved_model.save instead.",
            "model",
        )
    with ExitStack() as scopes:
        scopes.enter_context(tfmot.sparsity.keras.prune_scope())
        scopes.enter_context(tfmot.clustering.keras.cluster_scope())
        scopes.enter_context(tfmot.quantization.keras.quantize_scope())
        model = tf_keras.models.load_model(path, compile=False)
    notes = []
    if "PruneLowMagnitude" in wrapped:
        model = tfmot.sparsity.keras.strip_pruning(model)
        notes.append("The wrappers of pruning were removed; the zeros stay.")
    if "ClusterWeights" in wrapped:
        model = tfmot.clustering.keras.strip_clustering(model)
        notes.append("The wrappers of clustering were removed; the shared values stay.")
    if quantized:
        notes.append("The model was trained with quantization: its trained ranges became int8.")
    return model, notes, quantized


class _LoadingErrors:
    """A context manager that turns loading errors with a known remedy into a ``Refusal``."""

    def __init__(self, job: Any) -> None:
        self.job = job

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        text = str(error)
        known = ("Could not locate", "Unknown layer", "could not be deserialized", "custom")
        if isinstance(error, (TypeError, ValueError)) and any(k in text for k in known):
            match = re.search(r"(?:Could not locate class|Unknown layer:) '(\w+)'", text)
            name = (
                f"the class '{match[1]}', which Keras does not have"
                if match
                else "a class that Keras does not have"
            )
            raise Refusal(f"{self.job.source} uses {name}.", _WITHOUT_CLASSES, "model") from error


def _names(tensors: Any) -> Any:
    """Return a name for each input tensor. The names are unique and can be names of Python arguments."""
    unique_names = []
    for i, t in enumerate(tensors):
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in t.name.split(":")[0]) or f"input_{i}"
        unique_names.append(
            name if name not in unique_names and not name[0].isdigit() else f"input_{i}_{name}"
        )
    return unique_names


def _structured(model: Any, flat: Any) -> Any:
    """Return the tensors ``flat`` in the structure of the model's inputs: one tensor, a list or a dictionary."""
    structure = getattr(model, "_inputs_struct", None)
    if structure is None:
        structure = getattr(model, "_nested_inputs", None)
    if structure is None:
        return flat[0] if len(flat) == 1 else flat
    return tf.nest.pack_sequence_as(structure, flat)
