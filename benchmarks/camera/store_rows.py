"""Make the rows of the targets table on the bytes that the loop writes per frame. An emulator counts every store."""

from __future__ import annotations

from arenite.host.camera.runtimes.factory import open_runtime
from benchmarks.camera.cases import Case
from benchmarks.camera.rows import Row
from benchmarks.camera.store_counter import count_stores

#: The number of bytes that the loop may write per frame in addition to the tensors.
MAX_OVERHEAD_BYTES = 4096


def store_row(case: Case) -> Row:
    """Return the row of one model. Raises ``ToolError`` without QEMU or a C compiler."""
    runtime = open_runtime(case.path)
    slot = runtime.slots[0]
    tensors = sum(memory.bytes for memory in (*slot.inputs, *slot.outputs))
    runtime.close()
    frames = count_stores("benchmarks.camera.store_subjects:loop", str(case.path))
    # The loop summarizes its statistics every five seconds. In the slow emulator, this happens in every second frame.
    # The frame with the fewest bytes is a frame without this work. It contains all work that the loop does for each
    # frame.
    usual = min(frames, key=lambda frame: frame.total)
    inputs = sum(size for name, size in usual.regions.items() if name.startswith("input"))
    return Row(
        "written",
        f"bytes written per frame besides the runtime's own, {case.title}",
        f"≤ {tensors + MAX_OVERHEAD_BYTES:,} (input + output + 4 KB)",
        f"{usual.total:,}: input {inputs:,}, other buffers {usual.total - inputs:,}; "
        f"Python's small objects, not counted: {usual.objects:,}",
        usual.total <= tensors + MAX_OVERHEAD_BYTES,
        "counted",
    )
