"""The optional rewrites, in order: none changes a byte of any output, for any input."""

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

#: Fewer operators first: the analysis of channels follows them.
PASSES: tuple[Pass, ...] = (
    drop_identities,
    merge_reshapes,
    fuse_pad,
    fuse_activation,
    constant_channels,
)


def run_passes(model: Model) -> tuple[Model, tuple[PassReport, ...]]:
    """Return the model after all passes, and a report for each pass that changed it; the model itself when none did.

    The model must be one that the firmware supports: shapes that agree, and operators that it runs exactly. Layers are
    numbered in each report as they were before that pass.
    """
    reports = []
    for rewrite in PASSES:
        model, report = rewrite(model)
        if report is not None:
            reports.append(report)
    return model, tuple(reports)
