"""``app``: write an application, firmware in which a sensor, a model and its decisions run by themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from arenite.errors import UsageError
from arenite.firmware.app.settings import StreamSettings
from arenite.host.app.applications import application_image, application_sensor, is_application
from arenite.host.app.camera.generate import CAMERA, CameraApp, generate_camera_app
from arenite.host.app.camera.pictures import Pictures
from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.folder_check import check_folder
from arenite.host.app.generate import App, generate_app
from arenite.host.app.recorded_sensor import recorded_sensor
from arenite.host.build.library import identifier
from arenite.host.build.prepare import Prepared
from arenite.host.interface.model import Model, prepared_model
from arenite.profiles.boards import load_board


def app(
    model: Model | str | Path,
    output: str | Path,
    *,
    board: str,
    sensor: str | None = None,
    project: str | None = None,
    optimise: str = "balanced",
    chip: str | None = None,
    cascade: Model | str | Path | None = None,
    hang_ms: float | None = None,
    replace: bool = False,
    accept: Callable[[StreamSettings | Pictures], None] = lambda _: None,
) -> App | CameraApp:
    """Write an application that runs a model on the samples of a sensor, or on the pictures of a camera.

    Args:
        model: a loaded model, the path of an image, or the name of a shipped application (docs/applications.md). It
            records its preprocessing and its decision. For a camera, pixels of 8 bits are the input if it records no
            preprocessing.
        output: the folder for the application. Its ``src/main.c`` is only written if it does not exist. If it has an
            application of the same models, board and sensor, this is written again.
        board: the name of the board.
        sensor: the kind of sensor: ``microphone``, ``imu``, ``adc`` or ``camera``; None for that of a shipped
            application, otherwise for that of the recorded preprocessing, or a microphone if there is none.
        project: the build system: ``platformio``, ``esp-idf``, ``zephyr`` or ``cmake``; None for the board's default.
        optimise: the optimization goal: ``speed``, ``balanced``, ``ram`` or ``flash``.
        chip: the chip of a motion sensor: ``mpu6050``, ``lsm6ds3``, ``lsm6dso`` or ``bmi270``; None for the chip on the
            board, or an MPU-6050 if there is none. Or that of a camera: ``hm01b0``, ``ov7670``, ``ov2640``,
            ``ov5640`` or ``gc2145``; None for the board's usual one.
        cascade: a large model that the events of ``model`` wake, given as ``model`` is. Then the events of the
            application are those of the large model.
        hang_ms: the time in milliseconds for which the large model still runs after an event of ``model``; None for the
            recorded one, or else the length of a window of the large model.
        replace: write also over an application of other models, another board or another sensor.
        accept: called with the numbers of the application, or with the pictures that a camera's model takes, before
            anything is written. If it raises an error, nothing is written.

    Raises:
        ProfileError: the board is unknown.
        ModelError, UsageError: a model cannot be loaded, records no preprocessing or decision for the sensor, or is
            too slow for the board, or there is no driver for the board, or the two models do not make a cascade, or
            ``output`` has another application.
    """
    if not isinstance(model, Model) and is_application(str(model)):
        sensor = application_sensor(str(model), sensor)
    prepared, profile = _prepared(model), load_board(board)
    sensor = sensor or recorded_sensor(prepared)
    if hang_ms is not None and cascade is None:
        raise UsageError("--hang-ms is for a cascade.", "Add --cascade LARGE, or remove --hang-ms.")
    large = None if cascade is None else _prepared(cascade)
    names = tuple(identifier(p.path.stem) for p in (prepared, large) if p is not None)
    check_folder(Path(output), names, board, sensor, is_replaced=replace)
    if large is not None:
        if sensor == CAMERA:
            raise UsageError(
                "A cascade cannot look: its models share the samples of a sensor, but a camera's rows go into one "
                "model as they arrive.",
                "Choose another sensor, or give one model.",
            )
        return generate_cascade(
            prepared,
            large,
            profile,
            Path(output),
            sensor=sensor,
            project=project,
            optimise=optimise,
            chip=chip,
            hang_ms=hang_ms,
            accept=accept,
        )
    if sensor == CAMERA:
        return generate_camera_app(
            prepared, profile, Path(output), project=project, optimise=optimise, chip=chip, accept=accept
        )
    return generate_app(
        prepared,
        profile,
        Path(output),
        sensor=sensor,
        project=project,
        optimise=optimise,
        chip=chip,
        accept=accept,
    )


def _prepared(model: Model | str | Path) -> Prepared:
    """Return a model, which may be the name of a shipped application."""
    if not isinstance(model, Model) and is_application(str(model)):
        model = application_image(str(model))
    return prepared_model(model, passes=True)
