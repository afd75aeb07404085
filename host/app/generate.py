"""Generate an application from a model image: check what the image records, and write the folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.app.drivers.choice import driver_of
from arenite.firmware.app.drivers.driver import Driver
from arenite.firmware.app.drivers.flash_stores import flash_store_of
from arenite.firmware.app.forms.choice import chosen_form
from arenite.firmware.app.learning_glue import Learning
from arenite.firmware.app.model_glue import HEADER as MODEL_HEADER
from arenite.firmware.app.model_glue import SOURCE as MODEL_SOURCE
from arenite.firmware.app.model_glue import Scores, model_header, model_source
from arenite.firmware.app.project import supported, write_app
from arenite.firmware.app.settings import StreamSettings, room_for
from arenite.firmware.app.update_parts import MODEL_NAME
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.target import Target
from arenite.firmware.library.processing import bind_processing, processing_files
from arenite.firmware.library.sources import library_sources
from arenite.firmware.sizes.app_prediction import stack_bound
from arenite.firmware.sizes.prediction import predict
from arenite.firmware.sizes.targets import target_of
from arenite.firmware.sizes.timing import estimate_instructions
from arenite.host.app.busy_time import instruction_seconds, learning_seconds, row_seconds
from arenite.host.app.cascade.plan import CascadePlan
from arenite.host.app.headroom import Headroom, predict_headroom
from arenite.host.app.learning import event_scores, learning_files, planned_learning
from arenite.host.app.memory_check import check_memory
from arenite.host.app.overload import Choices, overload_warnings
from arenite.host.app.sensor_limits import check_sensor
from arenite.host.app.sensor_stream import ADC, IMU, MICROPHONE, STREAM_SENSORS, sensor_stream
from arenite.host.app.slow_inference import SlowInference, hops_of
from arenite.host.app.updates import AppUpdates
from arenite.host.build.attachments import recorded_labels
from arenite.host.build.library import identifier, lower_models
from arenite.host.build.prepare import Prepared
from arenite.host.update.image_pair import MIN_STACK_BYTES
from arenite.profiles.board import Board
from arenite.profiles.boards import all_boards

#: Bytes of stack for features, decisions and text, besides those of an inference.
STACK_MARGIN = 512
SENSORS = STREAM_SENSORS
_WITH_ARTICLE = {MICROPHONE: "a microphone", IMU: "a motion sensor", ADC: "an analog-to-digital converter"}


@dataclass(frozen=True)
class App:
    """A generated application in ``directory``.

    ``inference_s`` is the estimated time of an inference, ``project`` the build system, and ``driver`` that of the
    sensor on a real board. ``headroom`` is the predicted time of a window; None if its costs were not measured.
    ``warnings`` tell what is wrong with it. In a ``cascade``, ``prepared`` is the small model, ``scores`` are those of
    the large one, and ``inference_s`` is the time of both. ``updates`` tells how it takes updates, if it does.
    """

    directory: Path
    board: Board
    prepared: Prepared
    settings: StreamSettings
    inference_s: float
    scores: Scores
    sensor: str
    learning: Learning | None = None
    image_sha256: bytes = b""
    project: str = ""
    driver: Driver | None = None
    cascade: CascadePlan | None = None
    headroom: Headroom | None = None
    warnings: tuple[str, ...] = ()
    updates: AppUpdates | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.app/1``, without a playback."""
        return {
            "schema": "arenite.app/1",
            "directory": str(self.directory),
            "board": self.board.name,
            "sensor": self.sensor,
            "project": self.project,
            "rate": self.settings.rate,
            "channels": self.settings.channels,
            "window": self.settings.window,
            "hop": self.settings.hop,
            "inference_ms": round(self.inference_s * 1000, 3),
            "headroom": None if self.headroom is None else self.headroom.to_json(),
            "warnings": list(self.warnings),
            "classes": list(self.scores.names),
            "wiring": None if self.driver is None else self.driver.wiring,
            "cascade": None if self.cascade is None else self.cascade.to_json(),
            "updates": self.updates is not None,
        }


def inference_seconds(g: Generated, board: Board, optimise: str) -> float:
    """Return the estimated time of one inference. On an emulated board it is the time of the emulator's clock."""
    return instruction_seconds(estimate_instructions(g, target_of(board).core, optimise), board)


def faster_boards(board: Board, sensor: str) -> list[Board]:
    """Return the other emulated boards that have ``sensor``, if ``board`` is one; otherwise none."""
    return [
        b
        for b in all_boards()
        if board.emulated and b.emulated and b.name != board.name and supported(b, sensor)
    ]


def other_goals(optimise: str) -> list[str]:
    """Return the goals of --optimise besides ``optimise``."""
    return [mode for mode in OPTIMISE_MODES if mode != optimise]


def write_with_stack(directory: Path, least: int, write: Callable[[int], None]) -> None:
    """Call ``write`` with the bytes of stack to reserve: at least ``least``, and the predicted bound of the application
    that it writes to ``directory``."""
    stack = -(-least // 16) * 16
    write(stack)
    if (bound := stack_bound(directory)) > stack:
        write(bound)


def sensor_driver(board: Board, sensor: str, chip: str | None) -> Driver | None:
    """Return the driver of ``sensor`` on a real board, or None for an emulated one. Raises ``UsageError`` if there is
    no driver."""
    if sensor not in SENSORS:
        raise UsageError(f"'{sensor}' is not a sensor.", f"Choose one of {', '.join(SENSORS)}.")
    driver = None if board.emulated else driver_of(board, sensor, chip)
    if chip is not None and board.emulated:
        raise UsageError(
            f"--chip is for real boards, but {board.name} has a virtual sensor.", "Remove --chip."
        )
    if not supported(board, sensor):
        raise UsageError(
            f"There is no driver of {_WITH_ARTICLE[sensor]} for {board.name} yet.",
            "Choose a board of docs/app-boards.md, or write the driver beside the sources of `arenite library`.",
        )
    return driver


def generate_app(
    prepared: Prepared,
    board: Board,
    directory: Path,
    *,
    sensor: str = MICROPHONE,
    project: str | None = None,
    optimise: str = "balanced",
    chip: str | None = None,
    accept: Callable[[StreamSettings], None] = lambda _: None,
    updates: AppUpdates | None = None,
) -> App:
    """Write the application that runs ``prepared`` on ``board`` with ``sensor``.

    ``project`` is the build system, one of ``FORMS``, or None for the board's default. ``chip`` is
    the chip of a motion sensor, or None for that of the board. ``accept`` is called with the numbers of the application
    before anything is written. If it raises an error, nothing is written. ``updates`` tells how the application takes
    updates; None if it takes none.

    Raises ``UsageError`` if the image does not record features and a decision for the sensor, or if there is no driver
    for the board, or if it cannot take updates, and
    ``DoesNotFitError`` if the model alone does not fit a real board. Then nothing was written.
    """
    driver = sensor_driver(board, sensor, chip)
    form = chosen_form(board, project)
    title = identifier(prepared.path.stem)
    name = title if updates is None else MODEL_NAME
    parts = None if updates is None else updates.parts(prepared, board)
    generated = replace(lower_models({name: prepared}, Target.for_core(board.core, optimise))[0], name=title)
    labels = recorded_labels(prepared.extra)
    processing = bind_processing(generated, prepared.extra, labels)
    stream = sensor_stream(prepared, processing, sensor)
    assert processing is not None
    hop, rate = stream.hop, stream.rate
    inference_s = inference_seconds(generated, board, optimise)
    where = f"[{stream.record}]"

    def lowered(other: Board, goal: str) -> Generated:
        if (other.name, goal) == (board.name, optimise):
            return generated
        return lower_models({name: prepared}, Target.for_core(other.core, goal))[0]

    if inference_s >= hop / rate:
        slow = SlowInference(
            board,
            optimise,
            hop,
            rate,
            hops_of(stream),
            where,
            faster_boards(board, sensor),
            other_goals(optimise),
        )
        raise UsageError(
            f"An inference on {board.name} takes an estimated {inference_s * 1000:,.0f} ms, but {where} "
            f"wants one every {hop / rate * 1000:,.0f} ms.",
            slow.hint(lambda other, goal: inference_seconds(lowered(other, goal), other, goal)),
        )
    learning = planned_learning(processing, rate, hop)
    if learning is not None and updates is not None:
        raise UsageError(
            f"{prepared.path.name} has an anomaly head, and an application that learns takes no updates yet.",
            "Remove --updates, or give a model with a decision alone.",
        )
    if learning is not None and driver is not None:
        driver, learning = flash_store_of(board).add_to(driver, learning)
    settings = StreamSettings(
        rate=rate,
        window=stream.window,
        hop=hop,
        room=room_for(
            (inference_s + learning_seconds(processing, board)) * rate,
            rate,
            row_seconds(processing, board) * rate,
        ),
        events=(stream.decision.max_events if stream.decision is not None else 0)
        + (learning.max_events if learning is not None else 0),
        channels=stream.channels,
        holds=stream.holds,
        sensor=1 + STREAM_SENSORS.index(sensor),
    )
    check_sensor(driver, board, sensor, settings)
    check_memory({name: generated}, {name: prepared}, board, optimise, settings.buffer_bytes)
    accept(settings)
    files = library_sources([generated], None) | processing_files(generated, processing)
    scores = event_scores(prepared, stream.decision, learning, labels)
    files |= learning_files(generated, learning)
    has_updates = updates is not None
    files[MODEL_HEADER] = model_header(generated, scores, processing.gate is not None, learning, has_updates)
    files[MODEL_SOURCE] = model_source(scores, has_updates)
    stack = predict(generated, board, optimise).stack + STACK_MARGIN
    manifest: dict[str, Any] = {
        "model": {"path": str(prepared.path), "sha256": prepared.sha256, "name": name},
        "image_sha256": generated.sha256.hex(),
        "sensor": sensor,
        "rate": rate,
        "channels": stream.channels,
    }

    def write(stack_bytes: int) -> None:
        write_app(
            directory,
            title,
            board,
            files,
            settings,
            form=form,
            optimise=optimise,
            stack_bytes=stack_bytes,
            defines=(f"{name.upper()}_{stream.define}",),
            manifest=manifest,
            driver=driver,
            updates=parts,
        )

    if updates is None:
        write_with_stack(directory, stack, write)
    else:  # the stack below the functions of the boot loader cannot be predicted
        write(-(-max(stack, MIN_STACK_BYTES) // 16) * 16)

    def predicted(other: Board, goal: str, other_hop: int) -> Headroom | None:
        g = lowered(other, goal)
        bound = processing if g is generated else bind_processing(g, prepared.extra, labels)
        assert bound is not None
        return predict_headroom(g, bound, replace(settings, hop=other_hop), other, goal, scores.names)

    headroom = predicted(board, optimise, hop)
    choices = Choices(
        board,
        optimise,
        hop,
        hops_of(stream),
        faster_boards(board, sensor),
        other_goals(optimise),
    )
    return App(
        directory,
        board,
        prepared,
        settings,
        inference_s,
        scores,
        sensor,
        learning,
        generated.sha256,
        form,
        driver,
        headroom=headroom,
        warnings=overload_warnings(headroom, choices, predicted, where),
        updates=updates,
    )
