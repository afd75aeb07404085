"""Run models on ONNX Runtime.

Every input and output is in the loop's own memory, so the CPU provider copies no tensors. With CUDA and TensorRT, ONNX
Runtime copies inputs and outputs between the loop's memory and the GPU's memory. Only the CPU provider has been tested;
the other providers use the same calls and have never run on their hardware.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import ModelError, UnsupportedModelError, UsageError
from arenite.host.camera.runtimes.base import TensorMemory, TensorSlot
from arenite.host.camera.runtimes.process_memory import aligned_bytes, allocated_bytes, parse_shape

#: The execution providers of each runtime. An operator runs on the first provider that supports it.
PROVIDERS = {
    "onnx-cpu": ("CPUExecutionProvider",),
    "onnx-cuda": ("CUDAExecutionProvider", "CPUExecutionProvider"),
    "onnx-tensorrt": ("TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"),
    "onnx-qnn": ("QNNExecutionProvider", "CPUExecutionProvider"),
    "onnx-nnapi": ("NnapiExecutionProvider", "CPUExecutionProvider"),
    "onnx-coreml": ("CoreMLExecutionProvider", "CPUExecutionProvider"),
}
#: The package or build that contains the provider of each runtime.
_BUILDS = {
    "onnx-cuda": "onnxruntime-gpu, or NVIDIA's wheel for Jetson",
    "onnx-tensorrt": "onnxruntime-gpu with TensorRT, or NVIDIA's wheel for Jetson",
    "onnx-qnn": "onnxruntime-qnn",
    "onnx-nnapi": "a build of ONNX Runtime for Android",
    "onnx-coreml": "ONNX Runtime's wheel for macOS",
}
_DTYPES = {
    "tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(int8)": "int8",
    "tensor(uint8)": "uint8", "tensor(int16)": "int16", "tensor(uint16)": "uint16", "tensor(int32)": "int32",
    "tensor(uint32)": "uint32", "tensor(int64)": "int64", "tensor(uint64)": "uint64", "tensor(bool)": "bool",
}  # fmt: skip


class OnnxSession:
    """The ``Runtime`` for ONNX Runtime. Its options are ``input`` (and ``input1``, …), the shape of an input with
    dynamic dimensions, and ``provider.NAME``, the option NAME of the provider, such as ``provider.trt_fp16_enable=1``.

    Raises ``ModelError``, and ``UsageError`` if ONNX Runtime or the provider is missing.
    """

    def __init__(self, path: Path, name: str, threads: int, slots: int, options: Mapping[str, str]) -> None:
        self.name = name
        self.path = path
        self.threads = threads
        self.notes: tuple[str, ...] = ()
        self.copies_slots = False
        ort = onnxruntime()
        providers = PROVIDERS[name]
        if providers[0] not in ort.get_available_providers():
            raise UsageError(
                f"The installed ONNX Runtime has no {providers[0]}; it has "
                f"{', '.join(ort.get_available_providers())}.",
                f"Install {_BUILDS[name]}.",
            )
        before = allocated_bytes()
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = 4  # errors arrive as exceptions
        # Threads that spin while they wait for the next layer cost power and save little time on small models.
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        provider_options = {
            key.removeprefix("provider."): text for key, text in options.items() if "." in key
        }
        chosen = [(providers[0], provider_options), *providers[1:]] if provider_options else list(providers)
        try:
            self._session: Any = ort.InferenceSession(str(path), settings, providers=chosen)
            if self._session.get_providers()[0] != providers[0]:
                raise UsageError(f"{providers[0]} did not start.", f"Install {_BUILDS[name]}.")
            inputs, outputs = self._shapes(options)
            self._arrays: list[np.ndarray] = []
            self.slots = tuple(
                TensorSlot(self._allocate(inputs), self._allocate(outputs)) for _ in range(slots)
            )
            self._bindings = [self._bind(slot) for slot in self.slots]
        except UsageError:
            raise
        except Exception as error:  # ONNX Runtime has its own exception types, one per status
            raise ModelError(
                f"{name} cannot run {path}: ONNX Runtime reported: {' '.join(str(error).split())}",
                "Check that it is an ONNX model and that the provider knows its operators.",
            ) from error
        if name in ("onnx-cuda", "onnx-tensorrt"):
            self.notes += ("The GPU has its own memory: inputs and outputs are copied once each.",)
        self.resident_bytes = max(allocated_bytes() - before, sum(array.nbytes for array in self._arrays))
        #: Runs the model on the inputs of a slot.
        self.invoke: Callable[..., None] = self._invoke

    def _shapes(self, options: Mapping[str, str]) -> tuple[list[TensorMemory], list[TensorMemory]]:
        """Return the inputs and the outputs with their shapes, but without memory (address 0)."""
        inputs = []
        for position, tensor in enumerate(self._session.get_inputs()):
            text = options.get(f"input{position}", options.get("input", "") if position == 0 else "")
            shape = parse_shape(text) if text else tuple(tensor.shape)
            # A dynamic batch size becomes 1, because the loop serves one frame at a time.
            if shape and not isinstance(shape[0], int):
                shape = (1, *shape[1:])
            inputs.append(self._to_memory(tensor, shape))
        outputs = self._session.get_outputs()
        shapes = [tuple(tensor.shape) for tensor in outputs]
        if any(not isinstance(size, int) for shape in shapes for size in shape) or "input" in options:
            zeros = {m.name: np.zeros(m.shape, m.dtype) for m in inputs}
            shapes = [np.shape(output) for output in self._session.run(None, zeros)]
        return inputs, [self._to_memory(tensor, shape) for tensor, shape in zip(outputs, shapes, strict=True)]

    def _to_memory(self, tensor: Any, shape: tuple[Any, ...]) -> TensorMemory:
        dynamic = [size for size in shape if not isinstance(size, int) or size < 1]
        if tensor.type not in _DTYPES or dynamic:
            problem = f"has dynamic dimensions {dynamic}" if dynamic else f"has the type {tensor.type}"
            raise UnsupportedModelError(
                f"Tensor '{tensor.name}' of {self.path} {problem}.",
                "Give its shape: the option input=1x3x192x192.",
            )
        dtype = _DTYPES[tensor.type]
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return TensorMemory(tensor.name, shape, dtype, 0, size)

    def _allocate(self, tensors: list[TensorMemory]) -> tuple[TensorMemory, ...]:
        allocated = []
        for memory in tensors:
            self._arrays.append(aligned_bytes(memory.bytes))
            address = self._arrays[-1].ctypes.data
            allocated.append(TensorMemory(memory.name, memory.shape, memory.dtype, address, memory.bytes))
        return tuple(allocated)

    def _bind(self, slot: TensorSlot) -> Any:
        binding = self._session.io_binding()
        for bind, tensors in ((binding.bind_input, slot.inputs), (binding.bind_output, slot.outputs)):
            for memory in tensors:
                bind(memory.name, "cpu", 0, np.dtype(memory.dtype), memory.shape, memory.address)
        return binding

    def _invoke(self, slot: int = 0) -> None:
        try:
            self._session.run_with_iobinding(self._bindings[slot])
        except Exception as error:  # ONNX Runtime has its own exception types, one per status
            raise ModelError(
                f"{self.name} failed on {self.path}: {' '.join(str(error).split())}",
                "Try --runtime onnx-cpu.",
            ) from error

    def close(self) -> None:
        """Free all memory, including that of the slots."""
        self.invoke = self._invoke_closed
        self._bindings = []
        self._session = None
        self._arrays = []

    def _invoke_closed(self, slot: int = 0) -> None:
        raise UsageError(f"The runtime of {self.path} is closed.", "Open it again.")


def onnxruntime() -> Any:
    """Import ONNX Runtime and return the module. Raises ``UsageError`` if it is not installed."""
    try:
        import onnxruntime as module
    except ImportError as error:
        raise UsageError(
            "ONNX models need ONNX Runtime, which is not installed.",
            "Install it: pip install 'arenite[onnxruntime]'",
        ) from error
    return module
