"""Describe the registers of TI's INA219, INA226 and INA228, and compute voltages from their raw bytes.

Current is shunt voltage divided by shunt resistance. The drivers compute it, because the chips' own current registers
would only round it again. Step sizes and addresses are from the data sheets SBOS448, SBOS547 and SLYS021.
"""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import DeviceError, UsageError


@dataclass(frozen=True, slots=True)
class InaChip:
    """One type of chip. Registers are big-endian. In INA228, a measured value is in the upper 20 of 24 bits."""

    name: str
    shunt_register: int
    bus_register: int
    size: int  # bytes of each of the two registers
    shift: int  # number of bits below the shunt value in its register
    bus_shift: int  # number of bits below the bus value in its register
    shunt_step_v: float
    bus_step_v: float
    config: tuple[tuple[int, int], ...]  # (register, 16-bit value) for continuous and fast conversion
    identity: tuple[int, int, int] | None  # identity register, mask, expected value; None: the chip has none
    gain_error: float  # largest relative error of shunt and bus voltage together at 25 °C
    conversion_s: float  # time to convert both values with this configuration

    def volts(self, shunt: bytes, bus: bytes) -> tuple[float, float]:
        """Return shunt voltage and bus voltage, from the registers' bytes."""
        shunt_steps = int.from_bytes(shunt, "big", signed=True) >> self.shift
        # The bus voltage is never negative, although INA228 encodes it as signed.
        bus_steps = int.from_bytes(bus, "big") >> self.bus_shift
        return shunt_steps * self.shunt_step_v, bus_steps * self.bus_step_v


INA219 = InaChip(
    name="ina219",
    shunt_register=0x01,
    bus_register=0x02,
    size=2,
    shift=0,
    bus_shift=3,
    shunt_step_v=10e-6,
    bus_step_v=4e-3,
    # Ranges: bus 32 V, shunt 320 mV. Continuous conversion to 12 bits, 532 µs per value.
    config=((0x00, 0x399F),),
    identity=None,
    gain_error=0.01,
    conversion_s=1.064e-3,
)
INA226 = InaChip(
    name="ina226",
    shunt_register=0x01,
    bus_register=0x02,
    size=2,
    shift=0,
    bus_shift=0,
    shunt_step_v=2.5e-6,
    bus_step_v=1.25e-3,
    # Continuous conversion without averaging, 332 µs per value.
    config=((0x00, 0x4097),),
    identity=(0xFE, 0xFFFF, 0x5449),
    gain_error=0.002,
    conversion_s=0.664e-3,
)
INA228 = InaChip(
    name="ina228",
    shunt_register=0x04,
    bus_register=0x05,
    size=3,
    shift=4,
    bus_shift=4,
    shunt_step_v=312.5e-9,
    bus_step_v=195.3125e-6,
    # Shunt range ±163.84 mV. Continuous conversion of shunt and bus without averaging, 280 µs per value.
    config=((0x00, 0x0000), (0x01, 0xB6D8)),
    identity=(0x3F, 0xFFF0, 0x2280),
    gain_error=0.001,
    conversion_s=0.56e-3,
)
CHIPS = {chip.name: chip for chip in (INA219, INA226, INA228)}


def chip_by_name(name: str) -> InaChip:
    """Return the chip with this name. Raises UsageError for an unknown name."""
    if name not in CHIPS:
        raise UsageError(
            f"There is no driver for '{name}'.", f"The chips with a driver are {', '.join(CHIPS)}."
        )
    return CHIPS[name]


def check_identity(chip: InaChip, raw: bytes, where: str) -> None:
    """Check the two bytes ``raw`` of the identity register. Raises DeviceError if they are those of another chip. The
    message begins with ``where``."""
    if chip.identity is None:
        return
    register, mask, expected = chip.identity
    identity_value = int.from_bytes(raw, "big")
    if identity_value & mask != expected:
        raise DeviceError(
            f"{where} is not an {chip.name.upper()}: "
            f"register {register:#04x} reads {identity_value:#06x}, expected {expected:#06x}.",
            "Check the address, and whether it is another chip of the family.",
        )
