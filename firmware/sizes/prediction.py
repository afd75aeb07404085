"""Bytes of flash, static RAM and stack of a firmware, before any compiler runs.

Adds up stored section sizes as the linker would: the sections that the vector table and start-up reach, each padded
to four bytes (the linker scripts give every input section that alignment, so their order does not matter). What is
generated for the model has sizes known by construction: constant arrays, one structure and one function per layer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from arenite.errors import ProfileError
from arenite.firmware.boards.cores import optimise_flags
from arenite.firmware.generator.features import ENERGY, NO_FEATURES, Features
from arenite.firmware.generator.generated_model import Generated, symbols_in
from arenite.firmware.generator.lower.core.lowering import KernelCall, StructArray
from arenite.firmware.generator.mlperf_monitor import MONITORS, monitor_bytes, reals_of
from arenite.firmware.generator.model_source import GUARD_BYTES, arena_bytes, slow_arena_bytes
from arenite.firmware.sizes.object_files import ObjectSet, Section
from arenite.firmware.sizes.targets import SECOND_STACK, SIZES, SizeTarget, support_key, target_of
from arenite.profiles.boards import Board

#: Stack of a compiler library routine: GCC gives no figure for its own assembly, which never needs more. Assumed.
LIBRARY_FRAME = 64


#: Bytes of ``ar_arena_part``: an address and a count, on any core of 32 bits.
_PART_BYTES = 8

#: The structure ``ar_reals`` in main.c: five words.
_REALS_BYTES = 20

#: Functions of a model's layers: one call, or two.
_LAYER, _TWO_CALLS = "model.c:.text.layer_0", "model.c:.text.layer_1"
#: The function of a layer on two cores that starts the other half.
_FORK = "model.c:.text.layer_2"

#: Functions of stream.c from the innermost on: the first that the compiler left is where rows are called.
_ROW_CALLERS = ("advance", "ar_stream_begin")


@dataclass(frozen=True)
class Prediction:
    """All in bytes. ``static`` is every .data and .bss byte that is neither arena nor stack; ``stack`` is a bound.
    ``arena_slow``: the part of the arena in a second memory, with the guard words around it."""

    arena: int
    static: int
    stack: int
    weights: int
    code: int
    exact: bool  # False where the core's own support code could not be measured (real boards)
    second_stack: int = 0  # of the second core, reserved to the byte: part of ``static``
    arena_slow: int = 0

    @property
    def ram_total(self) -> int:
        return self.arena + self.static + self.stack

    @property
    def slow_ram(self) -> int:
        """Return the bytes in the second memory."""
        return self.arena_slow + GUARD_BYTES if self.arena_slow else 0

    @property
    def fast_ram(self) -> int:
        """Bytes in the board's first memory."""
        return self.ram_total - self.slow_ram

    @property
    def flash_total(self) -> int:
        return self.weights + self.code


@dataclass(frozen=True)
class SizeTable:
    engine: dict[str, ObjectSet]  # by optimisation flag without its dash
    support: dict[str, ObjectSet]  # by what support_key makes of protocol and features
    digest: str


@cache
def size_table(name: str) -> SizeTable:
    """The stored sizes of one target; ``ProfileError`` when the file is missing or damaged."""
    path = SIZES / f"{name}.json"
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
    return -(-size // 4) * 4


def predict(
    generated: Generated,
    board: Board,
    optimise: str,
    protocol: str = "arenite",
    features: Features = NO_FEATURES,
) -> Prediction:
    """Predict the firmware that ``write_project`` with these arguments would build."""
    target = target_of(board)
    table = size_table(target.name)
    engine = table.engine[optimise_flags(optimise)[0].lstrip("-")]
    features = replace(features, second_stack=SECOND_STACK if generated.parallel else 0)
    support = _support(table, target, support_key(protocol, generated.streamed_input is not None, features))
    merged = ObjectSet({**engine.sections, **support.sections}, {**engine.symbols, **support.symbols})
    if _FORK in merged.sections:
        # The measured sample's own layer is not this model's; what it calls may start the board again.
        merged.sections[_FORK] = replace(merged.sections[_FORK], refs=())
    kernels = sorted({call.kernel for layer in generated.calls for call in layer.all_calls})
    scored = protocol in MONITORS and reals_of(generated.model.main) > 0
    if generated.variables:
        kernels.append("ar_reset_state")
    if scored:
        kernels += ["ar_quantize_reals", "ar_score"]
    kernels += sorted({segment.call.kernel for segment in generated.segments if not segment.streamed_input})
    rows = {layer.call.kernel for layer in generated.calls if layer.call and layer.streamed}
    # Functions that a kernel is given in its parameters.
    given: dict[str, set[str]] = {}
    for layer in generated.calls:
        if layer.call:
            used = {s for s in symbols_in(layer.call.fields) if s in merged.symbols}
            given.setdefault(layer.call.kernel, set()).update(used)
    kernels += sorted(set().union(*given.values()))
    roots = ["ar_start", *(n for n, s in merged.sections.items() if s.kind == "vectors"), *kernels]
    roots += ["ar_fork", "ar_join"] if generated.parallel else []
    live = merged.reachable(roots)
    live = {n for n in live if not n.startswith(("model.c:",))}

    def total(*kinds: str) -> int:
        return sum(_word(merged.sections[n].size) for n in live if merged.sections[n].kind in kinds)

    ticks = next(n for n in support.sections if n.startswith("main.c:") and "layer_ticks" in n)
    static_ticks = 4 * max(len(generated.calls), 1) - _word(support.sections[ticks].size)
    code = total("text", "rodata", "data", "vectors") + _model_code(generated, engine)
    code += _REALS_BYTES if scored else 0
    # The guards lie in the arena's section and are counted as static data, like everything that is not arena.
    slow = slow_arena_bytes(generated)
    static = total("data", "bss", "noinit") + static_ticks + GUARD_BYTES * (2 if slow else 1)
    if protocol in MONITORS:
        copied = next(n for n in support.sections if n.startswith("main.c:") and "input_copy" in n)
        static += _word(monitor_bytes(generated.model.main)) - _word(support.sections[copied].size)
    frame = layer_stack(generated, engine)
    second_stack = 0
    if generated.parallel:
        port = board.second_core.port if board.second_core is not None else ""
        halves = sorted({layer.second.kernel for layer in generated.calls if layer.second})
        halves += sorted(set().union(*(given[k] for k in halves)))
        second_stack = _second_stack(merged, halves, given, _layer_of(engine, _LAYER).stack, port)
        static += second_stack
        static -= sum(_word(merged.sections[n].size) for n in live if n.endswith(_SECOND_STACK))
    return Prediction(
        arena=arena_bytes(generated) + slow,
        static=static,
        stack=_stack(merged, kernels, rows, given, frame),
        weights=sum(_word(c.nbytes) for c in generated.constants if c.is_weight),
        code=code,
        exact=board.emulated,
        second_stack=second_stack,
        arena_slow=slow,
    )


def _support(table: SizeTable, target: SizeTarget, key: str) -> ObjectSet:
    """The support code called ``key``; without a mark where the emulated board that was measured has no pins."""
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
    """Flash of the generated model.c and of the tables in weights.c."""
    bytes_ = sum(_word(c.nbytes) for c in generated.constants if not c.is_weight)
    layer = _layer_of(engine, _LAYER).size
    for item in generated.calls:
        assert item.call is not None
        own = _LAYER if item.call.before is None else _TWO_CALLS
        own = own if item.second is None else _FORK
        bytes_ += 0 if item.streamed else _word(_layer_of(engine, own).size)
        bytes_ += 0 if item.second is None else _word(layer)
        bytes_ += sum(call_bytes(call, engine) for call in item.all_calls)
    for segment in generated.segments:
        bytes_ += (0 if segment.streamed_input else _word(layer)) + call_bytes(segment.call, engine)
    graph = generated.model.main
    bytes_ += 4 * max(len(generated.calls), 1)
    bytes_ += (len(graph.inputs) + len(graph.outputs)) * _sizeof("ar_io", engine)
    bytes_ += _sizeof("ar_model", engine) + _word(len(generated.name) + 1)
    bytes_ += _PART_BYTES if slow_arena_bytes(generated) else 0
    if generated.variables:
        bytes_ += len(generated.variables) * _sizeof("ar_state", engine) + _sizeof(
            "ar_reset_state_params", engine
        )
        bytes_ += sum(_word(v.nbytes) for v in generated.variables if v.fill is None)
        bytes_ += _word(layer)
    return bytes_


def layer_stack(generated: Generated, engine: ObjectSet) -> int:
    """The deepest frame of the functions of the model's layers."""
    two = any(layer.call is not None and layer.call.before is not None for layer in generated.calls)
    kinds = [_LAYER, *([_TWO_CALLS] if two else []), *([_FORK] if generated.parallel else [])]
    return max(_layer_of(engine, own).stack for own in kinds)


def _layer_of(engine: ObjectSet, name: str) -> Section:
    """The section of a layer's function as it was measured."""
    if name not in engine.sections:
        raise ProfileError(f"No size is stored for {name}.", "Run: python -m arenite.firmware.sizes.measure")
    return engine.sections[name]


def call_bytes(call: KernelCall, engine: ObjectSet) -> int:
    """Size of the parameter structure of one call, and of the arrays of structures that it points to."""
    return _word(_sizeof(call.params_type, engine)) + _pointed_to(call.fields, engine)


def _pointed_to(fields: Mapping[str, Any], engine: ObjectSet) -> int:
    """Each array of structures is an object of its own; arrays may lie within them."""
    bytes_ = 0
    for value in fields.values():
        if isinstance(value, StructArray):
            bytes_ += _word(len(value.items) * _sizeof(value.c_type, engine))
            bytes_ += sum(_pointed_to(item, engine) for item in value.items)
        elif isinstance(value, Mapping):
            bytes_ += _pointed_to(value, engine)
    return bytes_


def _sizeof(struct: str, engine: ObjectSet) -> int:
    node = engine.symbols.get(f"sizeof_{struct}")
    if node is None:
        raise ProfileError(
            f"No size is stored for {struct}.", "Run: python -m arenite.firmware.sizes.measure"
        )
    return engine.sections[node].size


#: Names in a port for a second core: its stack, and the functions that call a half of a layer.
_SECOND_STACK = ".noinit.ar_second_stack"
_SECOND_FRAMES = ("ar_start_second_c", "ar_second_core")
#: By port, where those functions could not be measured: what they, an operating system and interrupts take. Assumed.
_UNKNOWN_FRAMES = {"freertos": 1536, "rp2": 256}


def _second_stack(
    objects: ObjectSet, kernels: list[str], given: Mapping[str, Collection[str]], layer: int, port: str
) -> int:
    """Bytes of the second core's stack: the deepest of its kernels below its own functions, a word that stays painted,
    and the room to align it."""
    own = sum(objects.sections[objects.symbols[n]].stack for n in _SECOND_FRAMES if n in objects.symbols)
    own += 0 if _SECOND_FRAMES[-1] in objects.symbols else _UNKNOWN_FRAMES.get(port, 1536)
    depths = _StackDepths(objects, given)
    deepest = max((depths.of(k) for k in kernels), default=0)
    return -(-(own + layer + deepest + 4 + 12) // 16) * 16


class _StackDepths:
    """The deepest chain of frames below each function: every reference is taken for a call, function tables included.

    ``given``: functions that a kernel is given in its parameters, and calls from wherever it is deepest.
    """

    def __init__(self, objects: ObjectSet, given: Mapping[str, Collection[str]]) -> None:
        self._objects, self._given = objects, given
        self.known: dict[str, int] = {}

    def of(self, symbol: str) -> int:
        below = max((self.of(s) for s in self._given.get(symbol, ())), default=0)
        return self.node(self._objects.symbols.get(symbol, symbol)) + below

    def node(self, node: str, path: frozenset[str] = frozenset()) -> int:
        """That of a section."""
        if node in self.known:
            return self.known[node]
        section = self._objects.sections.get(node)
        if section is None or node in path:
            return 0
        below = 0
        for ref in section.refs:
            below = max(below, self.node(self._objects.symbols.get(ref, ref), path | {node}))
        own = section.stack
        if node.startswith("libgcc/") and section.kind == "text" and not own:
            own = LIBRARY_FRAME
        self.known[node] = own + below
        return self.known[node]


def _stack(
    objects: ObjectSet,
    kernels: list[str],
    rows: Collection[str],
    given: Mapping[str, Collection[str]],
    layer: int,
) -> int:
    """The deepest chain of frames from reset: every reference is taken for a call, function tables included.

    ``kernels`` are called by the model's layers, and ``rows`` by the executor of segments; ``given`` are functions that
    they call in turn, from wherever they are deepest. ``layer`` is the frame of the layers' functions.
    """
    depths = _StackDepths(objects, given)
    depth, depth_of = depths.known, depths.of

    if rows:
        # The executor calls rows through the table of stages, in the innermost of its functions that is not inlined.
        caller = next(n for name in _ROW_CALLERS if (n := f"stream.c:.text.{name}") in objects.sections)
        section = objects.sections[caller]
        # ar_profile reads the firmware's table, which knows the agent's functions: a reference, but never a call.
        profile = objects.sections[objects.symbols["ar_profile"]].stack + depth_of("port_ticks")
        own = [depth_of(r) for r in section.refs if r.startswith("stream.c:")]
        depth[caller] = section.stack + max(*map(depth_of, rows), *own, profile)
    kernel = max((depth_of(k) for k in kernels if k not in rows), default=0)
    # The model's layers are called from ar_infer through the model's table: add them there.
    infer = objects.symbols["ar_infer"]
    depth[infer] = objects.sections[infer].stack + max(
        layer + kernel,
        *(depths.node(objects.symbols.get(r, r)) for r in objects.sections[infer].refs),
        0,
    )
    # A word that stays painted shows that the stack did not overflow. The linker script gives out 16-byte steps.
    return -(-(depths.node(objects.symbols["ar_start"]) + 4) // 16) * 16
