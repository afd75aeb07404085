"""A machine that executes streaming plans on real bytes, as the firmware's executor does.

Each output row is a digest of the input rows that it depends on. A plan is correct if it gives the same outputs as
complete tensors in separate memory. Scratch and each output row are overwritten before any input is read.
"""

from __future__ import annotations

from hashlib import shake_128

from arenite.converters.planner.plan import Plan, Segment
from arenite.converters.planner.row_requirements import RowRequirements
from tests.converters.planner.random_graphs import Case


def digest(name: str, parts: list[bytes], size: int) -> bytes:
    """Return ``size`` bytes that depend on ``name`` and on all bytes of ``parts``."""
    shake = shake_128(name.encode())
    for part in parts:
        shake.update(len(part).to_bytes(4, "little") + part)
    return shake.digest(size)


def input_rows(rows: RowRequirements, y: int, images: list[list[bytes]]) -> list[bytes]:
    """Return the bytes of each input row that output row ``y`` depends on. Rows outside the image are empty.

    ``images`` has the rows of each input tensor.
    """
    if rows.accumulates:
        return images[0]
    parts = []
    for i, image in zip(rows.inputs, images, strict=True):
        for k in range(i.taps):
            r = y * i.stride - i.pad_top + k * i.dilation
            parts.append(image[r] if 0 <= r < len(image) else b"")
    return parts


class Machine:
    """Executes a plan in an arena that is filled with arbitrary bytes."""

    def __init__(self, case: Case, plan: Plan) -> None:
        self.case, self.plan = case, plan
        self.arena = bytearray(digest("garbage", [], plan.arena_bytes))

    def shape(self, t: int) -> tuple[int, int]:
        """Return (number of rows, bytes of a row)."""
        tensor = self.case.graph.tensors[t]
        rows = tensor.shape[1] if len(tensor.shape) == 4 else 1
        return rows, tensor.nbytes // rows

    def write(self, at: int, data: bytes) -> None:
        """Write ``data`` to the arena. Raises ``IndexError`` outside the arena."""
        if at < 0 or at + len(data) > len(self.arena):
            raise IndexError("outside the arena")
        self.arena[at : at + len(data)] = data

    def tensor(self, t: int) -> bytes:
        """Return the bytes of a tensor."""
        at = self.plan.offsets[t]
        return bytes(self.arena[at : at + self.case.graph.tensors[t].nbytes])

    def image(self, t: int) -> list[bytes]:
        """Return the rows of a tensor."""
        data, (rows, size) = self.tensor(t), self.shape(t)
        return [data[r * size : (r + 1) * size] for r in range(rows)]

    def source_rows(self, t: int) -> list[bytes]:
        """Return the rows of a graph input."""
        rows, size = self.shape(t)
        return [digest(f"input {t} row {r}", [], size) for r in range(rows)]

    def run(self) -> list[bytes]:
        """Execute the plan and return the bytes of the outputs."""
        graph = self.case.graph
        streamed_input = {s.streamed_input for s in self.plan.segments}
        for t in graph.inputs:
            if t not in streamed_input:
                self.write(self.plan.offsets[t], b"".join(self.source_rows(t)))
        segments = {k: s for s in self.plan.segments for k in s.stages}
        for k in self.plan.order:
            if k not in segments:
                self.complete_operator(k)
            elif segments[k].stages[0] == k:
                self.segment(segments[k])
        return [self.tensor(t) for t in graph.outputs]

    def complete_operator(self, k: int) -> None:
        """Run an operator on complete tensors."""
        op, needs = self.case.graph.ops[k], self.case.needs[k]
        out = op.outputs[0]
        at = self.plan.offsets[out]
        if needs.alias and at == self.plan.offsets[op.inputs[0]]:
            return
        early = {t: self.image(t) for t in op.inputs if needs.in_place and at == self.plan.offsets[t]}
        if k in self.plan.scratch_offsets:
            self.write(self.plan.scratch_offsets[k], digest("scribble", [], needs.scratch))
        if not needs.alias:
            self.write(at, digest("scribble", [], self.case.graph.tensors[out].nbytes))
        images = [early.get(t) or self.image(t) for t in op.inputs]
        self.write(at, b"".join(result(self.case, k, images)))

    def segment(self, segment: Segment) -> None:
        """Run the operators of a segment row by row, in the order of its schedule."""
        graph = self.case.graph
        computed = [0] * len(segment.stages)
        sums: dict[int, list[bytes]] = {}
        arrived = 0
        self.write(segment.state_offset, digest("state", [], segment.state_bytes))

        def place(t: int, r: int) -> int:
            """Return the offset of row ``r`` of tensor ``t``."""
            return segment.rows[t][r] if t in segment.rows else self.plan.offsets[t] + r * self.shape(t)[1]

        for entry in segment.schedule:
            if entry >= len(segment.stages):
                t = segment.sources[entry - len(segment.stages)]
                self.write(place(t, arrived), self.source_rows(t)[arrived])
                arrived += 1
                continue
            k = segment.stages[entry]
            op, rows = graph.ops[k], self.case.needs[k].rows
            assert rows is not None
            out, y = op.outputs[0], computed[entry]
            computed[entry] += 1
            last = not rows.accumulates or computed[entry] == self.shape(op.inputs[0])[0]
            row = 0 if rows.accumulates else y
            # Only input rows at the address of the output row, which it may overwrite, are read before it is written.
            at = place(out, row)
            early = {
                t: bytes(self.arena[at : at + self.shape(t)[1]])
                for t in (op.inputs[p] for p in rows.in_place)
            }
            if k in self.plan.scratch_offsets:
                self.write(self.plan.scratch_offsets[k], digest("scribble", [], rows.scratch))
            if last:
                self.write(place(out, row), digest("scribble", [], self.shape(out)[1]))
            parts = []
            for i in rows.inputs:
                t = op.inputs[i.position]
                for tap in range(i.taps):
                    r = y * i.stride - i.pad_top + tap * i.dilation
                    if 0 <= r < self.shape(t)[0]:
                        at, size = place(t, r), self.shape(t)[1]
                        overwritten = i.position in rows.in_place and at == place(out, row) and last
                        parts.append(early[t] if overwritten else bytes(self.arena[at : at + size]))
                    else:
                        parts.append(b"")
            if rows.accumulates:
                parts = sums.setdefault(k, []) + parts
                sums[k] = parts
            if last:
                self.write(place(out, row), digest(f"op {k} row {row}", parts, self.shape(out)[1]))
        state = bytes(self.arena[segment.state_offset : segment.state_offset + segment.state_bytes])
        assert state == digest("state", [], segment.state_bytes), "the state was overwritten"


def result(case: Case, k: int, images: list[list[bytes]]) -> list[bytes]:
    """Return the bytes of each output row of operator ``k``. ``images`` has the rows of each of its inputs."""
    graph, needs = case.graph, case.needs[k]
    tensor = graph.tensors[graph.ops[k].outputs[0]]
    if needs.alias:
        return [b"".join(images[0])]
    if needs.rows is None:
        return [digest(f"op {k}", [row for image in images for row in image], tensor.nbytes)]
    height = tensor.shape[1]
    size = tensor.nbytes // height
    return [digest(f"op {k} row {y}", input_rows(needs.rows, y, images), size) for y in range(height)]


def reference(case: Case) -> list[bytes]:
    """Return the bytes of the outputs that every correct plan computes."""
    empty = Plan((), {}, {}, {}, 0, 0, "optimal")
    machine = Machine(case, empty)
    images = {t: machine.source_rows(t) for t in case.graph.inputs}
    for op in case.graph.ops:
        images[op.outputs[0]] = result(case, op.index, [images[t] for t in op.inputs])
    return [b"".join(images[t]) for t in case.graph.outputs]
