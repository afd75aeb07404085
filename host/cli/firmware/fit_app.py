"""``arenite fit --app``: show the predicted memory of an application."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.app.applications import application_image, is_application
from arenite.host.app.fit_app import AppFit, fit_app
from arenite.host.app.measured_time import time_lines
from arenite.host.report.console import note, print_json, show, table

_MAIN = {
    "edited": "src/main.c was edited and not built: the sizes are those of the program that `arenite app` writes.",
    "measured": "src/main.c was edited: the sizes are those of the edited program.",
}


def show_app_fits(
    images: Sequence[Path], where: Path, boards: Sequence[str], cascade: Path | None, as_json: bool
) -> int:
    """Show the prediction of one model in an application, or of two in a cascade, and return the exit code: 1 if it
    does not fit."""
    if len(images) != 1 or boards:
        raise UsageError(
            "--app predicts one model on the board of the application.",
            "Give one model, and no --board: the folder or the TOML file names the board. The large model of a cascade "
            "is given with --cascade.",
        )
    fit = fit_app(_image(images[0]), where, None if cascade is None else _image(cascade))
    for warning in fit.warnings:
        note(f"Warning: {warning}")
    if as_json:
        print_json(fit.to_json())
    else:
        _show(fit, where)
    return 0 if fit.fits else 1


def _image(path: Path) -> Path:
    """Return the path of an image, which may be the name of a shipped application."""
    return application_image(str(path)) if is_application(str(path)) else path


def _flash_rows(fit: AppFit) -> list[tuple[str, str, str]]:
    """Return the row of the flash memory; for an application with updates, those of its images and slots."""
    if fit.slots is None:
        return [("flash", f"{fit.prediction.flash:,}", f"{fit.board.flash_bytes:,}")]
    return [
        ("firmware image", f"{fit.slots.firmware:,}", f"{fit.slots.firmware_slot:,}"),
        ("model image", f"{fit.slots.model:,}", f"{fit.slots.model_slot:,}"),
    ]


def _show(fit: AppFit, where: Path) -> None:
    p = fit.prediction
    rows = [
        ("RAM", f"{p.ram:,}", f"{fit.board.ram_bytes:,}"),
        ("  arena", f"{p.arena:,}", ""),
        ("  data", f"{p.data:,}", ""),
        ("  bss", f"{p.bss:,}", ""),
        ("  stack reserved", f"{p.stack_reserved:,}", ""),
        ("  stack at most", f"{p.stack:,}", ""),
        *_flash_rows(fit),
        ("  weights", f"{p.weights:,}", ""),
        ("  kernels", f"{p.kernels:,}", ""),
        ("  tables", f"{p.tables:,}", ""),
        ("  application", f"{p.application:,}", ""),
        ("  data", f"{p.data:,}", ""),
    ]
    known = "at least these bytes" if p.unknown else "bytes"
    show(table(f"{where} on {fit.board.name}, {fit.optimise}: {known}", ("", "needed", "of"), rows))
    if fit.headroom is None:
        subject = "An inference" if fit.large is None else "Both inferences"
        verb = "takes" if fit.large is None else "take"
        show(
            f"{subject} every {1000 * fit.hop_s:,.0f} ms {verb} an estimated {1000 * fit.inference_s:,.1f} ms, "
            f"{fit.inference_share:.1f}% of that time, without the features."
        )
    else:
        h = fit.headroom
        parts = (
            ("features", h.features.usual),
            ("inference", h.inference.usual),
            ("decision", h.decision.usual),
            ("loop and serial port", h.loop),
            ("mean", h.mean),
            ("slowest window", h.worst()),
            ("a hop has", h.per_hop),
        )
        show(
            table(
                f"instructions every {1000 * fit.hop_s:,.0f} ms, {h.kind}",
                ("", "instructions"),
                [(name, f"{count:,.0f}") for name, count in parts],
            )
        )
        for line in time_lines(h, None):
            show(f"{line}.")
        if h.unmeasured:
            show(f"Only roughly estimated: {', '.join(h.unmeasured)}.")
    if p.main in _MAIN:
        show(_MAIN[p.main])
    if p.unknown:
        show(
            f"Missing in these sizes, because they were not measured: {', '.join(p.unknown)}. Install the compiler of "
            f"{fit.board.name}, with which `arenite fit` measures them."
        )
    for reason in fit.reasons:
        show(f"{fit.board.name}: {reason}")
