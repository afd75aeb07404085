"""Run a WebAssembly module in this process with wasmtime, and count its instructions.

The instructions are wasmtime's fuel: one unit for each WebAssembly instruction that is executed, except for those that
only structure the code, such as ``block`` and ``loop``. The count depends neither on the computer nor on its load.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES
from arenite.errors import DeviceError, ToolError
from arenite.firmware.boards.cores import WEBASSEMBLY_STACK_BYTES
from arenite.firmware.webassembly.exports import ModelExports, ModuleTensor

#: wasmtime stops a module whose fuel is used up. No run uses this much.
_FUEL = 1 << 62
#: The byte that fills the unused stack.
_STACK_PAINT = 0xC5


def load_wasmtime() -> Any:
    """Return the package wasmtime. Raises ``ToolError`` if it is not installed."""
    try:
        return importlib.import_module("wasmtime")
    except ImportError as error:
        raise ToolError(
            "The package that runs WebAssembly is not installed.", "Install it: pip install 'arenite[wasm]'"
        ) from error


class ModuleRunner:
    """A module in memory, ready to run. ``counted``: count instructions, which makes inferences slower.

    ``memory_bytes`` is the size of the module's memory. Nothing is stored behind its first ``used_bytes`` bytes.
    ``last_instructions`` (if ``counted``) and ``last_seconds`` are those of the last inference.
    """

    def __init__(self, path: Path, models: Sequence[ModelExports], counted: bool = True) -> None:
        wasmtime = load_wasmtime()
        config = wasmtime.Config()
        config.consume_fuel = counted
        # Relaxed SIMD may depend on the processor. This makes it the same everywhere.
        config.wasm_relaxed_simd_deterministic = True
        engine = wasmtime.Engine(config)
        self._store = wasmtime.Store(engine)
        self._counted = counted
        self.last_instructions, self.last_seconds = 0, 0.0
        self._error = wasmtime.WasmtimeError, wasmtime.Trap
        if counted:
            self._store.set_fuel(_FUEL)
        module = wasmtime.Module.from_file(engine, str(path))
        self.imports = [f"{entry.module}.{entry.name}" for entry in module.imports]
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self.names = [entry.name for entry in module.exports]
        self._memory = self._exports["memory"]
        self._models = {m.name: m for m in models}
        self.used_bytes = int(self._exports["__heap_base"].value(self._store))

    @property
    def memory_bytes(self) -> int:
        return int(self._memory.data_len(self._store))

    def call(self, name: str, *arguments: int) -> Any:
        """Call an exported function. Raises ``DeviceError`` if it traps."""
        try:
            return self._exports[name](self._store, *arguments)
        except self._error as error:
            raise DeviceError(
                f"The module stopped in {name}: {str(error).strip().splitlines()[-1].strip()}.",
                "Report this with the model: a module must never stop.",
            ) from error

    def write(self, address: int, data: bytes) -> None:
        """Copy ``data`` to ``address`` in the module's memory."""
        self._memory.write(self._store, data, address)

    def read(self, address: int, nbytes: int) -> bytes:
        """Return ``nbytes`` bytes at ``address`` in the module's memory."""
        return bytes(self._memory.read(self._store, address, address + nbytes))

    def run(self, name: str, inputs: Sequence[np.ndarray], *, reset: bool = True) -> list[np.ndarray]:
        """Run one inference of the model ``name``, and return its outputs. ``inputs`` has one array per input, with its
        shape and type. ``reset`` first resets the state of a model that has one."""
        model = self._models[name]
        if model.stateful and reset:
            self.call(f"{name}_reset")
        for position, (tensor, value) in enumerate(zip(model.inputs, inputs, strict=True)):
            data = np.ascontiguousarray(value).tobytes()
            if tensor.row_bytes is None:
                self.write(self.call(f"{name}_input", position), data)
        if model.inputs and model.inputs[0].row_bytes is not None:
            self._write_rows(model, np.ascontiguousarray(inputs[0]).tobytes(), model.inputs[0].row_bytes)
        self._invoke(name)
        return [self._output(name, position, tensor) for position, tensor in enumerate(model.outputs)]

    def instructions(self, name: str) -> int:
        """Run an inference on the present inputs, and return the number of its instructions."""
        self._invoke(name)
        return self.last_instructions

    def _invoke(self, name: str) -> None:
        before = self._store.get_fuel() if self._counted else 0
        start = perf_counter()
        self.call(f"{name}_invoke")
        self.last_seconds = perf_counter() - start
        if self._counted:
            self.last_instructions = int(before - self._store.get_fuel())

    def paint_stack(self) -> None:
        """Fill the stack, so that ``stack_bytes`` can tell how much of it an inference uses. The stack is the first
        part of the memory, and grows down to address 0."""
        self.write(0, bytes([_STACK_PAINT]) * WEBASSEMBLY_STACK_BYTES)

    def stack_bytes(self) -> int:
        """Return the number of bytes of the stack that were used since ``paint_stack``."""
        return len(self.read(0, WEBASSEMBLY_STACK_BYTES).lstrip(bytes([_STACK_PAINT])))

    def _write_rows(self, model: ModelExports, data: bytes, row_bytes: int) -> None:
        self.call(f"{model.name}_begin_rows")
        offset = 0
        while address := self.call(f"{model.name}_next_row"):
            self.write(address, data[offset : offset + row_bytes])
            offset += row_bytes
            self.call(f"{model.name}_row_ready")

    def _output(self, name: str, position: int, tensor: ModuleTensor) -> np.ndarray:
        dtype = DTYPES[tensor.dtype]
        data = self.read(self.call(f"{name}_output", position), tensor.nbytes)
        return np.frombuffer(data, dtype).reshape(tensor.shape)
