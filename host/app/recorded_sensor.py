"""Find out for which sensor an image was made."""

from __future__ import annotations

from arenite.converters.processing.specification.preprocessing import KEY
from arenite.host.app.camera.generate import CAMERA
from arenite.host.app.sensor_stream import IMU, MICROPHONE
from arenite.host.build.prepare import Prepared


def recorded_sensor(prepared: Prepared) -> str:
    """Return the sensor of the preprocessing that an image records; a microphone if it records none."""
    kind = prepared.extra.get(KEY, {}).get("source", {}).get("kind")
    return {"image": CAMERA, "imu": IMU}.get(kind, MICROPHONE)
