"""The rows of bytes written per frame: every store of the loop, counted in an emulator (``written``)."""

from __future__ import annotations

from arenite.host.camera.runtimes.factory import open_runtime
from benchmarks.camera.cases import Case
from benchmarks.camera.rows import Row
from benchmarks.camera.store_counter import count_stores

#: Allowed beside the tensors.
OVERHEAD = 4096


def store_row(case: Case) -> Row:
    """Raises ``ToolError`` without QEMU or a C compiler."""
    runtime = open_runtime(case.path)
    slot = runtime.slots[0]
    tensors = sum(memory.bytes for memory in (*slot.inputs, *slot.outputs))
    runtime.close()
    frames = count_stores("benchmarks.camera.store_subjects:loop", str(case.path))
    # Statistics are folded every five seconds, which the emulator makes every other frame: the frame without that. What
    # the loop does to each frame is in the least of them as well.
    usual = min(frames, key=lambda frame: frame.total)
    inputs = sum(size for name, size in usual.regions.items() if name.startswith("input"))
    return Row(
        "written",
        f"bytes written per frame besides the runtime's own, {case.title}",
        f"≤ {tensors + OVERHEAD:,} (input + output + 4 KB)",
        f"{usual.total:,}: input {inputs:,}, elsewhere {usual.total - inputs:,}; "
        f"Python's small objects, not counted: {usual.objects:,}",
        usual.total <= tensors + OVERHEAD,
        "counted",
    )
