"""Driver of an INA219, INA226 or INA228 on an I²C bus of this computer (``/dev/i2c-N``). Each sample is one read of
shunt voltage and bus voltage.

This driver has never run on hardware. The register arithmetic is tested; the calls to the kernel follow i2c-dev's
documentation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.ina_chip import check_identity, chip_by_name
from arenite.host.energy.meters.polled import PolledMeter

I2C_SLAVE = 0x0703  # linux/i2c-dev.h


class InaI2c(PolledMeter):
    """An INA chip. ``where`` is the bus, with or without an address: ``/dev/i2c-1`` or ``/dev/i2c-1:0x41``.
    ``shunt_ohm`` is the resistance of the shunt on the module; its tolerance adds to the error of the current."""

    def __init__(self, where: str, chip: str = "ina226", shunt_ohm: float = 0.1) -> None:
        """Raises UsageError for an unknown chip, or an address or a shunt out of range."""
        self._chip = chip_by_name(chip)
        super().__init__(1 / self._chip.conversion_s, self._chip.gain_error)
        self.name = f"{chip} on {where}"
        self._path, _, address = where.partition(":")
        try:
            self._address = int(address, 0) if address else 0x40
        except ValueError:
            self._address = -1
        if not 0x40 <= self._address <= 0x4F:
            raise UsageError(
                f"'{address}' is not an address of an {chip.upper()}.", "The addresses are 0x40 to 0x4f."
            )
        if not shunt_ohm > 0:
            raise UsageError(
                f"A shunt of {shunt_ohm:g} Ω is out of range.", "Modules often have 0.1 Ω (R100) or 0.01 Ω."
            )
        self._shunt = shunt_ohm
        self._file = -1

    def open(self) -> None:
        """Open the bus, check the chip, and start continuous conversion."""
        # fcntl is not available on every system.
        import fcntl

        try:
            self._file = os.open(self._path, os.O_RDWR)
            fcntl.ioctl(self._file, I2C_SLAVE, self._address)
        except OSError as error:
            self.close()
            raise DeviceError(
                f"Cannot use {self._path}: {error.strerror}.",
                "Load the module i2c-dev, enable the bus, and join the group 'i2c'.",
            ) from error
        if self._chip.identity is not None:
            raw = self._read(self._chip.identity[0], 2)
            check_identity(self._chip, raw, f"The chip at {self._address:#04x} of {self._path}")
        for register, value in self._chip.config:
            self._transfer(os.write, bytes([register]) + value.to_bytes(2, "big"))

    def _transfer(self, call: Callable[[int, Any], Any], argument: Any) -> Any:
        try:
            return call(self._file, argument)
        except OSError as error:
            raise DeviceError(
                f"Nothing answers at {self._address:#04x} on {self._path}: {error.strerror}.",
                "Check the wires and the address (i2cdetect -y N).",
            ) from error

    def _read(self, register: int, size: int) -> bytes:
        self._transfer(os.write, bytes([register]))
        return bytes(self._transfer(os.read, size))

    def read_sample(self) -> tuple[float, float]:
        """See :class:`PolledMeter`."""
        chip = self._chip
        shunt, bus = chip.volts(
            self._read(chip.shunt_register, chip.size), self._read(chip.bus_register, chip.size)
        )
        return shunt / self._shunt, bus

    def close(self) -> None:
        """See :class:`Meter`."""
        super().close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
