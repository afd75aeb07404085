"""Ask a device that was just flashed which model it runs, and compare the answer with the project."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arenite.errors import AreniteError, DeviceError
from arenite.firmware.generator.mlperf_monitor import MONITORS
from arenite.host.link.client import DeviceClient
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import SerialTransport, Transport

_HASH_BYTES = 8  # the number of bytes of the image's SHA-256 in the reply to the request HELLO
RECONNECT_S = 12.0  # a board restarts after flashing, and its USB port may take some seconds to return


class DeviceNotBackError(DeviceError):
    """The board has no port after flashing, so it could not be asked which model it runs."""


@dataclass(frozen=True)
class Identity:
    """The model and board that a device reports. The MLPerf monitor reports only names, and no hash."""

    model: str
    model_hash: str | None  # hexadecimal
    board: str


def identify(transport: Transport, protocol: str, timeout_s: float = 10.0) -> Identity:
    """Ask the device on ``transport`` which model it runs. Raises DeviceError if nothing answers."""
    if protocol in MONITORS:
        monitor_info = MonitorClient(transport).connect(timeout_s)
        return Identity(monitor_info.model, None, monitor_info.device)
    info = DeviceClient(transport).hello(timeout_s)
    return Identity(info.model, info.model_hash.hex(), info.board)


def compare(identity: Identity, manifest: dict[str, Any], port: str) -> bool:
    """Compare a device's answer with the manifest. Returns true if the model is the same, and false if the manifest has
    neither a hash nor a name to compare with.

    Raises:
        DeviceError: the device does not run the project of ``manifest``.
    """
    expected_hash = str(manifest.get("image_sha256") or "")[: 2 * _HASH_BYTES]
    if identity.model_hash is not None and expected_hash and identity.model_hash != expected_hash:
        raise DeviceError(
            f"The device on {port} runs another model: it reports {identity.model_hash}"
            f" ('{identity.model}'), the project has {expected_hash}.",
            "Is this the board that was flashed? Build again, and flash it with another --tool.",
        )
    if identity.board and identity.board != manifest["board"]:
        raise DeviceError(
            f"The device on {port} reports that it is {identity.board}; the project is for"
            f" {manifest['board']}.",
            "Check that --port is the port of the board that was flashed.",
        )
    name = (manifest.get("model") or {}).get("name")
    if identity.model_hash is None and name and identity.model != name:
        raise DeviceError(
            f"The device on {port} runs the model '{identity.model}', the project has '{name}'.",
            "Check that --port is the port of the board that was flashed.",
        )
    return bool(expected_hash if identity.model_hash is not None else name)


def wait_and_compare(
    port: Callable[[], str], baud: int, manifest: dict[str, Any], timeout_s: float = RECONNECT_S
) -> tuple[str, Identity, bool]:
    """Wait for a board that was just flashed, ask which model it runs, and compare the answer with the manifest.
    Returns the board's port, its identity, and the result of :func:`compare`.

    Args:
        port: a function that returns the port. It is called until the board answers, because USB may rename the port.
        baud: the baud rate of the port.
        manifest: the contents of the project's ``arenite.json``.
        timeout_s: the number of seconds within which the board must answer.

    Raises:
        DeviceNotBackError: the board's port did not come back.
        DeviceError: the board does not answer, or runs another model.
    """
    end = time.monotonic() + timeout_s
    while True:
        try:
            path = port()
        except AreniteError as error:
            if time.monotonic() > end:
                raise DeviceNotBackError(error.problem, error.hint) from error
            time.sleep(0.2)
            continue
        try:
            with SerialTransport(path, baud) as transport:
                identity = identify(
                    transport, manifest["protocol"], min(3.0, max(0.5, end - time.monotonic()))
                )
        except AreniteError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
            continue
        return path, identity, compare(identity, manifest, path)
