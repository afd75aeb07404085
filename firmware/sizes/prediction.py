"""Predict the flash, static RAM and stack of a firmware in bytes, without a compiler.

The prediction adds up stored section sizes as the linker would: the sections that the vector table and start-up code
reach, each padded to four bytes. The linker scripts give every input section that alignment, so the order of sections
does not matter. The sizes of the code generated for a model are known: constant arrays, and one structure and one
function per layer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from arenite.errors import ProfileError
from arenite.firmware.boards.code_in_ram import require_code_in_ram
from arenite.firmware.boards.cores import optimise_flags
from arenite.firmware.boards.toolchains import GCC
from arenite.firmware.generator.features import ENERGY, NO_FEATURES, Features
from arenite.firmware.generator.generated_model import Generated, symbols_in
from arenite.firmware.generator.lower.core.lowering import KernelCall, StructArray
from arenite.firmware.generator.mlperf_monitor import MONITORS, float_input_count, monitor_bytes
from arenite.firmware.generator.model_source import GUARD_BYTES, arena_bytes, slow_arena_bytes
from arenite.firmware.sizes import stacks
from arenite.firmware.sizes.code_in_ram import code_in_ram
from arenite.firmware.sizes.object_files import ObjectSet, Section
from arenite.firmware.sizes.targets import (
    SECOND_STACK,
    SizeTarget,
    require_toolchain,
    size_file,
    support_key,
    target_of,
)
from arenite.profiles.boards import Board

#: Size of the structure ``ar_arena_part``: an address and a count, on any 32-bit core.
_PART_BYTES = 8

#: Size of the structure ``ar_reals`` in main.c: five words.
_REALS_BYTES = 20

#: The section of the second core's stack in a port.
_SECOND_STACK = ".noinit.ar_second_stack"

#: The sections of the measured layer functions with one kernel call and with two kernel calls.
_ONE_CALL, _TWO_CALLS = "model.c:.text.layer_0", "model.c:.text.layer_1"
#: The section of the measured function of a layer on two cores, which starts the second half on the other core.
_TWO_CORES = "model.c:.text.layer_2"

#: The node name that stands for the layer functions of all loop bodies together.
_BODY_LAYER = "model.c:body"


@dataclass(frozen=True)
class Prediction:
    """The predicted memory of a firmware. All sizes are in bytes.

    Attributes:
        arena: both parts of the arena.
        static: .data and .bss without arena and stack.
        stack: an upper bound.
        weights: constant weights in flash.
        code: everything else in flash.
        exact: False if the board's support code could not be measured (real boards).
        second_core_stack: the stack of the second core; ``static`` includes it.
        arena_slow: the part of the arena in a second memory, without its guard words.
        code_in_ram: the code that runs from RAM; ``static`` and ``code`` include it.
        tables_beside_weights: tables in the section of the weights; ``code`` includes them.
    """

    arena: int
    static: int
    stack: int
    weights: int
    code: int
    exact: bool
    second_core_stack: int = 0
    arena_slow: int = 0
    code_in_ram: int = 0
    tables_beside_weights: int = 0

    @property
    def ram_total(self) -> int:
        """The bytes of RAM in all memories."""
        return self.arena + self.static + self.stack

    @property
    def slow_ram(self) -> int:
        """The bytes in the board's second memory, with the guard words around the arena."""
        return self.arena_slow + GUARD_BYTES if self.arena_slow else 0

    @property
    def fast_ram(self) -> int:
        """The bytes in the board's first memory."""
        return self.ram_total - self.slow_ram

    @property
    def flash_total(self) -> int:
        """The bytes of flash."""
        return self.weights + self.code


@dataclass(frozen=True)
class SizeTable:
    """The stored sizes of one target."""

    engine: dict[str, ObjectSet]  # key: optimization flag without its dash
    support: dict[str, ObjectSet]  # key: see support_key
    digest: str


@cache
def size_table(name: str, toolchain: str = GCC) -> SizeTable:
    """Return the sizes of one target that were measured with ``toolchain``. Raises ``ProfileError`` when the file is
    missing or damaged."""
    path = size_file(name, toolchain)
    try:
        data = json.loads(path.read_text())
        return SizeTable(
            {k: ObjectSet.from_json(v) for k, v in data["engine"].items()},
            {k: ObjectSet.from_json(v) for k, v in data["support"].items()},
            data["digest"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ProfileError(
            f"The size table {path} is missing or damaged.", "Run: python -m arenite.firmware.sizes.measure"
        ) from error


def _word(size: int) -> int:
    """Return ``size`` rounded up to a multiple of four bytes."""
    return -(-size // 4) * 4


def predict(
    generated: Generated,
    board: Board,
    optimise: str,
    protocol: str = "arenite",
    features: Features = NO_FEATURES,
    toolchain: str = GCC,
) -> Prediction:
    """Return the predicted memory of the firmware that ``write_project`` builds with these arguments.

    Raises ``UsageError`` if no sizes were measured with ``toolchain`` for ``board``, or if code cannot run from RAM.
    """
    require_toolchain(board, toolchain)
    if features.code_in_ram:
        require_code_in_ram(board, toolchain)
    target = target_of(board)
    table = size_table(target.name, toolchain)
    engine = table.engine[optimise_flags(optimise)[0].lstrip("-")]
    features = replace(features, second_core_stack=SECOND_STACK if generated.parallel else 0)
    support = _support(table, target, support_key(protocol, generated.streamed_input is not None, features))
    merged = ObjectSet({**engine.sections, **support.sections}, {**engine.symbols, **support.symbols})
    if _TWO_CORES in merged.sections:
        # Only the size of this function is used. The calls in the sample model could make other code look reachable.
        merged.sections[_TWO_CORES] = replace(merged.sections[_TWO_CORES], refs=())
    kernels = sorted({call.kernel for layer in generated.calls for call in layer.all_calls})
    scores_outputs = protocol in MONITORS and float_input_count(generated.model.main) > 0
    if generated.variables:
        kernels.append("ar_reset_state")
    if scores_outputs:
        kernels += ["ar_quantize_reals", "ar_score"]
    kernels += sorted({segment.call.kernel for segment in generated.segments if not segment.streamed_input})
    rows = {layer.call.kernel for layer in generated.calls if layer.call and layer.streamed}
    frame = layer_stack(generated, engine)
    # For each kernel, the functions that it calls through its parameters.
    callbacks: dict[str, set[str]] = {}
    for call in (call for layer in generated.calls for call in layer.all_calls):
        used = {s for s in symbols_in(call.fields) if s in merged.symbols}
        callbacks.setdefault(call.kernel, set()).update(used)
        if call.body:  # a loop calls functions of the model, which call the kernels of its body
            merged.sections[_BODY_LAYER] = Section(_BODY_LAYER, "model", 0, frame, ())
            callbacks[call.kernel].add(_BODY_LAYER)
            callbacks.setdefault(_BODY_LAYER, set()).update(
                c.kernel for inner in call.body for c in inner.all
            )
    kernels += sorted(set().union(*callbacks.values()))
    roots = ["ar_start", *(n for n, s in merged.sections.items() if s.kind == "vectors"), *kernels]
    roots += ["ar_fork", "ar_join"] if generated.parallel else []
    live = merged.reachable(roots)
    live = {n for n in live if not n.startswith(("model.c:",))}

    def total(*kinds: str) -> int:
        return sum(_word(merged.sections[n].size) for n in live if merged.sections[n].kind in kinds)

    # The measured support code has the tick counters and the input copy of the sample model, not those of this model.
    ticks = next(n for n in support.sections if n.startswith("main.c:") and "layer_ticks" in n)
    static_ticks = 4 * max(len(generated.calls), 1) - _word(support.sections[ticks].size)
    code = total("text", "rodata", "data", "vectors") + _model_code(generated, engine)
    code += _REALS_BYTES if scores_outputs else 0
    ram_code = 0
    if features.code_in_ram:
        moved = code_in_ram(merged, live, engine, _called_kernels(generated), target.core)
        code, ram_code = code + moved.added_flash, moved.ram
    # The guard words are in the arena's section. They count as static data, like everything that is not arena.
    slow = slow_arena_bytes(generated)
    static = total("data", "bss", "noinit") + static_ticks + GUARD_BYTES * (2 if slow else 1) + ram_code
    if protocol in MONITORS:
        copied = next(n for n in support.sections if n.startswith("main.c:") and "input_copy" in n)
        static += _word(monitor_bytes(generated.model.main)) - _word(support.sections[copied].size)
    second_core_stack = 0
    if generated.parallel:
        port = board.second_core.port if board.second_core is not None else ""
        halves = sorted({layer.second.kernel for layer in generated.calls if layer.second})
        halves += sorted(set().union(*(callbacks[k] for k in halves)))
        second_core_stack = stacks.second_core_stack(
            merged, halves, callbacks, _layer_section(engine, _ONE_CALL).stack, port
        )
        static += second_core_stack
        static -= sum(_word(merged.sections[n].size) for n in live if n.endswith(_SECOND_STACK))
    beside_weights = generated.tables_beside_weights
    return Prediction(
        arena=arena_bytes(generated) + slow,
        static=static,
        stack=stacks.main_stack(merged, kernels, rows, callbacks, frame),
        weights=sum(_word(c.nbytes) for c in generated.constants if c.is_weight) - beside_weights,
        code=code + beside_weights,
        exact=board.emulated,
        second_core_stack=second_core_stack,
        arena_slow=slow,
        code_in_ram=ram_code,
        tables_beside_weights=beside_weights,
    )


def _called_kernels(generated: Generated) -> set[str]:
    """Return the kernels that functions of the model call by name. The executor of streamed segments calls the others
    through the addresses in its stages."""
    calls = [call for layer in generated.calls if not layer.streamed for call in layer.all_calls]
    calls += [segment.call for segment in generated.segments if not segment.streamed_input]
    return {call.kernel for call in calls} | ({"ar_reset_state"} if generated.variables else set())


def _support(table: SizeTable, target: SizeTarget, key: str) -> ObjectSet:
    """Return the measured support code of ``target`` for ``key``, without mark pins or a second core if the target's
    board has none."""
    if not target.has_pins:
        key = key.replace("-mark", "").replace(ENERGY, "mlperf")
    if "dual" in key and not target.has_second_core:
        key = key.replace("-dual", "")
    if key not in table.support:
        raise ProfileError(
            f"No size is stored for {key} on {target.name}.", "Run: python -m arenite.firmware.sizes.measure"
        )
    return table.support[key]


def _model_code(generated: Generated, engine: ObjectSet) -> int:
    """Return the flash bytes of the generated model.c and of the tables in weights.c."""
    nbytes = sum(_word(c.nbytes) for c in generated.constants if not c.is_weight)
    layer = _layer_section(engine, _ONE_CALL).size
    for item in generated.calls:
        assert item.call is not None
        own = _function_of(item.call) if item.second is None else _TWO_CORES
        nbytes += 0 if item.streamed else _word(_layer_section(engine, own).size)
        nbytes += sum(_word(_layer_section(engine, _function_of(c)).size) + 4 for c in item.call.body)
        nbytes += 0 if item.second is None else _word(layer)
        nbytes += sum(call_bytes(call, engine) for call in item.all_calls)
    for segment in generated.segments:
        nbytes += (0 if segment.streamed_input else _word(layer)) + call_bytes(segment.call, engine)
    graph = generated.model.main
    nbytes += 4 * max(len(generated.calls), 1)  # the addresses of the layer functions
    nbytes += (len(graph.inputs) + len(graph.outputs)) * _sizeof("ar_io", engine)
    nbytes += _sizeof("ar_model", engine) + _word(len(generated.name) + 1)
    nbytes += _PART_BYTES if slow_arena_bytes(generated) else 0
    if generated.variables:
        nbytes += len(generated.variables) * _sizeof("ar_state", engine) + _sizeof(
            "ar_reset_state_params", engine
        )
        nbytes += sum(_word(v.nbytes) for v in generated.variables if v.fill is None)
        nbytes += _word(layer)
    return nbytes


def _function_of(call: KernelCall) -> str:
    """Return the measured section of the function that makes ``call``."""
    return _ONE_CALL if call.before is None else _TWO_CALLS


def layer_stack(generated: Generated, engine: ObjectSet) -> int:
    """Return the largest stack frame of the model's layer functions, in bytes."""
    has_two_calls = any(call.before is not None for layer in generated.calls for call in layer.all_calls)
    kinds = [
        _ONE_CALL,
        *([_TWO_CALLS] if has_two_calls else []),
        *([_TWO_CORES] if generated.parallel else []),
    ]
    return max(_layer_section(engine, own).stack for own in kinds)


def _layer_section(engine: ObjectSet, name: str) -> Section:
    """Return the measured section of a layer function."""
    if name not in engine.sections:
        raise ProfileError(f"No size is stored for {name}.", "Run: python -m arenite.firmware.sizes.measure")
    return engine.sections[name]


def call_bytes(call: KernelCall, engine: ObjectSet) -> int:
    """Return the size of the parameter structure of one call, and of the arrays of structures that it points to."""
    return _word(_sizeof(call.params_type, engine)) + _array_bytes(call.fields, engine)


def _array_bytes(fields: Mapping[str, Any], engine: ObjectSet) -> int:
    """Return the size of all arrays of structures in ``fields``. Items of an array may contain further arrays."""
    nbytes = 0
    for value in fields.values():
        if isinstance(value, StructArray):
            nbytes += _word(len(value.items) * _sizeof(value.c_type, engine))
            nbytes += sum(_array_bytes(item, engine) for item in value.items)
        elif isinstance(value, Mapping):
            nbytes += _array_bytes(value, engine)
    return nbytes


def _sizeof(struct: str, engine: ObjectSet) -> int:
    """Return the measured size of a C structure in bytes."""
    node = engine.symbols.get(f"sizeof_{struct}")
    if node is None:
        raise ProfileError(
            f"No size is stored for {struct}.", "Run: python -m arenite.firmware.sizes.measure"
        )
    return engine.sections[node].size
