"""Small applications with updates for the tests, and a running device with one of them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.firmware.update.loader import build_loader
from arenite.host.app.emulated_run import SENSOR_FILE
from arenite.host.app.generate import App, generate_app
from arenite.host.app.reference_model import ReferenceModel
from arenite.host.app.sensor_file import sensor_bytes
from arenite.host.app.sensor_stream import IMU
from arenite.host.app.updates import AppImages, AppUpdates, sign_app
from arenite.host.emulator.flash_file import UpdatableEmulator, new_flash, start_updatable
from arenite.host.flash.build import direct_build
from arenite.host.update.keys import read_public_key
from arenite.profiles.boards import load_board
from tests.host.app.motion_models import RATE, motion_model, motions
from tests.host.update.slot_board import SlotBoard

BOARD = load_board("qemu_mps2_an386")
#: The seeds of two models of the same graph whose events in the recording differ.
OLD, NEW = 5, 11


@dataclass(frozen=True)
class Signed:
    """An application and its signed images."""

    app: App
    images: AppImages


def features(seed: int, folder: Path, samples: np.ndarray) -> np.ndarray:
    """Return the inputs of the model in all windows of a recording."""
    model = ReferenceModel(motion_model(folder / "features.tflite", seed=seed))
    return np.stack([window.features.reshape(1, -1) for window in model.stream.feed(samples)])


def signed_app(
    folder: Path, key: Path, seed: int, version: str, golden: Path | None = None, is_raw: bool = False
) -> Signed:
    """Write, build and sign an application with a model of random weights."""
    folder.mkdir(parents=True, exist_ok=True)
    prepared = motion_model(folder / "wrist.tflite", is_raw=is_raw, seed=seed)
    updates = AppUpdates(key, version, 1, golden)
    app = generate_app(prepared, BOARD, folder / "app", sensor=IMU, updates=updates)
    return signed(app)


def signed(app: App) -> Signed:
    """Build and sign an application."""
    images = sign_app(app.directory, direct_build(app.directory))
    assert images is not None
    return Signed(app, images)


class Device:
    """A running device."""

    def __init__(self, emulator: UpdatableEmulator) -> None:
        self.emulator, self.port = emulator, emulator.machine.port
        self.text = SlotBoard(emulator.machine.transport)

    def status(self) -> dict[str, int]:
        """Return the counts of the command status."""
        self.text.send("status")
        lines = self.text.read_until_match(r"\d+ samples, ")
        return {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", lines.splitlines()[-1])}

    def wait_for_samples(self, count: int) -> dict[str, int]:
        """Wait until the application has taken ``count`` samples, and return its counts."""
        end = time.monotonic() + 60
        while (counts := self.status())["samples"] < count:
            assert time.monotonic() < end, counts
            time.sleep(0.1)
        return counts


class Bench:
    """The boot loader of a key, and the flash memory of a device in ``folder``."""

    def __init__(self, folder: Path, key: Path) -> None:
        self._folder, self.flash = folder, folder / "flash.bin"
        self._loader = build_loader(BOARD, read_public_key(key), folder / "loader").elf

    def program(self, first: Signed) -> None:
        """Erase the flash memory, and program the images of an application."""
        new_flash(BOARD, self.flash, first.images.firmware.read_bytes(), first.images.model.read_bytes())

    @contextmanager
    def run(self, samples: np.ndarray, skip_sleep: bool = False, rate: int = RATE) -> Iterator[Device]:
        """Switch the device on, whose sensor plays ``samples``, ``rate`` in a second. Without ``skip_sleep`` it runs in
        real time."""
        files = self._folder / "files"
        files.mkdir(exist_ok=True)
        (files / SENSOR_FILE).write_bytes(sensor_bytes(samples, rate=rate))
        running = start_updatable(BOARD, self._loader, self.flash, skip_sleep=skip_sleep, folder=files)
        with running as emulator:
            yield Device(emulator)


__all__ = ["BOARD", "NEW", "OLD", "RATE", "Bench", "Device", "Signed", "motions", "signed", "signed_app"]
