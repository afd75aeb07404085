"""Run models on the stock interpreter: the class ``Interpreter`` of ai-edge-litert or of tflite-runtime.

The interpreter is for boards whose LiteRT has no usable C library, and for accelerators that come as delegates: Coral's
EdgeTPU (``libedgetpu.so.1``), Qualcomm's QNN (``libQnnTFLiteDelegate.so``) and any other library that exports
``tflite_plugin_create_delegate``. The two named delegates have never been tested on their hardware.

The interpreter has one set of tensors. A single slot uses the memory of these tensors. If there are more slots, inputs
and outputs are copied; ``notes`` then says so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import ModelError, ToolError, UnsupportedModelError, UsageError
from arenite.host.camera.runtimes import litert_library as lite
from arenite.host.camera.runtimes.base import TensorMemory, TensorSlot
from arenite.host.camera.runtimes.process_memory import (
    aligned_bytes,
    allocated_bytes,
    copy_tensor,
    parse_shape,
)

_PACKAGES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter")


class StockInterpreter:
    """The ``Runtime`` for the stock interpreter. ``delegate`` names the library of an external delegate with its
    options, such as ``libedgetpu.so.1,device=usb``; "" means no delegate. The options of the runtime are ``input`` (and
    ``input1``, …), the shape of an input.

    Raises ``ModelError``, ``ToolError`` if the delegate cannot be loaded, and ``UsageError`` if no interpreter is
    installed.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        threads: int,
        slots: int,
        options: Mapping[str, str],
        delegate: str = "",
    ) -> None:
        self.name = name
        self.path = path
        self.threads = threads
        self.notes: tuple[str, ...] = ()
        module = import_interpreter()
        before = allocated_bytes()
        self._interpreter: Any
        try:
            (self._interpreter, delegates), log = lite.with_captured_log(
                lambda: _create_interpreter(module, path, threads, options, delegate)
            )
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"{name} cannot run {path}: the interpreter reported: {' '.join(str(error).split())}.",
                "Convert the model again, or try another runtime.",
            ) from error
        self._delegates = delegates  # kept longer than the interpreter, which calls them when it is freed
        self._inputs = [self._tensor_memory(details) for details in self._interpreter.get_input_details()]
        self._outputs = [self._tensor_memory(details) for details in self._interpreter.get_output_details()]
        own_slot = TensorSlot(tuple(self._inputs), tuple(self._outputs))
        self._copies: list[np.ndarray] = []
        self.slots = (own_slot,) if slots == 1 else tuple(self._copy_of(own_slot) for _ in range(slots))

        self.copies_slots = slots > 1
        if self.copies_slots:
            self.notes += (
                "The interpreter has one set of tensors: inputs and outputs are copied once each.",
            )
        if delegate:
            self.notes += _delegation_notes(self._interpreter)
        if log:
            self.notes += (f"The interpreter reported: {log}",)
        self.resident_bytes = max(
            allocated_bytes() - before, sum(m.bytes for m in own_slot.inputs + own_slot.outputs)
        )
        #: Runs the model on the inputs of a slot.
        self.invoke: Callable[..., None] = self._invoke if slots == 1 else self._invoke_copying

    def _tensor_memory(self, details: dict[str, Any]) -> TensorMemory:
        view = self._interpreter.tensor(details["index"])()
        dtype = np.dtype(details["dtype"])
        if dtype.kind not in "fiub" or not view.size:
            raise UnsupportedModelError(
                f"Tensor '{details['name']}' of {self.path} is {dtype} {list(view.shape)}, which the camera loop does "
                "not support.",
                "Give the option input=1x192x192x3 if its input can be resized, or convert it with fixed shapes.",
            )
        scale, zero_point = details["quantization"]
        # Store only the address, because the interpreter refuses to run while a view of its tensors exists.
        return TensorMemory(
            details["name"],
            view.shape,
            dtype.name,
            view.ctypes.data,
            view.nbytes,
            float(scale),
            int(zero_point),
        )

    def _copy_of(self, slot: TensorSlot) -> TensorSlot:
        """Return a slot with the same tensors in separate memory."""

        def copied(tensors: tuple[TensorMemory, ...]) -> tuple[TensorMemory, ...]:
            copies = []
            for memory in tensors:
                self._copies.append(aligned_bytes(memory.bytes))
                address = self._copies[-1].ctypes.data
                copies.append(
                    TensorMemory(
                        memory.name, memory.shape, memory.dtype, address, memory.bytes, memory.scale,
                        memory.zero_point,
                    )
                )  # fmt: skip
            return tuple(copies)

        return TensorSlot(copied(slot.inputs), copied(slot.outputs))

    def _invoke(self, slot: int = 0) -> None:
        try:
            self._interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"{self.name} failed on {self.path}: {' '.join(str(error).split())}.",
                "Try another runtime: --runtime litert-cpu.",
            ) from error

    def _invoke_copying(self, slot: int = 0) -> None:
        chosen = self.slots[slot]
        for tensor, slot_input in zip(self._inputs, chosen.inputs, strict=True):
            copy_tensor(slot_input, tensor.address)
        self._invoke()
        for tensor, slot_output in zip(self._outputs, chosen.outputs, strict=True):
            copy_tensor(tensor, slot_output.address)

    def close(self) -> None:
        """Free all memory, including that of the slots."""
        self.invoke = self._invoke_closed
        self._interpreter = None
        self._delegates = []

    def _invoke_closed(self, slot: int = 0) -> None:
        raise UsageError(f"The runtime of {self.path} is closed.", "Open it again.")


def import_interpreter() -> Any:
    """Return the module that contains ``Interpreter`` and ``load_delegate``. Raises ``UsageError`` if it is not
    installed."""
    for package in _PACKAGES:
        try:
            return import_module(package)
        except ImportError:
            continue
    raise UsageError("No TFLite interpreter is installed.", "Install one: pip install ai-edge-litert")


def _create_interpreter(
    module: Any, path: Path, threads: int, options: Mapping[str, str], delegate: str
) -> tuple[Any, list[Any]]:
    delegates = [_load_delegate(module, delegate)] if delegate else []
    interpreter = module.Interpreter(
        model_path=str(path), num_threads=threads, experimental_delegates=delegates or None
    )
    for index, details in enumerate(interpreter.get_input_details()):
        text = options.get(f"input{index}", options.get("input", "") if index == 0 else "")
        if text:
            interpreter.resize_tensor_input(details["index"], list(parse_shape(text)))
    interpreter.allocate_tensors()
    return interpreter, delegates


def _load_delegate(module: Any, text: str) -> Any:
    library, *pairs = text.split(",")
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(
                f"'{pair}' is not an option of a delegate.", "Write delegate:LIBRARY.so,name=value,..."
            )
        options[key] = value
    try:
        # Check this here, because the package's own class prints to standard error if it fails this early.
        if not hasattr(ctypes.CDLL(library), "tflite_plugin_create_delegate"):
            raise OSError("it has no tflite_plugin_create_delegate")
        return module.load_delegate(library, options)
    except (OSError, ValueError, RuntimeError, AttributeError) as error:
        raise ToolError(
            f"The delegate {library} cannot be loaded: {' '.join(str(error).split()) or type(error).__name__}.",
            "Install the vendor's library, give its full path, or use --runtime litert-cpu.",
        ) from error


def _delegation_notes(interpreter: Any) -> tuple[str, ...]:
    """Return a note if the delegate runs no part or several parts of the graph, else (). The interpreter's list of
    operators is not a public API; if it is missing, return ()."""
    try:
        names = [operator["op_name"] for operator in interpreter._get_ops_details()]
    except (AttributeError, KeyError):
        return ()
    parts = sum(name == "DELEGATE" for name in names)
    if not parts:
        return ("The delegate supports none of the operators, so all of them run on the CPU.",)
    return () if parts == 1 else (f"The delegate splits the graph into {parts} parts.",)
