"""Driver for Qoitech's Otii Arc and Ace, through the TCP server of the Otii program (port 1905).

Each line is a JSON object. A request has ``type``, ``cmd``, ``data`` and ``trans_id``. Its answer has the same
``trans_id`` and the ``type`` response or error. Objects of the types ``progress`` and ``information`` may arrive before
the answer. The program stores the recording, so the samples are read after the recording has stopped. Newer versions of
the program need a licence for automation, which is set up in the program itself. This driver has never run on an Otii;
it is tested against a simulated server on a TCP socket.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.connection import open_connection
from arenite.host.energy.meters.trace import Floats, Trace
from arenite.host.link.transport import Transport

PORT = 1905
CHUNK = 40_000  # values per request, as in the program's own clients
#: The relative error of a reading: 0.1 %, from memory of the manufacturer's data sheet and not checked. The data
#: sheet's additional error of 50 nA is not used.
GAIN_ERROR = 0.001
MIN_V, MAX_V = 0.5, 5.0


class Otii(Meter):
    """The first connected Otii, or the Otii with the name or id ``device``. With ``marks`` the digital inputs i1 and i2
    are recorded as bits 0 and 1 of the trace's ``marks`` (the levels of the meter's digital inputs)."""

    name = "otii"

    def __init__(
        self,
        where: str = "tcp:127.0.0.1",
        supply_v: float = 3.3,
        device: str | None = None,
        marks: bool = True,
        max_current_a: float = 0.5,
    ) -> None:
        """Raises UsageError for a voltage outside an Arc's range. ``where`` is the address of the Otii program's
        server, ``supply_v`` the voltage that the Otii supplies."""
        if not MIN_V <= supply_v <= MAX_V:
            raise UsageError(f"An Otii cannot give {supply_v:g} V.", f"It gives {MIN_V:g} to {MAX_V:g} V.")
        self._where, self._supply, self._device_name, self._marks = where, supply_v, device, marks
        self._max_current = max_current_a
        self._transport: Transport | None = None
        self._pending = b""
        self._number = 0
        self._id = ""
        self._recording = False

    def _request(self, command: str, timeout_s: float = 10.0, **data: Any) -> dict[str, Any]:
        """Send a request and return the ``data`` of its answer. Raises DeviceError if the answer is an error or does
        not arrive in time."""
        if self._transport is None:
            raise UsageError("The Otii is not open.", "Call open() first.")
        self._number += 1
        number = str(self._number)
        request = {"type": "request", "cmd": command, "trans_id": number, "data": data}
        self._transport.write(json.dumps(request).encode() + b"\r\n")
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            answer = self._next(end)
            if answer is None or answer.get("trans_id") != number or answer.get("type") == "progress":
                continue
            if answer.get("type") == "error":
                message = answer.get("data", {}).get("message") or answer.get("errorcode") or "error"
                raise DeviceError(
                    f"The Otii program refused {command}: {message}.",
                    "Log in and reserve an automation licence in the Otii program if it asks for one.",
                )
            return dict(answer.get("data") or {})
        raise DeviceError(
            f"The Otii program does not answer {command}.", "Start the server in the Otii program."
        )

    def _next(self, end: float) -> dict[str, Any] | None:
        """Return the next JSON object from the server; None if it is not an object or if none arrives before
        ``end``."""
        assert self._transport is not None
        while b"\n" not in self._pending:
            remaining = end - time.monotonic()
            if remaining <= 0:
                return None
            self._pending += self._transport.read(min(remaining, 0.5))
        raw, _, self._pending = self._pending.partition(b"\n")
        try:
            answer = json.loads(raw)
        except ValueError:
            raise DeviceError(
                f"{self._where} is not an Otii server: it sent {raw[:40]!r}.",
                "Give the address of the Otii program's server; its port is 1905.",
            ) from None
        return answer if isinstance(answer, dict) else None

    def open(self) -> None:
        """Connect, choose the device, set its supply, and switch the board on."""
        self._transport = open_connection(self._where, tcp_port=PORT)
        devices = self._request("otii_get_devices", timeout=5).get("devices", [])
        chosen = [
            device
            for device in devices
            if self._device_name in (None, device.get("name"), device.get("device_id"))
        ]
        if not chosen:
            names = ", ".join(str(device.get("name")) for device in devices) or "none"
            raise DeviceError(
                f"No Otii {self._device_name or 'device'} is connected; connected are: {names}.",
                "Connect it to the computer that runs the Otii program.",
            )
        self._device, self._id = chosen[0], chosen[0]["device_id"]
        project = self._request("otii_get_active_project").get("project_id", -1)
        self._project = project if project != -1 else self._request("otii_create_project")["project_id"]
        # Older versions of the program record only the devices that were added to the project. Newer versions record
        # all connected devices and may refuse this request.
        with suppress(DeviceError):
            self._request("arc_add_to_project", device_id=self._id)
        self._request("arc_set_main_voltage", device_id=self._id, value=self._supply)
        # Not every device has a current limit, a voltage channel, or digital inputs; only the current is required. The
        # channels are mc (main current), mv (main voltage), i1 and i2 (digital inputs).
        with suppress(DeviceError):
            self._request("arc_set_max_current", device_id=self._id, value=self._max_current)
        self._request("arc_enable_channel", device_id=self._id, channel="mc", enable=True)
        self._channels = ["mc"]
        for channel in ("mv", *(("i1", "i2") if self._marks else ())):
            with suppress(DeviceError):
                self._request("arc_enable_channel", device_id=self._id, channel=channel, enable=True)
                self._channels.append(channel)
        self._request("arc_set_main", device_id=self._id, enable=True)

    def start(self) -> None:
        """Start a recording in the Otii program."""
        if self._recording:
            raise UsageError("The Otii is already recording.", "Call stop() first.")
        self._request("project_start_recording", project_id=self._project)
        self._started = time.monotonic()
        self._recording = True

    def samples(self, timeout_s: float = 1.0) -> Iterator[Trace]:
        """Return no samples, because the program gives a recording only after it has stopped."""
        return iter(())

    def stop(self) -> Trace:
        """Stop the recording, and return it."""
        if not self._recording:
            raise UsageError("The Otii is not recording.", "Call start() first.")
        self._recording = False
        self._request("project_stop_recording", project_id=self._project)
        last = self._request("project_get_last_recording", project_id=self._project)
        recording = last.get("recording_id", -1)
        if recording == -1:
            raise DeviceError(
                "The Otii program has no recording.", "Do not stop the recording in the program itself."
            )
        times, current = self._analog(recording, "mc")
        if len(current) < 2:
            raise DeviceError("The Otii program's recording is empty.", "Record for longer.")
        valid = np.isfinite(current)
        marks = None
        if {"i1", "i2"} <= set(self._channels):
            # If the program cannot return an input's channel, the recording has no marks, but its current is valid.
            with suppress(DeviceError):
                bits = [
                    self._digital(recording, channel, times) << k for k, channel in enumerate(("i1", "i2"))
                ]
                marks = np.asarray(bits[0] | bits[1], dtype=np.uint8)[valid]
        return Trace(
            times[valid],
            current[valid],
            self._volts(recording, times[valid]),
            float((len(times) - 1) / (times[-1] - times[0])),
            marks=marks,
            lost_samples=int(np.count_nonzero(~valid)),
            started_s=self._started,
            gain_error=GAIN_ERROR,
            meta={
                "meter": self.name,
                "device": dict(self._device),
                "gain_error": "data sheet value, not checked",
            },
        )

    def _volts(self, recording: int, times: Floats) -> Floats | float:
        """Return the measured voltage, or the voltage that was set if the device does not measure it."""
        if "mv" not in self._channels:
            return self._supply
        volt_times, volts = self._analog(recording, "mv")
        valid = np.isfinite(volts)
        return np.interp(times, volt_times[valid], volts[valid]) if valid.any() else self._supply

    def _values(self, recording: int, channel: str) -> tuple[list[Any], dict[str, Any]]:
        """Return all values of a channel, and the data of the first answer, which has the start time and the
        interval."""
        request: dict[str, Any] = {"recording_id": recording, "device_id": self._id, "channel": channel}
        count = int(self._request("recording_get_channel_data_count", **request)["count"])
        values: list[Any] = []
        first: dict[str, Any] = {}
        while len(values) < count:
            data = self._request(
                "recording_get_channel_data",
                60.0,
                **request,
                index=len(values),
                count=min(CHUNK, count - len(values)),
            )
            first = first or data
            if not data.get("values"):
                break
            values += data["values"]
        return values, first

    def _analog(self, recording: int, channel: str) -> tuple[Floats, Floats]:
        """Return times in s and the values of an analog channel, shape (n,) each. A missing value is NaN.

        A value is the mean of the interval that starts at its time, so it is placed in the middle of that
        interval.
        """
        values, first = self._values(recording, channel)
        start, step = float(first.get("timestamp", 0.0)), float(first.get("interval", 0.0))
        times = np.asarray(start + (np.arange(len(values)) + 0.5) * step, np.float64)
        return times, np.array(values, dtype=np.float64)

    def _digital(self, recording: int, channel: str, times: Floats) -> Any:
        """Return the level of a digital channel at each time, as 0 or 1. The channel contains only changes. Before the
        first change, the level is the opposite of the first change."""
        values, _ = self._values(recording, channel)
        if not values:
            return np.zeros(len(times), dtype=np.uint8)
        at = np.array([float(change["timestamp"]) for change in values])
        level = np.array([bool(change["value"]) for change in values])
        levels = np.append(not level[0], level).astype(np.uint8)
        return levels[np.searchsorted(at, times, side="right")]

    def close(self) -> None:
        """Switch the board off and disconnect. The project stays open in the Otii program."""
        if self._transport is None:
            return
        with suppress(DeviceError):
            if self._recording:
                self._request("project_stop_recording", project_id=self._project)
            self._request("arc_set_main", device_id=self._id, enable=False)
        self._recording = False
        self._transport.close()
        self._transport = None
