"""A machine that executes a plan on real bytes, with kernels that overwrite as much memory as the rules allow.

Each kernel overwrites its scratch and its outputs before it reads its inputs, and overwrites its scratch again at the
end. It reads an input earlier only if the plan and the operator's requirements let an output overwrite it in place.
Outputs are digests of all bytes read, so a single wrong byte changes all later results.
"""

from __future__ import annotations

from hashlib import shake_128

from arenite.converters.graph.model import Op
from arenite.converters.planner import Plan
from tests.converters.planner.random_graphs import Case

_RUNS = 2


def separate_plan(case: Case) -> Plan:
    """Return the plan in which no tensors share memory and operators keep their order, so it is certainly correct."""
    top = 0
    offsets, scratch, variables = {}, {}, {}
    used = {*case.graph.inputs, *case.graph.outputs}
    used.update(t for op in case.graph.ops for t in (*op.inputs, *op.outputs))
    for tensor in case.graph.tensors:
        if tensor.index in used and tensor.data is None and tensor.itemsize:
            offsets[tensor.index] = top
            top += tensor.nbytes
    for k, need in enumerate(case.needs):
        if need.scratch:
            scratch[k] = top
            top += need.scratch
    for name, size in case.persistent.items():
        if size:
            variables[name] = top
            top += size
    order = tuple(range(len(case.graph.ops)))
    return Plan(order, offsets, scratch, variables, top, top, "optimal", alignment=1)


def outcome(case: Case, plan: Plan) -> list[bytes]:
    """Return the bytes of all graph outputs after each of two inferences, and of the variables after the second."""
    machine = _Machine(case, plan)
    results: list[bytes] = []
    for run in range(_RUNS):
        for t in case.graph.inputs:
            machine.write(plan.offsets[t], _digest(f"input {t} run {run}", [], case.graph.tensors[t].nbytes))
        for k in plan.order:
            machine.step(case.graph.ops[k])
        results += [machine.tensor(t) for t in case.graph.outputs]
    results += [machine.variable(name) for name in sorted(case.persistent) if case.persistent[name]]
    return results


def _digest(name: str, parts: list[bytes], size: int) -> bytes:
    """Return ``size`` bytes that depend on ``name`` and on all bytes of ``parts``."""
    shake = shake_128(name.encode())
    for part in parts:
        shake.update(len(part).to_bytes(4, "little") + part)
    return shake.digest(size)


class _Machine:
    """An arena and the kernels of a case. ``names`` maps the tensor of a variable's handle to the variable's name."""

    def __init__(self, case: Case, plan: Plan) -> None:
        self.case, self.plan = case, plan
        self.arena = bytearray(_digest("garbage", [], plan.arena_bytes))
        self.names = {
            op.outputs[0]: f"/{op.options['shared_name']}" for op in case.graph.ops if op.name == "VAR_HANDLE"
        }
        for name, offset in plan.variable_offsets.items():
            self.write(offset, bytes(case.persistent[name]))
        for tensor in case.graph.tensors:
            if tensor.is_variable and tensor.index in plan.offsets:
                self.write(plan.offsets[tensor.index], bytes(tensor.nbytes))

    def write(self, offset: int, data: bytes) -> None:
        """Write ``data`` to the arena. Raises ``IndexError`` outside the arena."""
        if offset < 0 or offset + len(data) > len(self.arena):
            raise IndexError(
                f"[{offset}, {offset + len(data)}) is outside the arena of {len(self.arena)} bytes"
            )
        self.arena[offset : offset + len(data)] = data

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes of the arena."""
        return bytes(self.arena[offset : offset + size])

    def tensor(self, t: int) -> bytes:
        """Return the bytes of a tensor."""
        tensor = self.case.graph.tensors[t]
        if tensor.data is not None:
            return tensor.data.tobytes()
        return self.read(self.plan.offsets[t], tensor.nbytes)

    def variable(self, name: str) -> bytes:
        """Return the bytes of a variable."""
        return self.read(self.plan.variable_offsets[name], self.case.persistent[name])

    def scribble(self, op: Op, note: str) -> None:
        """Overwrite the operator's scratch."""
        if op.index in self.plan.scratch_offsets:
            size = self.case.needs[op.index].scratch
            self.write(self.plan.scratch_offsets[op.index], _digest(note, [], size))

    def step(self, op: Op) -> None:
        """Run the kernel of an operator."""
        tensors = self.case.graph.tensors
        if op.name == "VAR_HANDLE":
            return
        if op.name == "ASSIGN_VARIABLE":
            name = self.names[op.inputs[0]]
            if self.case.persistent[name]:
                value = _digest("assign", [self.tensor(op.inputs[1])], self.case.persistent[name])
                self.write(self.plan.variable_offsets[name], value)
            return
        outputs = [(o, t) for o, t in enumerate(op.outputs) if tensors[t].itemsize]
        if self._is_view(op):
            return
        inputs = [(p, t) for p, t in enumerate(op.inputs) if t >= 0 and tensors[t].itemsize]
        early = {p: self.tensor(t) for p, t in inputs if self._reads_in_place(op, p, t)}
        self.scribble(op, "before")
        for o, t in outputs:
            self.write(self.plan.offsets[t], _digest(f"scribble {o}", [], tensors[t].nbytes))
        parts = [early[p] if p in early else self.tensor(t) for p, t in inputs]
        if op.name == "READ_VARIABLE" and self.case.persistent[self.names[op.inputs[0]]]:
            parts.append(self.variable(self.names[op.inputs[0]]))
        for o, t in outputs:
            value = _digest(f"op {op.index} output {o}", parts, tensors[t].nbytes)
            if op.name in ("RESHAPE", "READ_VARIABLE"):
                value = parts[0] if parts else b""
            self.write(self.plan.offsets[t], value)
        for _, t in inputs:
            if tensors[t].is_variable:
                self.write(self.plan.offsets[t], _digest(f"state {op.index}", parts, tensors[t].nbytes))
        self.scribble(op, "after")

    def _is_view(self, op: Op) -> bool:
        """Return whether the plan has input and output at the same address as one view, so that the kernel does
        nothing."""
        plan = self.plan
        if op.name == "READ_VARIABLE":
            offset = plan.variable_offsets.get(self.names[op.inputs[0]])
            return bool(self.case.needs[op.index].alias) and offset == plan.offsets[op.outputs[0]]
        return any(
            plan.offsets.get(op.inputs[p], -1) == plan.offsets[op.outputs[o]]
            and not self.case.graph.tensors[op.inputs[p]].is_variable
            for p, o in self.case.needs[op.index].alias
        )

    def _reads_in_place(self, op: Op, p: int, t: int) -> bool:
        """Return whether the kernel works in place on this input, so it reads each element before overwriting it."""
        tensors, offsets = self.case.graph.tensors, self.plan.offsets
        return any(
            i == p
            and offsets.get(t) == offsets[op.outputs[o]]
            and tensors[op.outputs[o]].nbytes <= tensors[t].nbytes
            for i, o in self.case.needs[op.index].in_place
        )


def reference(case: Case) -> list[bytes]:
    """Return the bytes that every correct plan computes."""
    return outcome(case, separate_plan(case))
