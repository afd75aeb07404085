"""Read, check, optimize and plan a model file. Every command that takes a model begins with this step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from arenite.converters.graph.byte_table import planned_graph
from arenite.converters.graph.loop import loop_of
from arenite.converters.graph.model import Model
from arenite.converters.importers.load import load_any_image
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.passes.loops.roll import roll_loops
from arenite.converters.passes.loops.while_reader import read_while
from arenite.converters.passes.loops.while_writer import has_loops, write_while
from arenite.converters.passes.optimize import run_passes
from arenite.converters.passes.pass_report import PassReport
from arenite.converters.planner import check
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.tflite.image import Image, image_bytes, to_flatbuffer
from arenite.converters.tflite.int4 import int8_weights
from arenite.errors import PlanError
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_lowering import lower_model
from arenite.firmware.generator.operator_needs import check_supported, op_macs, op_needs
from arenite.firmware.generator.state import resource_sizes
from arenite.firmware.generator.target import PORTABLE, Target
from arenite.host.build.plan import plan_complete_tensors, plan_for, same_plan
from arenite.host.build.zoo_names import refuse_zoo_name

#: An image has up to this number of copies of the body of a loop, with a plan that TensorFlow Lite Micro can use. With
#: more copies, the file would grow too much.
MAX_COPIES = 128


@dataclass(frozen=True)
class Unrolled:
    """A model with loops in the form that its image has: ``model`` has all copies of the body of each loop.

    ``image_plan`` is the plan of the image that was read, if it is valid for ``model``.
    """

    model: Model
    image_plan: Plan | None

    @cached_property
    def plan(self) -> Plan:
        """The plan. It is made when it is first used, because that takes seconds for thousands of operators."""
        if self.image_plan is not None:
            return self.image_plan
        return plan_complete_tensors(self.model, op_needs(self.model.main), search=False)


@dataclass(frozen=True)
class Prepared:
    """A model that is ready for code generation: all operators are supported, constants are folded, the graph is
    optimized and the arena is planned.

    ``sha256`` is the hash of the user's file. If this file is an image, ``source_sha256`` is the hash of the model from
    which the image was made, so that preparing an image again gives the same image. ``notes`` has one sentence for each
    repair and each folded operator. ``source`` is the repaired model, neither folded nor optimized; every output is
    compared with its outputs. ``passes`` has a report for each graph pass that changed the model, ``source_macs`` is
    the number of multiply-accumulates before the passes. ``needs`` has the requirements of each operator with the
    kernels of ``target``, and ``plan`` is the arena plan for these kernels. ``image`` and its hash do not depend on
    ``target``. ``extra`` is the other metadata of the image, such as preprocessing and the source of the model. If the
    passes replaced copies of a body by a loop of at most ``MAX_COPIES`` steps, ``unrolled`` is the model with all
    copies, which the image has. For a longer loop, the image has the operator WHILE.
    """

    path: Path
    sha256: str
    source_sha256: str
    model: Model
    needs: tuple[OpRequirements, ...]
    plan: Plan
    notes: tuple[str, ...]
    source: Model
    source_macs: int
    passes: tuple[PassReport, ...] = ()
    target: Target = PORTABLE
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    unrolled: Unrolled | None = field(default=None, repr=False, compare=False)
    _by_target: dict[Target, Prepared] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def image(self) -> bytes:
        """The bytes of the image. It contains the arena plan for portable kernels, which TFLM can also use."""
        portable = self._by_target.get(PORTABLE, self)
        if portable is not self:
            return portable.image
        form = self if self.unrolled is None else self.unrolled
        if has_loops(form.model):  # a plan covers one subgraph, and WHILE has two more
            written = write_while(form.model)
            return image_bytes(written, None, source_sha256=self.source_sha256, extra=self.extra)
        return image_bytes(form.model, form.plan, source_sha256=self.source_sha256, extra=self.extra)

    @cached_property
    def reference(self) -> bytes:
        """The flatbuffer with whose outputs all outputs are compared: the source, before any graph pass."""
        return to_flatbuffer(self.source)

    @cached_property
    def macs(self) -> int:
        """The number of multiply-accumulates of one inference, after the passes."""
        return _macs(self.model)

    @cached_property
    def generated(self) -> Generated:
        """The model, lowered to C code for a firmware project. The firmware contains the image's hash."""
        name = self.path.stem
        return lower_model(self.model, self.plan, target=self.target, image_hash=self.image_hash, name=name)

    def image_hash(self) -> bytes:
        """Return the SHA-256 of the image."""
        return hashlib.sha256(self.image).digest()

    def retarget(self, target: Target) -> Prepared:
        """Return the same model, planned for the kernels of ``target``. The result for each target is stored."""
        self._by_target.setdefault(self.target, self)
        if target not in self._by_target:
            needs = tuple(op_needs(self.model.main, target))
            plans = (
                p.plan for p in self._by_target.values() if p.needs == needs and same_plan(p.target, target)
            )
            known_plan = self.plan if needs == self.needs and not self.plan.segments else None
            new_plan = next(plans, None) or plan_for(self.model, needs, target, known_plan)
            self._by_target[target] = replace(self, needs=needs, plan=new_plan, target=target)
        return self._by_target[target]


def _has_while(model: Model) -> bool:
    return any(op.name == "WHILE" for op in model.main.ops)


def _longest_loop(model: Model) -> int:
    """Return the largest number of steps of a loop of ``model``."""
    return max((loop.steps for op in model.main.ops if (loop := loop_of(op)) is not None), default=0)


def _macs(model: Model) -> int:
    return sum(op_macs(model.main, op) for op in model.main.ops)


def prepare(path: str | Path, *, passes: bool = True, removes_channels: bool = True) -> Prepared:
    """Read, fold, check, optimize and plan the model or image at ``path``, for portable kernels.

    ``passes=False`` leaves out the graph passes, which do not change any output. ``removes_channels=False`` leaves out
    the one that removes constant channels, so that the shapes do not depend on the weights. Raises ``ModelError`` for a
    malformed file, ``UsageError`` for the name of a zoo model in place of a file, and ``UnsupportedModelError`` for an
    operator that Arenite cannot run bit-exactly.
    """
    path = Path(path)
    refuse_zoo_name(path)
    return prepare_image(load_any_image(path), path, passes=passes, removes_channels=removes_channels)


def prepare_image(
    image: Image, path: Path, *, passes: bool = True, removes_channels: bool = True
) -> Prepared:
    """Do the same as ``prepare`` for an image or a plain ``.tflite`` that was already read. ``path`` names the model in
    results and messages."""
    model = read_while(int8_weights(image.model)) if _has_while(image.model) else image.model
    written_loops = has_loops(model)
    repeated = {k for body in find_repeated_bodies(model.main) for k in body.ops}
    model, folds = fold_constants(model, repeated)
    model = int8_weights(model)
    check_supported(model)
    source_macs = _macs(model)
    without_loops = model
    loops: tuple[str, ...] = ()
    if passes:
        model, loops = roll_loops(model)
    reports: tuple[PassReport, ...] = ()
    if passes:
        model, reports = run_passes(model, removes_channels=removes_channels)
        if reports:
            check_supported(model)
    needs = op_needs(model.main)
    all_reports = (*([PassReport("loops", loops)] if loops else []), *reports)
    notes = [*image.model.repairs, *folds, *(n for r in all_reports for n in r.notes)]

    def own_plan(model: Model, needs: Sequence[OpRequirements]) -> Plan | None:
        """Return the plan of the image if it is valid for ``model``."""
        if image.plan is not None and image.plan.split is None and not folds and (loops or not reports):
            try:
                check(planned_graph(model.main), image.plan, needs, persistent=resource_sizes(model))
                return image.plan
            except PlanError as error:
                notes.append(
                    f"The image's own plan does not match these kernels; the model was planned again: {error.problem}"
                )
        return None

    unrolled = image_plan = None
    if loops and not written_loops and _longest_loop(model) <= MAX_COPIES:
        # The image has all copies, so that TensorFlow Lite Micro can use its plan.
        unrolled_needs = () if image.plan is None else op_needs(without_loops.main)
        unrolled = Unrolled(without_loops, own_plan(without_loops, unrolled_needs))
    elif not has_loops(model):
        image_plan = own_plan(model, needs)
    source_sha256 = image.source_sha256 or image.sha256
    return Prepared(
        path,
        image.sha256,
        source_sha256,
        model,
        tuple(needs),
        image_plan or plan_complete_tensors(model, needs),
        tuple(notes),
        image.model,
        source_macs,
        all_reports,
        unrolled=unrolled,
        extra=image.extra,
    )
