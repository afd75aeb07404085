"""The interface of a runtime: memory for its inputs and outputs, and ``invoke``."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """A tensor of the model, in the runtime's own memory: ``bytes`` bytes at ``address``, which is valid until the
    runtime is closed."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # float32, int8, uint8, int16, int32, ...
    address: int
    bytes: int
    scale: float = 0.0  # scale of a quantization per tensor; 0 if there is none
    zero_point: int = 0

    def array(self) -> np.ndarray:
        """Return a view of the tensor, without a copy."""
        memory = (ctypes.c_uint8 * self.bytes).from_address(self.address)
        return np.frombuffer(memoryview(memory), np.dtype(self.dtype)).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class TensorSlot:
    """One set of the model's inputs and outputs. If there are two slots, the next frame can be prepared in one slot
    while the model runs on the other slot."""

    inputs: tuple[TensorMemory, ...]
    outputs: tuple[TensorMemory, ...]


class Runtime(Protocol):
    """A model that is loaded and ready to run."""

    name: str  # litert-cpu, litert-gpu, litert-npu, litert-edgetpu, onnx-cpu, onnx-cuda, ...
    slots: tuple[TensorSlot, ...]
    resident_bytes: (
        int  # memory of weights (unless mapped from the file), arena and buffers; measured where possible
    )
    notes: tuple[str, ...]  # sentences for display: copies, fallbacks, operators that run on the CPU
    threads: int  # the number of threads that the model runs on
    copies_slots: bool  # whether the runtime has several slots and must copy every input and output for them

    def invoke(self, slot: int = 0) -> None:
        """Run the model on the inputs of the slot, without holding Python's interpreter lock. Raises
        ``AreniteError``."""
        ...

    def close(self) -> None: ...
