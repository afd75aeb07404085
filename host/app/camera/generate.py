"""Generate an application with a camera from a model image: check what the image records, and write the folder."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arenite.converters.decision.plan import DecisionPlan, plan_decision
from arenite.converters.decision.record import Decision, recorded_decision
from arenite.errors import UsageError
from arenite.firmware.app.camera_glue import camera_model_header, camera_model_source
from arenite.firmware.app.camera_settings import CameraSettings
from arenite.firmware.app.camera_timing import MARGIN, RowTiming, choose_timing, row_instructions
from arenite.firmware.app.drivers.camera_chips import CameraFrame
from arenite.firmware.app.drivers.camera_driver import CameraDriver
from arenite.firmware.app.drivers.cameras import camera_of
from arenite.firmware.app.forms.choice import chosen_form
from arenite.firmware.app.model_glue import HEADER as MODEL_HEADER
from arenite.firmware.app.model_glue import SOURCE as MODEL_SOURCE
from arenite.firmware.app.model_glue import Scores
from arenite.firmware.app.project import supported, write_app
from arenite.firmware.boards.cores import cpi_of
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.target import Target
from arenite.firmware.library.processing import Processing, processing_files
from arenite.firmware.library.sources import library_sources
from arenite.firmware.sizes.prediction import predict
from arenite.firmware.sizes.targets import target_of
from arenite.host.app.camera.frame_headroom import predict_frames
from arenite.host.app.camera.pictures import Pictures, pictures_of
from arenite.host.app.headroom import Headroom
from arenite.host.app.memory_check import check_memory
from arenite.host.build.attachments import recorded_labels
from arenite.host.build.library import identifier, lower_models
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board

#: Bytes of stack for the loop that calls an inference.
STACK_MARGIN = 112
CAMERA = "camera"


@dataclass(frozen=True)
class CameraApp:
    """A generated application in ``directory``.

    ``inference_s`` is the estimated time of an inference. ``held_bytes`` is the size of the model's input if the
    application holds it as a whole, because the model cannot take it row by row, or that of the frame that the
    framework of a real board holds; otherwise 0. ``headroom`` is the predicted time from inference to inference; None
    if its costs were not measured.
    """

    directory: Path
    board: Board
    prepared: Prepared
    pictures: Pictures
    settings: CameraSettings
    inference_s: float
    scores: Scores
    held_bytes: int
    sensor: str = CAMERA
    project: str = ""
    driver: CameraDriver | None = None
    headroom: Headroom | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.app/1``, without a playback."""
        settings, plan = self.settings, self.pictures.plan
        return {
            "schema": "arenite.app/1",
            "directory": str(self.directory),
            "board": self.board.name,
            "sensor": self.sensor,
            "project": self.project,
            "wiring": None if self.driver is None else self.driver.wiring,
            "rate": settings.rate,
            "hop": settings.hop,
            "frame": {"width": plan.width, "height": plan.height, "format": plan.format},
            "row_us": settings.row_us,
            "row_room": settings.room,
            "held_frame": self.held_bytes,
            "inference_ms": round(self.inference_s * 1000, 3),
            "headroom": None if self.headroom is None else self.headroom.to_json(),
            "classes": list(self.scores.names),
        }


def decision_of(prepared: Prepared) -> tuple[Decision, DecisionPlan]:
    """Return the recorded decision and its plan. Its samples are frames. Raises ``UsageError`` if there is none, or if
    it has no rate."""
    record = recorded_decision(prepared.extra)
    if record is None:
        raise UsageError(
            f"{prepared.path.name} records no decision, so its scores cannot become events.",
            "Record one: `arenite convert ... --decision FILE.toml` (docs/app-camera.md).",
        )
    if not record.rate:
        raise UsageError(
            f"The decision of {prepared.path.name} has no rate, so the camera's frame rate is unknown.",
            "Set rate in [decision] to the frames per second, for example rate = 1.",
        )
    graph = prepared.model.main
    outputs = [graph.tensors[i] for i in graph.outputs]
    return record, plan_decision(record, outputs, recorded_labels(prepared.extra))


def _lowered(name: str, prepared: Prepared, board: Board, optimise: str) -> Generated:
    """Return the code of the model that takes its input row by row, or of the whole input if it cannot."""
    try:
        return lower_models({name: prepared}, Target.for_core(board.core, optimise, stream_input=True))[0]
    except UsageError:  # its first operators cannot run row by row
        return lower_models({name: prepared}, Target.for_core(board.core, optimise))[0]


def _us_per_instruction(board: Board) -> float:
    """Return the estimated microseconds of an instruction; on an emulated board, those of its clock."""
    emulator = board.emulator
    if emulator is not None:
        return emulator.ticks_numerator / emulator.ticks_denominator / board.clock_hz * 1e6
    return cpi_of(board.core) / board.clock_hz * 1e6


def _timing(
    costs: list[float], record: Decision, board: Board, frame: CameraFrame | None = None
) -> RowTiming:
    """Return when rows arrive. ``frame`` is what the chip of a real camera sends. Raises ``UsageError`` if an inference
    takes too long, or the camera is too slow."""
    frame_us = 1_000_000 // record.rate
    if frame is None:
        timing = choose_timing(costs, frame_us, record.hop)
    else:
        # The chip sends rows above and below those of the model, and has a blanking time of its own.
        below = max(frame.frame_rows - frame.top - len(costs), 0)
        padded = [0.0] * frame.top + costs + [0.0] * below
        if frame.row_us[0] * len(padded) > frame_us:
            raise UsageError(
                f"The decision wants {record.rate} frames per second, but the camera's chip has at most "
                f"{1e6 / frame.row_us[0] / len(padded):.1f}.",
                "Set a lower rate in [decision], or a smaller width and height in [preprocessing.source].",
            )
        timing = choose_timing(padded, frame_us, record.hop, frame.row_us_for(frame_us))
    if timing is None:
        ms = sum(costs) / 1000
        hop = math.ceil(1.5 * MARGIN * ms * record.rate / 1000)
        raise UsageError(
            f"A frame on {board.name} takes an estimated {ms:,.0f} ms, but the decision wants one every "
            f"{1000 * record.hop / record.rate:,.0f} ms.",
            f"Set hop in [decision] to {max(hop, record.hop + 1)} or more, so that only every such frame is used, or "
            "choose a faster board or a lower rate.",
        )
    return timing


def generate_camera_app(
    prepared: Prepared,
    board: Board,
    directory: Path,
    *,
    project: str | None = None,
    optimise: str = "balanced",
    chip: str | None = None,
    accept: Callable[[Pictures], None] = lambda _: None,
) -> CameraApp:
    """Write the application that runs ``prepared`` on ``board`` with a camera.

    ``project`` is the build system, or None for the board's default. ``chip`` is the chip of the camera, or None for
    the usual one. ``accept`` is called with the pictures that the model takes before anything is written. If it raises
    an error, nothing is written.

    Raises ``UsageError`` if the model takes no picture, records no decision with a rate, or is too slow, or if there is
    no driver for the board, and ``DoesNotFitError`` if the model alone does not fit a real board. Then nothing was
    written.
    """
    if chip is not None and board.emulated:
        raise UsageError(
            f"--chip is for real boards, but {board.name} has a virtual camera.", "Remove --chip."
        )
    driver = None if board.emulated else camera_of(board, chip)
    if not supported(board, CAMERA):
        raise UsageError(
            f"There is no driver of a camera for {board.name} yet.",
            "Choose a board of docs/app-boards.md, or call the functions for rows of `arenite library --stream-input`.",
        )
    form = chosen_form(board, project)
    pictures = pictures_of(prepared)
    record, decision = decision_of(prepared)
    name = identifier(prepared.path.stem)
    generated = _lowered(name, prepared, board, optimise)
    plan = pictures.plan
    frame = None if driver is None else driver.frame(plan.width, plan.height, plan.format)
    us = _us_per_instruction(board)
    costs = [us * k for k in row_instructions(generated, plan, target_of(board).core, optimise)]
    timing = _timing(costs, record, board, frame)
    graph = generated.model.main
    tensor = graph.tensors[graph.outputs[decision.output]]
    scores = Scores.of(tensor, recorded_labels(prepared.extra), record.logits, decision.output)
    settings = CameraSettings(
        rate=record.rate,
        width=plan.width,
        height=plan.height,
        row_bytes=pictures.row_bytes,
        row_us=timing.row_us,
        hop=record.hop,
        room=timing.room,
        classes=len(scores.names),
        events=decision.max_events,
        format=plan.format,
        frame=frame,
    )
    check_memory(
        {name: generated},
        {name: prepared},
        board,
        optimise,
        settings.room * settings.row_bytes,
        rows=generated.streamed_input is not None,
    )
    processing = Processing(plan, None, decision)
    accept(pictures)
    files = library_sources([generated], None) | processing_files(generated, processing, rows=True)
    files[MODEL_HEADER] = camera_model_header(generated, scores)
    files[MODEL_SOURCE] = camera_model_source(scores)
    stack = predict(generated, board, optimise).stack + STACK_MARGIN
    manifest: dict[str, Any] = {
        "model": {"path": str(prepared.path), "sha256": prepared.sha256, "name": name},
        "image_sha256": generated.sha256.hex(),
        "sensor": CAMERA,
        "frames": asdict(settings),
    }
    write_app(
        directory,
        name,
        board,
        files,
        settings,
        form=form,
        optimise=optimise,
        stack_bytes=-(-stack // 16) * 16,
        defines=(),
        manifest=manifest,
        driver=driver,
    )
    held = 0 if generated.streamed_input is not None else graph.tensors[graph.inputs[0]].nbytes
    if driver is not None and driver.holds_frame:
        assert frame is not None
        held = frame.bytes
    return CameraApp(
        directory,
        board,
        prepared,
        pictures,
        settings,
        sum(costs) / 1e6,
        scores,
        held,
        CAMERA,
        form,
        driver,
        # The work of recorded preprocessing depends on the pixels: errors of up to 13 % were measured.
        None
        if pictures.spec is not None
        else predict_frames(generated, plan, decision, settings, board, optimise, scores.names),
    )
