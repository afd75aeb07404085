"""Run the optional rewrites in order. None of them changes a byte of any output, for any input."""

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

#: The passes in order. ``constant_channels`` is last, because it analyzes fewer operators then.
PASSES: tuple[Pass, ...] = (
    drop_identities,
    merge_reshapes,
    fuse_pad,
    fuse_activation,
    constant_channels,
)


def run_passes(model: Model) -> tuple[Model, tuple[PassReport, ...]]:
    """Return the model after all passes, and a report for each pass that changed it. If no pass changed the model, the
    model itself is returned.

    The firmware must support the model: its shapes agree, and the firmware runs all its operators exactly. Each report
    numbers layers as they were before that pass.
    """
    reports = []
    for rewrite in PASSES:
        model, report = rewrite(model)
        if report is not None:
            reports.append(report)
    return model, tuple(reports)
