"""Tensor buffers of LiteRT's CompiledModel: one set per slot, in memory that the loop reads and writes directly."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.errors import UnsupportedModelError
from arenite.host.camera.runtimes import litert_library as lite
from arenite.host.camera.runtimes.base import TensorMemory
from arenite.host.camera.runtimes.litert_library import Handle, Library, Size
from arenite.host.camera.runtimes.process_memory import aligned_bytes


@dataclass(frozen=True)
class SignatureTensor:
    """An input or output of the signature. ``requirements`` is the handle of LiteRT's requirements for its buffer."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero_point: int
    type: lite.TensorType
    requirements: Handle

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    def in_memory(self, address: int) -> TensorMemory:
        """Return the tensor in the memory at ``address``."""
        return TensorMemory(
            self.name, self.shape, self.dtype, address, self.bytes, self.scale, self.zero_point
        )


def signature_tensor(
    lib: Library, handle: Handle, layout: lite.Layout, requirements: Handle, path: Any
) -> SignatureTensor:
    """Return the properties of the tensor ``handle``, whose present shape is that of ``layout``. ``path`` is for error
    messages. Raises ``UnsupportedModelError``."""
    name = ctypes.c_char_p()
    lib.call("LiteRtGetTensorName", handle, ctypes.byref(name))
    text = (name.value or b"").decode("utf-8", "replace")
    kind = lite.TensorType()
    lib.call("LiteRtGetRankedTensorType", handle, ctypes.byref(kind))
    dtype = lite.DTYPES.get(kind.element)
    if dtype is None or min(layout.shape, default=1) < 1:
        problem = f"type {kind.element}" if dtype is None else f"shape {list(layout.shape)}"
        raise UnsupportedModelError(
            f"Tensor '{text}' of {path} has {problem}, which the camera loop does not support.",
            "Give the option input=1x192x192x3 if the model's input can be resized, or convert it with fixed shapes.",
        )
    kind.layout = layout
    quantization = ctypes.c_int()
    lib.call("LiteRtGetQuantizationTypeId", handle, ctypes.byref(quantization))
    scale = lite.PerTensorQuantization()
    if quantization.value == 1:  # kLiteRtQuantizationPerTensor
        lib.call("LiteRtGetPerTensorQuantization", handle, ctypes.byref(scale))
    return SignatureTensor(text, layout.shape, dtype, scale.scale, scale.zero_point, kind, requirements)


class SlotBuffers:
    """The buffers of one slot. If ``staged`` is True, the processor cannot address some buffers. ``inputs`` and
    ``outputs`` are then copies of them, and ``upload`` and ``download`` copy the data."""

    def __init__(
        self, lib: Library, environment: Handle, inputs: list[SignatureTensor], outputs: list[SignatureTensor]
    ) -> None:
        self._lib = lib
        self.staged = False
        self._staging: list[np.ndarray] = []
        self._ins, self.inputs = self._create(environment, inputs)
        self._outs, self.outputs = self._create(environment, outputs)

    def _create(self, environment: Handle, tensors: list[SignatureTensor]) -> tuple[Any, list[TensorMemory]]:
        handles = (Handle * len(tensors))()
        memories = []
        for i, tensor in enumerate(tensors):
            buffer = self._lib.make(
                "LiteRtCreateManagedTensorBufferFromRequirements",
                environment, ctypes.byref(tensor.type), tensor.requirements,
            )  # fmt: skip
            handles[i] = buffer
            kind = ctypes.c_int()
            self._lib.call("LiteRtGetTensorBufferType", buffer, ctypes.byref(kind))
            if kind.value == lite.HOST_MEMORY:
                address = self._lib.make("LiteRtGetTensorBufferHostMemory", buffer).value or 0
                ctypes.memset(address, 0, tensor.bytes)
            else:
                self.staged = True
                self._staging.append(aligned_bytes(tensor.bytes))
                address = self._staging[-1].ctypes.data
            memories.append(tensor.in_memory(address))
        return handles, memories

    def arguments(self, compiled: Handle, signature: int) -> tuple[Any, ...]:
        """Return the arguments of LiteRtRunCompiledModel as ctypes objects, so that no call has to convert them."""
        return compiled, Size(signature), Size(len(self._ins)), self._ins, Size(len(self._outs)), self._outs

    def upload(self) -> None:
        """Copy the inputs into LiteRT's buffers."""
        for handle, memory in zip(self._ins, self.inputs, strict=True):
            self._copy(Handle(handle), memory, lite.LOCK_WRITE)

    def download(self) -> None:
        """Copy LiteRT's buffers into the outputs."""
        for handle, memory in zip(self._outs, self.outputs, strict=True):
            self._copy(Handle(handle), memory, lite.LOCK_READ)

    def _copy(self, handle: Handle, memory: TensorMemory, mode: int) -> None:
        locked = Handle()
        self._lib.call("LiteRtLockTensorBuffer", handle, ctypes.byref(locked), mode)
        try:
            target, source = locked.value or 0, memory.address
            if target != source:
                if mode != lite.LOCK_WRITE:
                    target, source = source, target
                ctypes.memmove(target, source, memory.bytes)
        finally:
            self._lib.call("LiteRtUnlockTensorBuffer", handle)

    def close(self) -> None:
        for handle in [*self._ins, *self._outs]:
            self._lib.c.LiteRtDestroyTensorBuffer(Handle(handle))
