"""The program with an agent of ``arenite update build --agent`` for an ESP32, on QEMU's RISC-V machine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from arenite.converters.graph.model import Model
from arenite.host.emulator.machine import RunningEmulator
from arenite.host.update.esp_build import EspUpdate, build_esp_update
from arenite.host.update.esp_factory import make_factory
from arenite.host.update.keys import generate_key
from arenite.host.update.update_build import UpdateOptions
from arenite.profiles.boards import load_board
from tests.firmware.update.esp32.esp_board import BOARD, build, idf_build, run
from tests.host.small_graphs import save


class EspWithAgent:
    """A program in ``folder``. ``model``: file of its model. ``flash``: content of the flash memory of a new device
    with version 1.0.0. ``elf``: what the machine runs."""

    def __init__(self, folder: Path, model: Model, *, agent: bool = True) -> None:
        self._folder = folder
        self._key = folder / "release.pem"
        generate_key(self._key)
        self.model = save(model, folder / "model.tflite")
        self.project = folder / "project"
        self._build(self.model, "1.0.0", agent).write(self.project)
        idf_build(self.project, b"\xe9 application")
        self.flash = make_factory(self.project, self._key, "1.0.0").flash
        (folder / "elf").mkdir()
        self.elf = build(self.project, folder / "elf")

    def model_image(self, model: Model, version: str) -> bytes:
        """Return the signed image of another model with the same graph."""
        return self._build(save(model, self._folder / f"{version}.tflite"), version, False).image

    def run(self, flash: bytes) -> AbstractContextManager[RunningEmulator]:
        """Run the program with ``flash`` in the flash memory until the block ends."""
        return run(self.elf, flash, self._folder)

    def _build(self, model: Path, version: str, agent: bool) -> EspUpdate:
        options = UpdateOptions(self._key, version, optimise="flash", agent=agent)
        return build_esp_update(model, load_board(BOARD), options)
