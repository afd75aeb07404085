"""Predict the bytes of the stacks from the frames of measured functions and the references between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from arenite.firmware.sizes.object_files import ObjectSet, is_library

#: The stack bytes of a routine of the compiler's runtime library for which no frame was measured. Assumed: no routine
#: needs more.
_LIBRARY_FRAME = 64

#: Functions of stream.c, innermost first. The first of these that the compiler did not inline calls the row functions
#: (the kernels that compute one row of a layer).
_ROW_CALLERS = ("advance", "ar_stream_begin")

#: Functions of a port with a second core, which call one half of a layer.
_SECOND_FRAMES = ("ar_start_second_c", "ar_second_core")
#: For each port whose functions could not be measured: the stack bytes of these functions, the operating system and
#: interrupts together. Assumed.
_UNKNOWN_FRAMES = {"freertos": 1536, "rp2": 256}


def second_core_stack(
    objects: ObjectSet, kernels: list[str], callbacks: Mapping[str, Collection[str]], layer: int, port: str
) -> int:
    """Return the bytes of the second core's stack.

    They hold the port's own functions, a layer function, the deepest kernel below it, one painted word that shows an
    overflow, and up to 12 bytes to align the stack. ``kernels`` are the kernels that run on the second core, ``layer``
    is the frame of a layer function in bytes, and ``port`` is ``SecondCore.port`` of the board.
    """
    own = sum(objects.sections[objects.symbols[n]].stack for n in _SECOND_FRAMES if n in objects.symbols)
    own += 0 if _SECOND_FRAMES[-1] in objects.symbols else _UNKNOWN_FRAMES.get(port, 1536)
    depths = _StackDepths(objects, callbacks)
    deepest = max((depths.symbol_depth(k) for k in kernels), default=0)
    return -(-(own + layer + deepest + 4 + 12) // 16) * 16


class _StackDepths:
    """Computes the depth in bytes of the deepest chain of stack frames that begins at a function. ``known`` has the
    depths that were computed before, by node name.

    Every reference counts as a call, also those in function tables. ``callbacks`` holds the functions that a kernel
    calls through its parameters; they are added below the kernel's deepest frame.
    """

    def __init__(self, objects: ObjectSet, callbacks: Mapping[str, Collection[str]]) -> None:
        self._objects, self._callbacks = objects, callbacks
        self.known: dict[str, int] = {}

    def symbol_depth(self, symbol: str) -> int:
        """Return the depth of a function, in bytes."""
        below = max((self.symbol_depth(s) for s in self._callbacks.get(symbol, ())), default=0)
        return self.section_depth(self._objects.symbols.get(symbol, symbol)) + below

    def section_depth(self, node: str, path: frozenset[str] = frozenset()) -> int:
        """Return the depth of the section ``node``, in bytes. ``path`` has the sections above it in the chain: a
        recursive call adds no depth."""
        if node in self.known:
            return self.known[node]
        section = self._objects.sections.get(node)
        if section is None or node in path:
            return 0
        below = 0
        for ref in section.refs:
            below = max(below, self.section_depth(self._objects.symbols.get(ref, ref), path | {node}))
        own = section.stack
        if is_library(node) and section.kind == "text" and not own:
            own = _LIBRARY_FRAME
        self.known[node] = own + below
        return self.known[node]


def main_stack(
    objects: ObjectSet,
    kernels: list[str],
    rows: Collection[str],
    callbacks: Mapping[str, Collection[str]],
    layer: int,
) -> int:
    """Return the bytes of the deepest chain of stack frames that begins at the start-up code.

    Every reference counts as a call, also those in function tables. The model's layers call ``kernels``, and the
    executor of streamed segments (stream.c) calls the kernels ``rows``. ``callbacks`` holds the functions that these
    call through their parameters; they are added below the deepest frame. ``layer`` is the frame of the layer
    functions in bytes.
    """
    depths = _StackDepths(objects, callbacks)
    depth, depth_of = depths.known, depths.symbol_depth

    if rows:
        # The executor calls rows through the table of stages, from the innermost of its functions that is not inlined.
        caller = next(n for name in _ROW_CALLERS if (n := f"stream.c:.text.{name}") in objects.sections)
        section = objects.sections[caller]
        # ar_profile reads the firmware's table, which refers to functions of the agent. It never calls them.
        profile = objects.sections[objects.symbols["ar_profile"]].stack + depth_of("port_ticks")
        own = [depth_of(r) for r in section.refs if r.startswith("stream.c:")]
        depth[caller] = section.stack + max(*map(depth_of, rows), *own, profile)
    kernel = max((depth_of(k) for k in kernels if k not in rows), default=0)
    # ar_infer calls the model's layers through the model's table, so their depth is added to its own.
    infer = objects.symbols["ar_infer"]
    depth[infer] = objects.sections[infer].stack + max(
        layer + kernel,
        *(depths.section_depth(objects.symbols.get(r, r)) for r in objects.sections[infer].refs),
        0,
    )
    # One painted word stays free and shows that the stack did not overflow. The linker script uses steps of 16 bytes.
    return -(-(depths.section_depth(objects.symbols["ar_start"]) + 4) // 16) * 16


def direct_depth(objects: ObjectSet) -> Callable[[str], int]:
    """Return a function that returns the stack bytes of the deepest chain of direct calls from a section. Addresses in
    tables do not count as calls."""
    known: dict[str, int] = {}

    def depth(node: str, path: frozenset[str] = frozenset()) -> int:
        section = objects.sections.get(node)
        if section is None or section.kind != "text" or node in path:
            return 0
        if node not in known:
            own = section.stack or (_LIBRARY_FRAME if is_library(node) else 0)
            refs = (objects.symbols.get(ref, ref) for ref in section.refs)
            known[node] = own + max((depth(ref, path | {node}) for ref in refs), default=0)
        return known[node]

    return depth
