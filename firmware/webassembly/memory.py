"""Predict the memory of a WebAssembly module before it is built.

The memory consists of pages of 64 KiB, and its size is fixed in the module. It begins with the stack, so a stack
overflow traps. The constants, the arena and the buffers of the exported functions follow the stack. The prediction
decides the number of pages; the linker confirms that everything fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arenite.firmware.boards.cores import WEBASSEMBLY_STACK_BYTES
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.lower.core.lowering import StructArray
from arenite.firmware.generator.model_source import GUARD_BYTES, arena_bytes
from arenite.firmware.webassembly.exports import ModelExports, export_buffer_bytes

PAGE_BYTES = 65536
#: An upper bound in bytes of the tables inside the engine's kernels, and of what the linker adds.
_ENGINE_BYTES = 6144
#: Upper bounds in bytes: a field of a structure, and the description of a model without its name and tensors.
_FIELD_BYTES, _MODEL_BYTES = 8, 512
#: An upper bound of the bytes of the parameters of one model's pre- or postprocessing.
_PROCESSING_BYTES = 1024
#: The array definitions in a C source: the type of the elements, and their number.
_ARRAY = re.compile(r"^static (?:const )?(u?int(?:8|16|32|64)_t) \w+\[(\d+)\]", re.MULTILINE)
_ELEMENT_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclass(frozen=True)
class ModuleMemory:
    """Bytes of a module's memory, by purpose. ``constants`` includes the parameters of the layers."""

    stack: int
    constants: int
    arena: int
    buffers: int

    @property
    def pages(self) -> int:
        return -(-(self.stack + self.constants + self.arena + self.buffers) // PAGE_BYTES)

    @property
    def nbytes(self) -> int:
        """The size of the module's memory, which never changes."""
        return self.pages * PAGE_BYTES


def predict_memory(
    models: Sequence[Generated], exports: Sequence[ModelExports], processing_texts: Sequence[str]
) -> ModuleMemory:
    """Return the memory of a module with these models. ``processing_texts`` are the C sources of their pre- and
    postprocessing."""
    shared = {g.shared.nbytes + GUARD_BYTES for g in models if g.shared is not None}
    own = sum(arena_bytes(g) + GUARD_BYTES for g in models if g.shared is None)
    arrays = [match for text in processing_texts for match in _ARRAY.findall(text)]
    tables = sum(_aligned(_ELEMENT_BYTES[re.sub(r"\D", "", c_type)] * int(count)) for c_type, count in arrays)
    constants = (
        _ENGINE_BYTES + tables + _PROCESSING_BYTES * len(processing_texts) + sum(map(_constant_bytes, models))
    )
    return ModuleMemory(
        WEBASSEMBLY_STACK_BYTES, constants, own + sum(shared), sum(map(export_buffer_bytes, exports))
    )


def _constant_bytes(g: Generated) -> int:
    """Return an upper bound of the constants of a model."""
    arrays = sum(_aligned(c.nbytes) for c in g.constants)
    calls = [call for layer in g.calls for call in layer.all_calls]
    calls += [segment.call for segment in g.segments]
    parameters = sum(_aligned(_bytes_of(call.fields)) for call in calls)
    state = sum(_aligned(v.nbytes if v.fill is None else 0) + 16 for v in g.variables)
    tensors = len(g.model.main.inputs) + len(g.model.main.outputs)
    # 12 bytes for the ``ar_io`` of an input or output, and 4 bytes for the address of a layer function.
    return (
        arrays + parameters + state + 12 * tensors + 4 * len(calls) + len(g.name.encode()) * 4 + _MODEL_BYTES
    )


def _bytes_of(value: Any) -> int:
    """Return an upper bound of the bytes of ``value``, a field of a structure or a collection of fields."""
    if isinstance(value, Mapping):
        return sum(map(_bytes_of, value.values()))
    if isinstance(value, StructArray):
        return _FIELD_BYTES + _aligned(sum(map(_bytes_of, value.items)))
    if isinstance(value, (list, tuple)):
        return sum(map(_bytes_of, value))
    return _FIELD_BYTES


def _aligned(nbytes: int) -> int:
    """Return ``nbytes`` rounded up to a multiple of 16."""
    return -(-nbytes // 16) * 16
