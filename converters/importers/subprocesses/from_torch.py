"""Convert PyTorch programs (.pt2) and the models that a Python function (module:function) returns to TFLite. This
module runs in the environment "torch"."""

import importlib
import inspect
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from error_messages import describe, local_variable, remedy
from memory_limit import is_out_of_memory, limited_loading
from protocol import CHANNELS_FIRST, Converted, Refusal, channels_last, fixed_shapes
from torch_rrelu import replace_rrelu
from torch_transposed import remove_padding


def convert(job: Any, program: Any = None) -> Any:
    """Convert the program in the file ``program``, a checked copy of the job's source, or the user's function of
    ``job``. Return a ``Converted``."""
    if program is not None:
        module, names, shapes, dtypes = _program(job, program)
    else:
        module, names, shapes, dtypes = _factory(job)
    job.stage = f"convert {job.source}"
    values = tuple(_example(s, d) for s, d in zip(shapes, dtypes, strict=True))
    if program is None:
        _show_program(job, module, values)
    with torch.no_grad():
        results = _flat(module(*values))
    nhwc_inputs = [] if job.keep_layout else [i for i, s in enumerate(shapes) if channels_last(s)]
    nhwc_outputs = [] if job.keep_layout else [i for i, y in enumerate(results) if channels_last(y.shape)]
    wrapper = _ChannelsLast(module, nhwc_inputs, nhwc_outputs).eval()
    arguments = tuple(
        v.permute(channels_last(v.shape)) if i in nhwc_inputs else v for i, v in enumerate(values)
    )
    edge_model = _converted(wrapper, arguments)
    inputs = [f"args_{i}" for i in range(len(shapes))]
    outputs = [f"output_{i}" for i in range(len(results))]

    def run(sample: Any) -> Any:
        tensors = [torch.from_numpy(np.array(sample[n])).to(d) for n, d in zip(inputs, dtypes, strict=True)]
        with torch.no_grad():
            result = _flat(wrapper(*tensors))
        return {n: y.numpy() for n, y in zip(outputs, result, strict=True)}

    notes = [
        f"Input '{names[i]}' is NHWC {list(arguments[i].shape)}; the PyTorch model has it as NCHW."
        for i in nhwc_inputs
    ]
    return Converted(
        _exported(edge_model), inputs, outputs, run, f"torch {torch.__version__}", notes, input_names=names
    )


#: What the error of litert_torch names when it refuses an operator, and the function that rewrites the module so that
#: litert_torch accepts it. "mhlo.convolution" stands for a transposed convolution with padding.
_REWRITES = {"mhlo.convolution": remove_padding, "aten.rrelu": replace_rrelu}


class _ChannelsLast(torch.nn.Module):  # type: ignore[misc]
    """A model that wraps ``module``. The inputs and outputs whose indices are in ``inputs`` and ``outputs`` are NHWC
    instead of NCHW."""

    def __init__(self, module: Any, inputs: Any, outputs: Any) -> None:
        super().__init__()
        self.module, self.inputs, self.outputs = module, inputs, outputs

    def forward(self, *values: Any) -> Any:
        first = [v.permute(*CHANNELS_FIRST) if i in self.inputs else v for i, v in enumerate(values)]
        result = _flat(self.module(*first))
        return tuple(y.permute(0, 2, 3, 1) if i in self.outputs else y for i, y in enumerate(result))


def _converted(module: Any, arguments: Any) -> Any:
    """Return the model that litert_torch converts ``module`` to. ``arguments`` are example inputs.

    If litert_torch refuses an operator of ``_REWRITES``, the module is rewritten and converted again.
    """
    import litert_torch  # takes many seconds, so it is imported after the layers were checked

    try:
        rewrites = dict(_REWRITES)
        while True:
            try:
                return litert_torch.convert(module, arguments)
            except Exception as error:
                refused = next((name for name in rewrites if name in str(error)), None)
                if refused is None:
                    raise
                module = rewrites.pop(refused)(module, arguments)
    except Exception as error:
        operator = re.search(r"failed to legalize operation '([\w.]+)'", str(error))
        if operator is None:
            layer = _layer(error)
            if not layer:
                raise
            raise Refusal(
                f"litert-torch cannot convert layer {layer}: {describe(error)}.",
                remedy(error)
                or "Replace this layer, compute it outside of the model, or export the model to ONNX with "
                "torch.onnx.export and convert that.",
                "model",
            ) from error
        raise Refusal(
            f"TensorFlow Lite has no form of the operator {operator[1]} as this model uses it.",
            "Replace the layer, or export the model to ONNX with torch.onnx.export and convert that.",
            "model",
        ) from error


def _show_program(job: Any, module: Any, values: Any) -> None:
    """Let the parent check the layers of the user's module. A module that PyTorch cannot export or save is not checked:
    the conversion then says why."""
    try:
        torch.export.save(torch.export.export(module, values), job.program)
    except Exception:
        return
    job.show_program()


def _layer(error: BaseException) -> str:
    """Return the module and the operator at which a conversion failed with ``error``, such as "'features.0' (Conv2d,
    aten.conv2d.default)". Return "" if they are not known."""
    # In the functions of litert_torch and PyTorch, the variable with the operator's node has one of these names.
    for name in ("node", "n"):
        node = local_variable(error, name)
        if isinstance(node, torch.fx.Node) and node.meta.get("nn_module_stack"):
            path, module = list(node.meta["nn_module_stack"].values())[-1]
            # The model is the attribute ``module`` of ``_ChannelsLast``.
            path = str(path).removeprefix("module").lstrip(".") or str(node.name)
            kind = module if isinstance(module, str) else module.__name__
            return f"'{path}' ({kind.rpartition('.')[2]}, {node.target})"
    return ""


def _exported(edge_model: Any) -> Any:
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        path = Path(folder) / "model.tflite"
        edge_model.export(str(path))
        return path.read_bytes()


def _program(job: Any, path: Any) -> Any:
    """Return the module in the file ``path`` that torch.export.save wrote, and the names, shapes and types of its
    inputs."""
    # Without this variable, PyTorch unpickles any object if it cannot read the file as tensors.
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    try:
        with limited_loading(os.stat(path).st_size):
            program = torch.export.load(path)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise Refusal(
            f"torch {torch.__version__} cannot read {job.source}: {str(error).strip().splitlines()[0][:200]}",
            "Export the model again and save it with torch.export.save, if necessary with this version of PyTorch.",
            "model",
        ) from error
    finally:
        del os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"]  # the user's own function may load any checkpoint
    names = list(program.graph_signature.user_inputs)
    fakes = {n.name: n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"}
    tensors = [fakes[n] for n in names]
    shapes = fixed_shapes(job, [(n, _open_shape(t.shape)) for n, t in zip(names, tensors, strict=True)])
    module = program.module()
    # The mode (train or eval) of an exported program is fixed: setting it raises an error.
    module.train = module.eval = lambda *_: module
    return module, names, shapes, [t.dtype for t in tensors]


def _open_shape(shape: Any) -> Any:
    return tuple(d if isinstance(d, int) else None for d in shape)


def _factory(job: Any) -> Any:
    """Call the user's function, which returns a model, or a model and example inputs. Return the module, and the names,
    shapes and types of its inputs."""
    job.stage = f"run {job.source}"
    result = _called(job.source)
    module: Any
    module, examples = (
        (result[0], _flat(result[1])) if isinstance(result, tuple) and len(result) == 2 else (result, None)
    )
    if not isinstance(module, torch.nn.Module):
        raise Refusal(
            f"{job.source} returned {type(module).__name__}, not a torch.nn.Module.",
            "Let the function return the model, or the model and a tuple of example inputs.",
        )
    module.eval()
    known = list(inspect.signature(module.forward).parameters)
    if examples is None:
        if not job.shapes:
            raise Refusal(
                f"{job.source} returned a model without example inputs, so their shapes are not known.",
                "Give --input-shape 1,3,96,96 in the layout of the PyTorch model, or return (model, (example,)).",
            )
        names = [n or (known or ["x"])[0] for n in job.shapes]
        return module, names, list(job.shapes.values()), [torch.float32] * len(names)
    names = [known[i] if len(known) >= len(examples) else f"args_{i}" for i in range(len(examples))]
    shapes = fixed_shapes(
        job, [(n, (None, *e.shape[1:]) if e.ndim else ()) for n, e in zip(names, examples, strict=True)]
    )
    return module, names, shapes, [e.dtype for e in examples]


def _called(source: Any) -> Any:
    """Return what the user's function ``source`` (module:function) returns."""
    sys.path.insert(0, os.getcwd())
    name, _, function = source.partition(":")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name.split(".")[0]:
            raise Refusal(
                f"There is no module '{name}' in this folder.",
                "Start Arenite in the folder that contains the module.",
            ) from error
        raise Refusal(
            f"The module '{name}' needs '{error.name}', which the environment for PyTorch does not have.",
            f"Install {error.name}, torch and litert-torch in the Python that runs Arenite; that Python is then used.",
        ) from error
    if not callable(getattr(module, function, None)):
        raise Refusal(f"The module '{name}' has no function '{function}'.", "Check the name.")
    return getattr(module, function)()


def _example(shape: Any, dtype: Any) -> Any:
    if dtype.is_floating_point:
        generator = torch.Generator().manual_seed(0)
        return torch.rand(shape, generator=generator, dtype=dtype)
    return torch.zeros(shape, dtype=dtype)


def _flat(value: Any) -> Any:
    """Return a list of the tensors in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [t for part in parts for t in _flat(part)]
