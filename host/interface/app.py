"""``app``: write an application, firmware in which a sensor, a model and its decisions run by themselves."""

from __future__ import annotations

from pathlib import Path

from arenite.host.app.applications import application_image, application_names
from arenite.host.app.camera.generate import CAMERA, CameraApp, generate_camera_app
from arenite.host.app.generate import App, generate_app
from arenite.host.app.sensor_stream import MICROPHONE
from arenite.host.interface.model import Model, prepared_model
from arenite.profiles.boards import load_board


def app(
    model: Model | str | Path,
    output: str | Path,
    *,
    board: str,
    sensor: str = MICROPHONE,
    project: str | None = None,
    optimise: str = "balanced",
    chip: str | None = None,
) -> App | CameraApp:
    """Write an application that runs a model on the samples of a sensor, or on the pictures of a camera.

    Args:
        model: a loaded model, the path of an image, or the name of a shipped application (docs/wake-word.md). It
            records its preprocessing and its decision. For a camera, pixels of 8 bits are the input if it records no
            preprocessing.
        output: the folder for the application. Its ``src/main.c`` is only written if it does not exist.
        board: the name of the board.
        sensor: the kind of sensor: ``microphone``, ``imu``, ``adc`` or ``camera``.
        project: the build system: ``platformio``, ``esp-idf``, ``zephyr`` or ``cmake``; None for the board's default.
        optimise: the optimization goal: ``speed``, ``balanced``, ``ram`` or ``flash``.
        chip: the chip of a motion sensor: ``mpu6050``, ``lsm6ds3``, ``lsm6dso`` or ``bmi270``; None for the chip on the
            board, or an MPU-6050 if there is none. Or that of a camera: ``hm01b0``, ``ov7670``, ``ov2640`` or
            ``ov5640``; None for the board's usual one.

    Raises:
        ProfileError: the board is unknown.
        ModelError, UsageError: the model cannot be loaded, records no preprocessing or decision for the sensor, or is
            too slow for the board, or there is no driver for the board.
    """
    if not isinstance(model, Model) and str(model) in application_names() and not Path(model).exists():
        model = application_image(str(model))
    prepared, profile = prepared_model(model, passes=True), load_board(board)
    if sensor == CAMERA:
        return generate_camera_app(
            prepared, profile, Path(output), project=project, optimise=optimise, chip=chip
        )
    return generate_app(
        prepared, profile, Path(output), sensor=sensor, project=project, optimise=optimise, chip=chip
    )
