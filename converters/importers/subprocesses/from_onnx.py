"""Convert ONNX files to TFLite with onnx2tf. This script runs in the environment "onnx"."""

import importlib.util
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from error_messages import describe, local_variable
from memory_limit import limit_conversion
from onnx_activations import replace_activations
from onnx_files import external_problem, has_long_lists, shape_problem, size_problem
from onnx_layout import image_layout
from onnx_recurrent import prepare_recurrent
from protocol import CHANNELS_FIRST, Converted, Refusal, channels_last, fixed_shapes, main
from size_limits import HINT

#: The file name of onnx2tf's sample pictures.
_PICTURES = "calibration_image_sample_data_20x128x128x3_float32.npy"

#: The operators of quantized models.
_QUANTIZED = re.compile(r"QLinear\w+|(Dynamic)?QuantizeLinear|DequantizeLinear|\w+Integer")


def convert(job: Any) -> Any:
    """Convert the ONNX file of ``job``, and return a ``Converted``."""
    model = _read(job)
    quantized = sorted({n.op_type for n in model.graph.node if _QUANTIZED.fullmatch(n.op_type)})
    if quantized:
        raise Refusal(
            f"{job.source} is already quantized ({', '.join(quantized)}), which onnx2tf does not carry over.",
            "Give the float model that it was quantized from, and calibrate that.",
            "model",
        )
    _refuse_unknown_operators(model)
    constants = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in constants]
    names = [i.name for i in inputs]
    shapes = fixed_shapes(job, [(i.name, _open_shape(i)) for i in inputs])
    _set_shapes(inputs, shapes)
    for values in (False, True):  # without the values of tensors, the inference takes little memory
        inferred = _with_shapes(model, values)
        if problem := shape_problem(inferred):
            raise Refusal(f"{job.source}: {problem}.", HINT, "model")
        if has_long_lists(inferred):
            break
    limit_conversion(model.ByteSize())
    job.stage = f"convert {job.source}"
    images = [n for n, s in zip(names, shapes, strict=True) if channels_last(s)]
    layouts = {n: image_layout(model.graph, n, s) for n, s in zip(names, shapes, strict=True) if n in images}
    images = [n for n in images if layouts[n] != "NHWC"]  # NHWC images keep their layout
    nhwc_images = [] if job.keep_layout else images
    simple, notes = replace_activations(_simplified(model))
    notes += prepare_recurrent(simple, _tensor_shapes(simple))
    keras_model = _convert_with_onnx2tf(simple, names, shapes, nhwc_images, images)

    import tensorflow as tf
    from tf_tools import to_tflite

    signature_inputs = [f"input_{k}" if not n.isidentifier() else n for k, n in enumerate(names)]
    dtypes = [tf.as_dtype(onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)) for i in inputs]
    nhwc_shapes = [
        tuple(s[a] for a in axes) if n in nhwc_images and (axes := channels_last(s)) else s
        for n, s in zip(names, shapes, strict=True)
    ]
    outputs = [o.name for o in model.graph.output]
    signature_outputs = [f"output_{k}" if not n.isidentifier() else n for k, n in enumerate(outputs)]

    def call(**values: Any) -> Any:
        result = tf.nest.flatten(keras_model([values[n] for n in signature_inputs], training=False))
        return dict(zip(signature_outputs, result, strict=True))

    flatbuffer = to_tflite(call, list(zip(signature_inputs, nhwc_shapes, dtypes, strict=True)), keras_model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    out_shapes = [tuple(t.shape) for t in keras_model.outputs]

    def run(sample: Any) -> Any:
        feed = {n: sample[s] for n, s in zip(names, signature_inputs, strict=True)}
        feed = {n: np.transpose(v, CHANNELS_FIRST) if n in nhwc_images else v for n, v in feed.items()}
        result = session.run(outputs, feed)
        return {
            n: _to_output_layout(y, s) for n, y, s in zip(signature_outputs, result, out_shapes, strict=True)
        }

    notes += [
        _layout_note(n, s, layouts[n])
        for n, s in zip(names, nhwc_shapes, strict=True)
        if n in nhwc_images or (layouts.get(n) == "NHWC" and not job.keep_layout)
    ]
    ran_by = f"onnxruntime {onnxruntime.__version__}"
    return Converted(
        flatbuffer,
        signature_inputs,
        signature_outputs,
        run,
        ran_by,
        notes,
        input_names=names,
        output_names=outputs,
    )


def _refuse_unknown_operators(model: Any) -> None:
    """Raise ``Refusal`` if the model has operators that onnx2tf does not have. The error names, for each such operator,
    the first layer that uses it."""
    unknown: dict[str, Any] = {}
    # The modules are found by their files, because onnx2tf imports TensorFlow, which takes seconds and 300 MB.
    package = importlib.util.find_spec("onnx2tf")
    folders = [Path(f) / "ops" for f in (package and package.submodule_search_locations) or ()]
    functions = {f.name for f in model.functions}
    for node in model.graph.node:
        known = node.op_type.isidentifier() and any((f / f"{node.op_type}.py").is_file() for f in folders)
        if not known and node.op_type not in functions:
            unknown.setdefault(node.op_type, node)
    if not unknown:
        return
    layers = ", ".join(f"'{n.name or n.output[0]}' ({op})" for op, n in unknown.items())
    if any(n.domain == "ai.onnx.ml" for n in unknown.values()):
        cause, hint = (
            "operators for classical models, such as trees and scalers of scikit-learn",
            "Convert the neural network alone, and compute these layers outside the model, or train a network instead.",
        )
    else:
        cause, hint = (
            "operators without a counterpart",
            "Export the model without them, or with other layers.",
        )
    raise Refusal(f"TensorFlow Lite cannot compute the layers {layers}: they are {cause}.", hint, "model")


def _layout_note(name: str, shape: Any, layout: str) -> str:
    if layout == "NHWC":
        return f"Input '{name}' stays NHWC {list(shape)}, as the ONNX model has it."
    if layout:
        return f"Input '{name}' is NHWC {list(shape)}; the ONNX model has it as NCHW."
    return (
        f"Input '{name}' is NHWC {list(shape)}: the 4 dimensions that the ONNX model has were assumed to be NCHW. If "
        "they are not, convert the model with --keep-layout."
    )


def _read(job: Any) -> Any:
    """Return the ONNX model of ``job``. Raises ``Refusal`` if it is not valid."""
    try:
        model = onnx.load(job.source, load_external_data=False)
        if problem := external_problem(model, Path(job.source).parent):
            raise Refusal(
                f"{job.source}: {problem}.",
                "Copy the file with the weights (not a link to it) into the folder of the model, under the name above.",
                "model",
            )
        if problem := size_problem(model, Path(job.source)):
            raise Refusal(f"{job.source}: {problem}.", HINT, "model")
        onnx.external_data_helper.load_external_data_for_model(model, str(Path(job.source).parent))
        onnx.checker.check_model(model)
    except Refusal:
        raise
    except Exception as error:
        words = str(error).strip().splitlines()
        raise Refusal(
            f"{job.source} is not a valid ONNX model: {words[0][:200].rstrip('.') if words else type(error).__name__}.",
            "Export or download the model again. Files with its weights must stay in the same folder.",
            "model",
        ) from error
    return model


def _open_shape(value: Any) -> Any:
    """Return the dimensions of a graph input, with None for each dimension that is not fixed. Return None if their
    number is unknown."""
    if not _has_shape(value):
        return None
    return tuple(d.dim_value if d.dim_value > 0 else None for d in value.type.tensor_type.shape.dim)


def _has_shape(value: Any) -> Any:
    return value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape")


def _set_shapes(inputs: Any, shapes: Any) -> None:
    """Give the graph inputs ``inputs`` the fixed shapes ``shapes``."""
    for value, shape in zip(inputs, shapes, strict=True):
        for dim, size in zip(value.type.tensor_type.shape.dim, shape, strict=True):
            dim.ClearField("dim_param")
            dim.dim_value = size


def _simplified(model: Any) -> Any:
    """Return the model with constants folded. Exporters write the sizes of a padding as chains of operators on
    constants, and onnx2tf would treat these sizes as values that depend on the input."""
    import onnxsim

    try:
        simplified, same = onnxsim.simplify(model)
    except Exception:  # a model that onnxsim cannot read is converted without this step
        return model
    return simplified if same else model


def _with_shapes(model: Any, values: bool = False) -> Any:
    """Return the model with the shapes of all tensors that ONNX can infer. If ``values``, ONNX also computes the values
    of lists, because they can be shapes."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=values)
    except Exception:  # the model is larger than 2 GiB, or has an operator of another domain
        return model


def _tensor_shapes(model: Any) -> Any:
    """Return {name: shape} for all tensors whose shapes ONNX can infer, with None for an unknown dimension."""
    graph = _with_shapes(model).graph
    return {v.name: _open_shape(v) for v in [*graph.input, *graph.value_info] if _has_shape(v)}


def _convert_with_onnx2tf(model: Any, names: Any, shapes: Any, nhwc_images: Any, images: Any) -> Any:
    """Return the Keras model that onnx2tf creates from an ONNX model.

    ``names`` and ``shapes`` belong to the inputs. ``images`` are the names of the NCHW images among the inputs, and
    ``nhwc_images`` the names of the images that become NHWC.
    """
    import onnx2tf

    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        # onnx2tf runs the ONNX and the Keras model on pictures, which it downloads unless the current folder has them.
        start = os.getcwd()
        os.chdir(folder)
        np.save(_PICTURES, np.random.default_rng(0).random((20, 128, 128, 3), np.float32))
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        unchanged = [n for n in images if n not in nhwc_images]
        plain = [n for n in names if n not in images]
        try:
            return onnx2tf.convert(
                input_onnx_file_path=str(path),
                output_folder_path=str(Path(folder) / "out"),
                overwrite_input_shape=[
                    f"{n}:{','.join(map(str, s))}" for n, s in zip(names, shapes, strict=True) if s
                ],
                keep_ncw_or_nchw_or_ncdhw_input_names=unchanged or None,
                keep_shape_absolutely_input_names=plain or None,
                enable_rnn_unroll=True,
                onnxruntime_output_memmap=False,
                disable_model_save=True,
                non_verbose=True,
                verbosity="error",
            )
        except Exception as error:
            node = local_variable(error, "graph_node")
            if node is None:
                raise
            raise Refusal(
                f"onnx2tf cannot convert layer '{node.name or node.outputs[0].name}' ({node.op}): {describe(error)}.",
                "Replace this layer in the source, or export the model from PyTorch as .pt2 or from Keras as .keras.",
                "model",
            ) from error
        finally:
            os.chdir(start)


def _to_output_layout(value: Any, shape: Any) -> Any:
    """Return the ONNX output ``value`` in the layout of the Keras model's output, which has the shape ``shape``: in
    NHWC if only that gives this shape."""
    if value.ndim == 4 and value.shape != shape and tuple(value.shape[a] for a in (0, 2, 3, 1)) == shape:
        return np.transpose(value, (0, 2, 3, 1))
    return value


if __name__ == "__main__":
    main({"onnx": convert}, ["onnx2tf", "onnx", "onnxruntime", "tensorflow"])
