"""``arenite fleet reference``: count what a model sees in calibration data."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.counts import count_of
from arenite.host.report.console import note, show


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--inputs",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE|FOLDER",
    help="Samples in the formats of `arenite convert --calibration`: an .npz file with x, or a folder.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write, for 'reference' in the file of a release.",
)
def reference(model: Path, inputs: Path, output: Path) -> int:
    """Run MODEL on samples, and write the histograms with which the gates of drift compare what devices see.

    MODEL is the .tflite file that `arenite update build` gets.
    """
    from arenite.host.fleet.calibration_reference import calibration_reference
    from arenite.host.fleet.gates import least_reference_samples
    from arenite.host.fleet.reference_file import write_reference
    from arenite.host.fleet.rollout_settings import RolloutSettings

    found = calibration_reference(model, inputs)
    write_reference(output, found.sha256, found.samples, found.reference)
    histograms = [*found.reference.inputs, found.reference.classes]
    least = max(
        least_reference_samples(len(counts), RolloutSettings().drift_psi) for counts in histograms if counts
    )
    if found.samples < least:
        verb = "is" if found.samples == 1 else "are"
        note(
            f"{count_of(found.samples, 'sample')} {verb} few: waves of a rollout do not end before drift_psi is set"
            " higher. Give at"
            f" least {2 * least:,} samples."
        )
    show(
        f"{output}: {count_of(found.samples, 'sample')},"
        f" {count_of(len(found.reference.inputs), 'statistic')} of the input,"
        f" {count_of(len(found.reference.classes), 'class', 'classes')}"
    )
    return 0
