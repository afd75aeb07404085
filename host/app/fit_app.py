"""Predict whether an application fits its board, before it is built."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.output_folder import MANIFEST
from arenite.firmware.sizes.app_compilation import predict_any_app
from arenite.firmware.sizes.app_prediction import AppPrediction
from arenite.host.app.camera.generate import CAMERA, CameraApp, generate_camera_app
from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.generate import App, generate_app, other_goals
from arenite.host.app.headroom import Headroom
from arenite.host.app.recorded_sensor import recorded_sensor
from arenite.host.app.slot_fit import SlotFit, require_compiler, slot_fit
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.flash.build import read_manifest
from arenite.input_files import parse_toml, read_text
from arenite.profiles.boards import Board, load_board

_KEYS = ("board", "sensor", "optimise", "hop")


@dataclass(frozen=True)
class AppFit:
    """The prediction of an application for ``board``, with what to try if it does not fit.

    ``inference_s`` is the estimated time of an inference and ``hop_s`` the time from one to the next, in seconds. In a
    cascade, ``prepared`` is the small and ``large`` the large model, and ``inference_s`` is the time of both.
    ``headroom`` are the predicted instructions of a window; None if their costs were not measured. ``warnings`` tell
    what is wrong with them. ``slots`` are the images of an application with updates, None for another one.
    """

    prepared: Prepared
    board: Board
    optimise: str
    sensor: str
    prediction: AppPrediction
    inference_s: float
    hop_s: float
    reasons: tuple[str, ...]
    large: Prepared | None = None
    headroom: Headroom | None = None
    warnings: tuple[str, ...] = ()
    slots: SlotFit | None = None

    @property
    def fits(self) -> bool:
        """Whether the application fits. False also if sizes are missing, because then nobody knows."""
        return not self.reasons and not self.prediction.unknown

    @property
    def inference_share(self) -> float:
        """The estimated share of the hop that the inference takes, in percent."""
        return 100 * self.inference_s / self.hop_s

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.fit/1`` for an application."""
        p = self.prediction
        return {
            "schema": "arenite.fit/1",
            "model": {"path": str(self.prepared.path), "sha256": self.prepared.sha256},
            "app": {
                "board": self.board.name,
                "sensor": self.sensor,
                "cascade": None
                if self.large is None
                else {"path": str(self.large.path), "sha256": self.large.sha256},
                "optimise": self.optimise,
                "fits": self.fits,
                "exact": not p.unknown and p.main != "edited",
                "ram": {
                    "needed": p.ram,
                    "available": self.board.ram_bytes,
                    "arena": p.arena,
                    "data": p.data,
                    "bss": p.bss,
                    "stack": p.stack,
                    "stack_reserved": p.stack_reserved,
                },
                "flash": {
                    "needed": p.flash,
                    "available": self.board.flash_bytes,
                    "weights": p.weights,
                    "kernels": p.kernels,
                    "tables": p.tables,
                    "application": p.application,
                    "data": p.data,
                },
                "slots": None if self.slots is None else self.slots.to_json(),
                "main": p.main,
                "unknown": list(p.unknown),
                "hop_ms": round(1000 * self.hop_s, 3),
                "inference_ms": {"value": round(1000 * self.inference_s, 3), "kind": "estimated"},
                "inference_percent": {"value": round(self.inference_share, 2), "kind": "estimated"},
                "headroom": None if self.headroom is None else self.headroom.to_json(),
                "reasons": list(self.reasons),
                "warnings": list(self.warnings),
            },
        }


def fit_app(image: Path, where: Path, cascade: Path | None = None) -> AppFit:
    """Return the prediction of an application with the model ``image``. ``where`` is its folder, or a TOML file with
    its settings. ``cascade`` is the large model that ``image`` wakes, or None.

    Raises ``UsageError`` if the folder has another model, if the file has a wrong setting, or if there is no such
    application.
    """
    prepared = prepare(image)
    large = None if cascade is None else prepare(cascade)
    manifest: Mapping[str, Any] = {}
    if where.is_dir():
        manifest = read_manifest(where)
        if manifest.get("protocol") != "app" or not isinstance(manifest.get("sensor"), str):
            raise UsageError(f"{where} is not an application.", "Write one with `arenite app`.")
        if manifest["model"]["sha256"] != prepared.sha256:
            raise UsageError(
                f"{where} was written for another model than {image}.", "Call `arenite app` again."
            )
        _check_large(manifest.get("cascade"), large, where)
        settings = {
            "board": manifest["board"],
            "sensor": manifest["sensor"],
            "optimise": manifest["optimise"],
        }
    else:
        settings = {"sensor": recorded_sensor(prepared), **_settings(where)}
        hop = settings.pop("hop", None)
        prepared = _with_hop(prepared, hop)
        large = None if large is None else _with_hop(large, hop)
    board = load_board(settings["board"])
    require_compiler(manifest, board)
    with tempfile.TemporaryDirectory(prefix="arenite-fit-") as name:
        folder = Path(name)

        def generated(mode: str) -> App | CameraApp:
            place = folder / mode
            if large is not None:
                return generate_cascade(
                    prepared, large, board, place, sensor=settings["sensor"], optimise=mode
                )
            if settings["sensor"] == CAMERA:
                return generate_camera_app(prepared, board, place, optimise=mode)
            return generate_app(prepared, board, place, sensor=settings["sensor"], optimise=mode)

        application = generated(settings["optimise"])
        prediction = predict_any_app(where if (where / MANIFEST).is_file() else application.directory)
        slots = slot_fit(prediction, manifest, board, where)
        reasons = _reasons(prediction, board, slots)
        if reasons and slots is not None:
            reasons.append("try --optimise flash, a smaller model or a board with larger slots")
        elif reasons:
            others = {}
            for mode in other_goals(settings["optimise"]):
                with suppress(UsageError):  # with this goal it is too slow
                    others[mode] = predict_any_app(generated(mode).directory)
            reasons += _advice(others, board)
    return AppFit(
        prepared,
        board,
        settings["optimise"],
        settings["sensor"],
        prediction,
        application.inference_s,
        application.settings.hop / application.settings.rate,
        tuple(reasons),
        large,
        application.headroom,
        application.warnings if isinstance(application, App) else (),
        slots,
    )


def _check_large(entry: Mapping[str, Any] | None, large: Prepared | None, where: Path) -> None:
    """Raise ``UsageError`` unless ``large`` is the large model of the application in ``where``, whose manifest has
    ``entry``; both are None if it is no cascade."""
    if entry is None and large is not None:
        raise UsageError(f"The application in {where} is no cascade.", "Remove --cascade.")
    if entry is not None and large is None:
        raise UsageError(
            f"The application in {where} is a cascade.", f"Add its large model: --cascade {entry['path']}"
        )
    if entry is not None and large is not None and entry["sha256"] != large.sha256:
        raise UsageError(
            f"{where} was written for another large model than {large.path}.", "Call `arenite app` again."
        )


def _settings(path: Path) -> dict[str, Any]:
    """Return the settings in a TOML file, with defaults except for the sensor."""
    try:
        table = parse_toml(read_text(path))
    except FileNotFoundError as error:
        raise UsageError(
            f"{path} does not exist.", "Give a folder of `arenite app`, or a TOML file."
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", "Correct it (docs/fit.md).") from error
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(
                f"{path} has an unknown setting '{key}'.", f"The settings are {', '.join(_KEYS)}."
            )
        if not isinstance(value, int if key == "hop" else str) or isinstance(value, bool):
            kind = "a number of samples" if key == "hop" else "a text"
            raise UsageError(f"The setting '{key}' in {path} is not {kind}.", "Correct it (docs/fit.md).")
    if "board" not in table:
        raise UsageError(f"{path} does not name a board.", 'Add board = "qemu_mps2_an386", for example.')
    settings = {"optimise": "balanced", **table}
    if settings["optimise"] not in OPTIMISE_MODES:
        raise UsageError(
            f"'{settings['optimise']}' in {path} is not an optimization goal.",
            f"Choose one of {', '.join(OPTIMISE_MODES)}.",
        )
    return settings


def _with_hop(prepared: Prepared, hop: int | None) -> Prepared:
    """Return the model with another hop in its decision."""
    if hop is None or "decision" not in prepared.extra:
        return prepared
    return replace(prepared, extra={**prepared.extra, "decision": {**prepared.extra["decision"], "hop": hop}})


def _reasons(p: AppPrediction, board: Board, slots: SlotFit | None = None) -> list[str]:
    """Return why an application does not fit. With updates, its flash memory are the ``slots``."""
    missing = [("RAM", p.ram - board.ram_bytes)]
    missing += [("flash", p.flash - board.flash_bytes)] if slots is None else []
    reasons = [f"needs {count:,} B more {name}" for name, count in missing if count > 0]
    reasons += slots.reasons if slots is not None else []
    if p.stack > p.stack_reserved:
        reasons.append(f"the stack may need {p.stack:,} B, but {p.stack_reserved:,} B are reserved")
    return reasons


def _advice(others: dict[str, AppPrediction], board: Board) -> list[str]:
    """Return which optimization goals would fit, or what else to try."""
    fitting = [mode for mode, p in others.items() if not _reasons(p, board)]
    if fitting:
        return [f"try --optimise {' or '.join(fitting)}"]
    return ["no optimization goal fits: try a smaller model (`arenite fit --shrink`) or a larger board"]
