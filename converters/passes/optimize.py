"""Run the optional passes in order. No pass changes a byte of any output, for any input."""

from __future__ import annotations

from collections.abc import Callable

from arenite.converters.graph.model import Model
from arenite.converters.passes.constant_channels import constant_channels
from arenite.converters.passes.drop_identities import drop_identities
from arenite.converters.passes.fuse_activation import fuse_activation
from arenite.converters.passes.fuse_pad import fuse_pad
from arenite.converters.passes.merge_reshapes import merge_reshapes
from arenite.converters.passes.pass_report import PassReport

Pass = Callable[[Model], tuple[Model, PassReport | None]]

#: The passes in order. ``constant_channels`` is last, because the other passes leave it fewer operators to analyze.
PASSES: tuple[Pass, ...] = (
    drop_identities,
    merge_reshapes,
    fuse_pad,
    fuse_activation,
    constant_channels,
)


def run_passes(model: Model, *, removes_channels: bool = True) -> tuple[Model, tuple[PassReport, ...]]:
    """Return the model after all passes, and a report for each pass that changed it. If no pass changed the model, the
    model itself is returned. With ``removes_channels=False``, ``constant_channels`` is left out, so that the shapes do
    not depend on the weights.

    The model must be one that the firmware supports: ``check_shapes`` accepts it, and the firmware computes all its
    operators exactly. Each report uses the layer numbers before its pass.
    """
    reports = []
    for rewrite in PASSES:
        if rewrite is constant_channels and not removes_channels:
            continue
        model, report = rewrite(model)
        if report is not None:
            reports.append(report)
    return model, tuple(reports)
