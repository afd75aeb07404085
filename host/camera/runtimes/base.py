"""The interface of a runtime: memory for its inputs and outputs, and ``invoke``."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """A tensor of the model, in the runtime's own memory. ``address`` stays valid until ``close``."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # float32, int8, uint8, int16, int32, ...
    address: int
    bytes: int
    scale: float = 0.0  # of the quantisation per tensor; 0 for none
    zero_point: int = 0

    def array(self) -> np.ndarray:
        """A view, no copy."""
        memory = (ctypes.c_uint8 * self.bytes).from_address(self.address)
        return np.frombuffer(memoryview(memory), np.dtype(self.dtype)).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class TensorSlot:
    """One set of inputs and outputs. With two, the next frame is prepared while the last one is computed."""

    inputs: tuple[TensorMemory, ...]
    outputs: tuple[TensorMemory, ...]


class Runtime(Protocol):
    name: str  # litert-cpu, litert-gpu, litert-npu, litert-edgetpu, onnx-cpu, onnx-cuda, ...
    slots: tuple[TensorSlot, ...]
    resident_bytes: int  # weights that are not mapped, arena and buffers; measured where possible
    notes: tuple[str, ...]  # for people: copies, fallbacks, operators left on the CPU
    threads: int  # on processors
    copies_slots: bool  # whether more than one slot costs a copy of every input and output

    def invoke(self, slot: int = 0) -> None:
        """Inputs of the slot to its outputs; without the interpreter lock. Raises ``AreniteError``."""
        ...

    def close(self) -> None: ...
