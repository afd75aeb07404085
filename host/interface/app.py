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
from arenite.host.app.updates import AppUpdates
from arenite.host.build.library import identifier
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.interface.model import Model
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
    updates: AppUpdates | None = None,
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
        updates: how the application takes updates over its serial port; None if it takes none. Only applications with
            one model, and with the samples of a sensor, take updates.

    Raises:
        ProfileError: the board is unknown.
        ModelError, UsageError: a model cannot be loaded, records no preprocessing or decision for the sensor, or is
            too slow for the board, or there is no driver for the board, or the two models do not make a cascade, or
            ``output`` has another application.
    """
    if not isinstance(model, Model) and is_application(str(model)):
        sensor = application_sensor(str(model), sensor)
    prepared, profile = _prepared(model, removes_channels=updates is None), load_board(board)
    sensor = sensor or recorded_sensor(prepared)
    if hang_ms is not None and cascade is None:
        raise UsageError("--hang-ms is for a cascade.", "Add --cascade LARGE, or remove --hang-ms.")
    large = None if cascade is None else _prepared(cascade)
    names = tuple(identifier(p.path.stem) for p in (prepared, large) if p is not None)
    if updates is not None:
        _check_updates(sensor, project, is_cascade=large is not None)
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
        updates=updates,
    )


def _check_updates(sensor: str, project: str | None, is_cascade: bool) -> None:
    """Raise ``UsageError`` if an application of this kind takes no updates."""
    if is_cascade or sensor == CAMERA:
        kind = "a cascade" if is_cascade else "an application with a camera"
        raise UsageError(
            f"--updates is not for {kind} yet.",
            "Remove --updates, or give one model and a sensor of samples: microphone, imu or adc.",
        )
    if project is not None:
        raise UsageError(
            f"--project {project} does not sign images, so it is not for an application with updates.",
            "Remove --project: `arenite build` builds the application and signs its images.",
        )


def _prepared(model: Model | str | Path, *, removes_channels: bool = True) -> Prepared:
    """Return a model, which may be the name of a shipped application. Without ``removes_channels`` its shapes do not
    depend on the weights."""
    if not isinstance(model, Model) and is_application(str(model)):
        model = application_image(str(model))
    if isinstance(model, Model):
        return model.prepared
    return prepare(model, removes_channels=removes_channels)
