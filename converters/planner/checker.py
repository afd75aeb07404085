"""An independent check of a plan: simulate it on a map of the arena's bytes and detect every overwritten value.

The checker shares nothing with the planner except the plan. It computes no lifetimes. A map says what each byte of the
arena holds: the value of a tensor, scratch or a variable. The simulation runs the operators in the plan's order and
checks before each operator that its inputs are intact. Adjacent bytes that belong to the same blocks of the plan form
one cell, so the map is exact and small.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.memory_split_checker import find_split_violations
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.plan_checks import PlanChecks
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.streaming_checker import find_violations as streaming_violations
from arenite.errors import PlanError

#: The largest arena in bytes: far more than a microcontroller has, but small enough that no sum overflows in code that
#: reads the plan.
_MAX_ARENA = 1 << 31

#: What a cell holds: ("nothing",), ("tensor", index of the tensor that was first computed into these bytes),
#: ("scratch", operator), ("variable", name) or ("variable", name, version).
_NOTHING = ("nothing",)
Content = tuple[object, ...]
#: A block of the plan: ("tensor", tensor index), ("scratch", operator index) or ("variable", variable name).
Block = tuple[str, int | str]


def check(
    graph: Subgraph,
    plan: Plan,
    needs: Sequence[OpRequirements],
    *,
    persistent: Mapping[str, int] | None = None,
    folded: Collection[int] = (),
) -> None:
    """Raise ``PlanError`` with the first three violations of ``plan``, if it has any. The other arguments have the same
    meaning as for ``planner.plan``."""
    violations = find_violations(graph, plan, needs, persistent=persistent, folded=folded)
    if violations:
        more = f" ({len(violations) - 3} more)" if len(violations) > 3 else ""
        raise PlanError(f"The plan is wrong: {' '.join(violations[:3])}{more}", "Plan the model again.")


def find_violations(
    graph: Subgraph,
    plan: Plan,
    needs: Sequence[OpRequirements],
    *,
    persistent: Mapping[str, int] | None = None,
    folded: Collection[int] = (),
) -> list[str]:
    """Return one sentence for each violation of ``plan``.

    The list is empty if every operator reads the values that were computed for it, no variable is overwritten, and all
    outputs are intact at the end. The other arguments have the same meaning as for ``planner.plan``.
    """
    if len(needs) != len(graph.ops):
        return [f"There are {len(needs)} requirements for {len(graph.ops)} operators."]
    split_violations = find_split_violations(graph, plan, needs, persistent=persistent)
    if plan.segments and not persistent and not folded:
        return split_violations + streaming_violations(graph, plan, needs)
    run = _PlanExecution(graph, plan, needs, dict(persistent or {}), frozenset(folded))
    run.violations += split_violations
    run.check_figures()
    run.check_blocks()
    run.check_order()
    if not run.violations:  # the simulation needs an address inside the arena for every block
        run.execute()
        run.check_sharing()
    return run.violations


class _PlanExecution(PlanChecks):
    """The simulation of one plan. The methods append a sentence to ``violations`` for each violation.

    In the private methods, ``k`` is an operator, ``t`` and ``i`` are tensors, ``o`` is an output position, ``p`` an
    input position, and ``c`` a cell.
    """

    def __init__(
        self,
        graph: Subgraph,
        plan: Plan,
        needs: Sequence[OpRequirements],
        persistent: Mapping[str, int],
        folded: frozenset[int],
    ) -> None:
        super().__init__(graph, plan, needs)
        self.persistent, self.folded = persistent, folded
        #: {handle tensor: name of the resource variable to which it refers}
        self.handles: dict[int, str] = {}
        for op in graph.ops:
            if op.name == "VAR_HANDLE":
                name = f"{op.options.get('container') or ''}/{op.options.get('shared_name') or ''}"
                self.handles.update(dict.fromkeys(op.outputs, name))
        self.absent = {t for k in folded for t in graph.ops[k].outputs}  # tensors that have become constants

    def in_arena(self, t: int) -> bool:
        """Return whether tensor ``t`` must have an offset."""
        return t >= 0 and t not in self.absent and super().in_arena(t)

    # -- checks without simulation -------------------------------------------------------------------------

    def check_figures(self) -> None:
        """Check the arena size, the alignment, the lower bound and the status."""
        plan = self.plan
        self.check_sizes(_MAX_ARENA)
        if plan.status not in ("optimal", "gap"):
            self.add_violation(f"Status '{plan.status}' is unknown.")
        elif (plan.status == "optimal") != (plan.lower_bound == plan.arena_bytes):
            self.add_violation(
                f"Status '{plan.status}' contradicts the lower bound of {plan.lower_bound} and the arena of "
                f"{plan.arena_bytes} bytes."
            )

    def check_blocks(self) -> None:
        """Check that every tensor, scratch and variable that takes arena has an aligned address, that its block is
        inside the arena, and that nothing else has an address."""
        graph, plan = self.graph, self.plan
        touched = {*graph.inputs, *graph.outputs}
        for op in graph.ops:
            if op.index not in self.folded:
                touched |= {*op.inputs, *op.outputs}
        arena_tensors = {t for t in touched if self.in_arena(t)}
        self._check_addresses("tensor", arena_tensors, plan.offsets)
        scratch = {k for k, need in enumerate(self.needs) if need.scratch > 0 and k not in self.folded}
        self._check_addresses("scratch of operator", scratch, plan.scratch_offsets)
        self._check_addresses(
            "variable", {n for n, size in self.persistent.items() if size > 0}, plan.variable_offsets
        )
        if self.violations:
            return
        for t, offset in plan.offsets.items():
            self._check_bounds(self.tensor_name(t), offset, graph.tensors[t].nbytes)
        for k, offset in plan.scratch_offsets.items():
            self._check_bounds(f"scratch of {self.op_name(k)}", offset, self.needs[k].scratch)
        for name, offset in plan.variable_offsets.items():
            self._check_bounds(f"variable '{name}'", offset, self.persistent[name])

    def _check_addresses(
        self, kind: str, expected: Collection[object], addresses: Mapping[int, int] | Mapping[str, int]
    ) -> None:
        """Check that exactly the blocks ``expected`` have addresses. ``kind`` is a part of the message."""
        for key in sorted(set(expected) - set(addresses), key=str):
            self.add_violation(f"The {kind} {key} has no address in the arena.")
        for key in sorted(set(addresses) - set(expected), key=str):
            self.add_violation(f"The {kind} {key} has an address in the arena but needs none.")

    def _check_bounds(self, description: str, offset: int, nbytes: int) -> None:
        """Check that a block is aligned and inside the arena. ``description`` is a part of the message."""
        if offset < 0 or offset + nbytes > self.plan.arena_bytes:
            self.add_violation(
                f"Block [{offset}, {offset + nbytes}) of {description} is outside the arena of "
                f"{self.plan.arena_bytes} bytes."
            )
        elif offset % self.plan.alignment:
            self.add_violation(f"Block of {description} at {offset} is not aligned to {self.plan.alignment}.")

    def check_order(self) -> None:
        """Check that the order contains every operator once, runs each operator after the operators whose outputs it
        reads, and keeps the order of operators that use the same state."""
        order = self.plan.order
        if sorted(order) != [op.index for op in self.graph.ops if op.index not in self.folded]:
            self.add_violation("The order is not a permutation of the operators that run.")
            return
        position = {k: p for p, k in enumerate(order)}
        for op in self.graph.ops:
            for t in op.outputs:
                for reader in self.graph.ops:
                    reads_t = op.index in position and reader.index in position and t in reader.inputs
                    if reads_t and position[reader.index] <= position[op.index]:
                        self.add_violation(
                            f"{self.op_name(reader.index)} runs before {self.op_name(op.index)}, which it reads."
                        )
        for key, users in self._state_users().items():
            planned = [k for k in order if k in users]
            if planned != sorted(users):
                self.add_violation(
                    f"The operators that use the state {key} run in the order {planned} instead of {sorted(users)}."
                )

    def _state_users(self) -> dict[str, set[int]]:
        """Return {description of a state: operators that use it}. A state is a variable, a resource or the
        initialization. A CALL_ONCE may use any state, so it is in every set."""
        users: dict[str, set[int]] = {"of the initialization": set()}
        for op in self.graph.ops:
            for t in {*op.inputs, *op.outputs} - {-1}:
                tensor = self.graph.tensors[t]
                if tensor.is_variable or (
                    tensor.dtype in ("resource", "variant") and op.name != "VAR_HANDLE"
                ):
                    key = self.handles.get(t, f"of {self.tensor_name(t)}")
                    users.setdefault(key, set()).add(op.index)
        every = {op.index for op in self.graph.ops if op.name == "CALL_ONCE"}
        return {key: (operators | every) - self.folded for key, operators in users.items()}

    # -- simulation ----------------------------------------------------------------------------------------

    def execute(self) -> None:
        """Run the operators in the plan's order on the map of cells."""
        graph, plan = self.graph, self.plan
        spans: dict[Block, tuple[int, int]] = {
            ("tensor", t): (o, o + graph.tensors[t].nbytes) for t, o in plan.offsets.items()
        }
        spans |= {("scratch", k): (o, o + self.needs[k].scratch) for k, o in plan.scratch_offsets.items()}
        spans |= {("variable", n): (o, o + self.persistent[n]) for n, o in plan.variable_offsets.items()}
        edges = sorted({edge for span in spans.values() for edge in span})
        # ``cells`` has the cells of each block, ``edges`` the first byte of each cell, ``holds`` what each cell holds.
        self.cells = {
            key: range(bisect_left(edges, a), bisect_left(edges, b)) for key, (a, b) in spans.items()
        }
        self.edges = edges
        self.holds: list[Content] = [_NOTHING] * len(edges)
        self.content: dict[int, Content] = {}  # tensor -> what its cells must hold when it is read
        self.reserved: dict[int, Content] = {}  # cell -> the variable to which it belongs for the whole run
        self.version = dict.fromkeys(plan.variable_offsets, 0)  # variable -> number of changes
        for name in plan.variable_offsets:
            self._reserve(("variable", name), f"variable '{name}'")
            self._change(name)
        for t in plan.offsets:
            if graph.tensors[t].is_variable:
                self._reserve(("tensor", t), self.tensor_name(t))
                self.content[t] = ("tensor", t)
        for t in dict.fromkeys(graph.inputs):
            if ("tensor", t) in self.cells and t not in self.content:
                for c in self.cells["tensor", t]:
                    if self.holds[c] != _NOTHING:
                        self.add_violation(
                            f"Input {self.tensor_name(t)} overlaps {self._describe(self.holds[c])} at the start."
                        )
                        break
                self._write(("tensor", t), ("tensor", t), f"input {self.tensor_name(t)}")
                self.content[t] = ("tensor", t)
        for k in plan.order:
            self._step(graph.ops[k])
        for t in graph.outputs:
            if ("tensor", t) in self.cells:
                self._read(t, "the caller", " at the end")

    def _reserve(self, key: Block, description: str) -> None:
        """Reserve the cells of a variable for the whole run."""
        for c in self.cells[key]:
            if c in self.reserved:
                self.add_violation(
                    f"The block of {description} overlaps that of {self._describe(self.reserved[c])}."
                )
                return
            self.reserved[c] = key
            self.holds[c] = key

    def _describe(self, content: Content) -> str:
        """Return a description of ``content`` for a message."""
        kind, *rest = content
        if kind == "tensor" and isinstance(rest[0], int):
            return self.tensor_name(rest[0])
        if kind == "scratch" and isinstance(rest[0], int):
            return f"scratch of {self.op_name(rest[0])}"
        return f"variable '{rest[0]}'" if kind == "variable" else "nothing"

    def _read(self, t: int, reader: str, when: str) -> None:
        """Check that the cells of tensor ``t`` hold its value. ``reader`` and ``when`` are parts of the message."""
        for c in self.cells["tensor", t]:
            if self.holds[c] != self.content.get(t):
                span = f"[{self.edges[c]}, {self.edges[c + 1]})"
                self.add_violation(
                    f"{reader} reads {self.tensor_name(t)}{when}, but {span} holds {self._describe(self.holds[c])}."
                )
                return

    def _write(self, key: Block, content: Content, writer: str) -> None:
        """Write ``content`` to the cells of a block, and check that they are not reserved for another block."""
        for c in self.cells[key]:
            if c in self.reserved and self.reserved[c] != key:
                self.add_violation(f"{writer} overwrites {self._describe(self.reserved[c])}.")
                return
        for c in self.cells[key]:
            self.holds[c] = content

    def _step(self, op: Op) -> None:
        """Run one operator: check its inputs, write its scratch and its outputs, and change its variables."""
        k, op_name = op.index, self.op_name(op.index)
        inputs = [(p, t) for p, t in enumerate(op.inputs) if ("tensor", t) in self.cells]
        outputs = [(p, t) for p, t in enumerate(op.outputs) if ("tensor", t) in self.cells]
        for _, t in inputs:
            self._read(t, op_name, "")
        # Cell -> description of the output or scratch of this operator that is written there.
        busy: dict[int, str] = {}
        # Outputs that are not written, because their bytes exist as another tensor.
        unwritten: set[int] = set()
        for o, t in outputs:
            cells = set(self.cells["tensor", t])
            touched = [(p, i) for p, i in inputs if cells & set(self.cells["tensor", i])]
            refused = [(i, reason) for p, i in touched if (reason := self._overwrite_error(k, p, i, o, t))]
            identical = [i for p, i in touched if self._is_alias(k, p, i, o, t)]
            view = self._view(k, o, t)
            if view or identical:  # the operator writes nothing
                self.content[t] = view or self.content.get(identical[0], _NOTHING)
                unwritten.add(t)
            else:
                for i, reason in refused:
                    self.add_violation(
                        f"{op_name} writes {self.tensor_name(t)} over its input {self.tensor_name(i)}: {reason}."
                    )
            self._claim(busy, cells, op_name, self.tensor_name(t))
        if k in self.plan.scratch_offsets:
            cells = set(self.cells["scratch", k])
            for _, i in inputs:
                if cells & set(self.cells["tensor", i]):
                    self.add_violation(f"The scratch of {op_name} overlaps its input {self.tensor_name(i)}.")
            self._claim(busy, cells, op_name, "its scratch")
            self._write(("scratch", k), ("scratch", k), f"The scratch of {op_name}")
        for _, t in outputs:
            if t not in unwritten:
                self.content[t] = ("tensor", t)
                self._write(("tensor", t), self.content[t], op_name)
        if op.name not in ("VAR_HANDLE", "READ_VARIABLE"):
            touched_state = {self.handles[t] for t in op.inputs if t in self.handles}
            for name in self.version if op.name == "CALL_ONCE" else touched_state & self.version.keys():
                self._change(name)

    def _change(self, name: str) -> None:
        """Give the variable a new value. Tensors that alias the variable become invalid."""
        self.version[name] += 1
        for c in self.cells["variable", name]:
            self.holds[c] = ("variable", name, self.version[name])

    def _view(self, k: int, o: int, t: int) -> Content | None:
        """Return the content of the variable if output ``t`` (position ``o``) of the READ_VARIABLE ``k`` has the
        variable's address. Return None if operator ``k`` copies the variable or is another operator."""
        op = self.graph.ops[k]
        name = self.handles.get(op.input(0), "")
        if op.name != "READ_VARIABLE" or (0, o) not in self.needs[k].alias or name not in self.version:
            return None
        same_place = self.plan.variable_offsets[name] == self.plan.offsets[t]
        same_size = self.persistent[name] == self.graph.tensors[t].nbytes
        return ("variable", name, self.version[name]) if same_place and same_size else None

    def _claim(self, busy: dict[int, str], cells: set[int], writer: str, block: str) -> None:
        """Mark ``cells`` as written by the current operator, and check that it does not write a cell twice."""
        for c in cells & set(busy):
            self.add_violation(f"{writer} writes {block} and {busy[c]} to the same bytes.")
            break
        busy.update(dict.fromkeys(cells, block))

    def _is_alias(self, k: int, p: int, i: int, o: int, t: int) -> bool:
        """Return whether output ``t`` (position ``o``) is input ``i`` (position ``p``) with another shape, at the same
        address."""
        source, target = self.graph.tensors[i], self.graph.tensors[t]
        declared = (p, o) in self.needs[k].alias and source.nbytes == target.nbytes
        state = source.is_variable or target.is_variable
        return declared and not state and self.plan.offsets[i] == self.plan.offsets[t]

    def _overwrite_error(self, k: int, p: int, i: int, o: int, t: int) -> str:
        """Return the reason why output ``t`` (position ``o``) may not overwrite input ``i`` (position ``p``), or ""
        if it may."""
        source, target = self.graph.tensors[i], self.graph.tensors[t]
        if source.is_variable or target.is_variable:
            return "a variable cannot share its memory"
        if (p, o) not in self.needs[k].in_place:
            return "the operator does not work in place there"
        if self.plan.offsets[i] != self.plan.offsets[t]:
            return "they do not begin at the same address"
        if target.nbytes > source.nbytes:
            return "the output is larger"
        return ""

    def check_sharing(self) -> None:
        """Check that the inputs and outputs that ``Plan.sharing`` lists have the same address."""
        for k, p, o in self.plan.sharing:
            if not 0 <= k < len(self.graph.ops) or o >= len(self.graph.ops[k].outputs):
                self.add_violation(
                    f"Sharing ({k}, {p}, {o}) does not name an operator and one of its outputs."
                )
                continue
            a, b = self.graph.ops[k].input(p), self.graph.ops[k].outputs[o]
            if self.plan.offsets.get(a, -1) != self.plan.offsets.get(b, -2):
                self.add_violation(
                    f"{self.op_name(k)}: input {p} and output {o} are listed as sharing an address but do not."
                )
