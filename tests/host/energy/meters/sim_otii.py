"""A simulated TCP server of the Otii program: JSON requests, recordings in chunks, and progress messages."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.host.energy.meters.sim_tcp import TcpInstrument
from tests.host.energy.meters.waveform import Waveform

#: The samples of current and of voltage per second.
RATE, VOLT_RATE = 4000, 1000


class SimOtii(TcpInstrument):
    """A simulated Otii Arc that measures ``waveform``. Its clock is ``ppm`` too fast. It records only if the user has a
    ``licence`` for automation."""

    end = b"\r\n"

    def __init__(self, waveform: Waveform, seed: int = 0, ppm: float = 100.0, licence: bool = True) -> None:
        super().__init__()
        self.waveform, self.ppm, self.licence = waveform, ppm, licence
        self.rng = np.random.default_rng(seed + 4000)
        self.main: list[bool] = []
        self.added = False
        self.enabled: set[str] = set()
        self.volts = 0.0
        self.running = self.recorded = False
        self.missing = 0

    def greeting(self) -> bytes:
        return b'{"type": "information", "info": "connected", "data": {"application": "Otii", "version": "3"}}\r\n'

    def answer(self, line: str) -> str | None:
        request = json.loads(line)
        result = self.do(request["cmd"], request.get("data") or {})
        kind = "error" if isinstance(result, str) else "response"
        data = {"message": result} if isinstance(result, str) else result
        reply = json.dumps(
            {"type": kind, "cmd": request["cmd"], "trans_id": request["trans_id"], "data": data}
        )
        progress = json.dumps({"type": "progress", "cmd": request["cmd"], "trans_id": request["trans_id"]})
        return progress + "\r\n" + reply

    def do(self, command: str, data: dict[str, Any]) -> dict[str, Any] | str:
        """Execute a request. Return the data of the response, or the message of an error."""
        if command == "otii_get_devices":
            return {"devices": [{"device_id": "abc", "name": "My Arc", "type": "Arc"}]}
        if command == "otii_get_active_project":
            return {"project_id": -1}
        if command == "otii_create_project":
            return {"project_id": 7}
        if command.startswith("arc_") and data["device_id"] != "abc":
            return "no such device"
        if command == "arc_set_main_voltage":
            self.volts = data["value"]
        elif command == "arc_set_main":
            self.main.append(data["enable"])
        elif command == "arc_add_to_project":
            self.added = True
        elif command == "arc_enable_channel":
            if not self.added:
                return "the device is in no project"
            self.enabled.add(data["channel"])
        elif command == "project_start_recording":
            if not self.licence:
                return "no automation licence"
            self.running = True
        elif command == "project_stop_recording":
            self.record()
        elif command == "project_get_last_recording":
            return {"recording_id": 3 if self.recorded else -1, "name": "Recording 1"}
        elif command == "recording_get_channel_data_count":
            return {"count": len(self.channels[data["channel"]])}
        elif command == "recording_get_channel_data":
            values = self.channels[data["channel"]][data["index"] : data["index"] + min(data["count"], 900)]
            rate = {"mc": RATE, "mv": VOLT_RATE}.get(data["channel"])
            if rate is None:
                return {"data_type": "digital", "values": values}
            return {
                "data_type": "analog",
                "interval": 1 / rate,
                "timestamp": data["index"] / rate,
                "values": values,
            }
        elif command != "arc_set_max_current":
            return f"unknown command {command}"
        return {}

    def record(self) -> None:
        """Compute the values of all channels: current (mc), voltage (mv) and two digital inputs (i1, i2)."""
        wave, clock_factor = self.waveform, 1 + self.ppm * 1e-6
        count = int(wave.seconds * RATE)
        edges = np.arange(count + 1) / (RATE * clock_factor)
        # The instrument sends the mean over each interval.
        fine = np.linspace(0, edges[-1], count * 64 + 1)
        mean = wave.at((fine[1:] + fine[:-1]) / 2).reshape(count, 64).mean(1)
        noisy = mean * self.rng.normal(1, 1e-3, count) + self.rng.normal(0, 1e-7, count)
        lost = self.rng.random(count) < 0.02
        self.missing = int(lost.sum())
        current = [None if is_lost else float(value) for is_lost, value in zip(lost, noisy, strict=True)]
        changes = []
        for start, end in wave.windows:
            changes += [
                {"timestamp": start * clock_factor, "value": True},
                {"timestamp": end * clock_factor, "value": False},
            ]
        volts = [self.volts] * (count * VOLT_RATE // RATE)
        self.channels: dict[str, list[Any]] = {"mc": current, "mv": volts, "i1": changes, "i2": []}
        self.recorded = True
