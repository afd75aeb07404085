"""List the drivers of motion sensors, and which chip is on which board."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import UsageError
from arenite.firmware.app.drivers.driver import ARDUINO, ESPIDF, PICO, ZEPHYR, Driver, framework_of
from arenite.profiles.board import Board

#: The chips, and the address of each on its bus unless a pin of the chip chooses the other one.
CHIPS = {"mpu6050": "0x68", "lsm6ds3": "0x6A", "lsm6dso": "0x6A", "bmi270": "0x68"}
_SHARED = ("imu_sensor.c", "imu_bus.h", "imu_chip.h", "imu_registers.h")
#: The file with the bus of each framework, and what it needs.
_BUSES = {
    ARDUINO: ("imu_bus_wire.cpp", ()),
    ESPIDF: ("imu_bus_esp_idf.c", ("esp_driver_i2c",)),
    PICO: ("imu_bus_pico.c", ("hardware_i2c",)),
    ZEPHYR: ("imu_bus_zephyr.c", ("I2C",)),
}
_LSM6_RATES = (12.5, 26, 52, 104, 208, 416, 833, 1660)
#: The samples per second that each chip has; an MPU-6050 divides 1000 Hz by up to 256.
RATES: dict[str, tuple[float, ...]] = {
    "mpu6050": tuple(1000 / divider for divider in range(256, 0, -1)),
    "lsm6ds3": _LSM6_RATES,
    "lsm6dso": _LSM6_RATES,
    "bmi270": (25, 50, 100, 200, 400, 800, 1600),
}
AXES = 6
#: The range of both sensors in a chip. The samples have 16 bits, so 4 g are 32768.
_RANGES = {"IMU_RANGE_G": "4", "IMU_RANGE_DPS": "1000"}
#: GPIOs of data and clock that boards with the chip lead to a connector.
_ESP_PINS = {
    "esp32": (21, 22),
    "esp32s2": (8, 9),
    "esp32s3": (8, 9),
    "esp32c3": (5, 6),
    "esp32c6": (6, 7),
    "esp32p4": (7, 8),
}
#: Data and clock of ``Wire`` on the Nucleo boards, and their places on the Arduino header, as in the variants of
#: STM32duino's core (Arduino_Core_STM32): D14 and D15 unless a variant names others.
_NUCLEO_PINS = (("PB9", "D14"), ("PB8", "D15"))
_NUCLEO_BOARD_PINS = {
    "nucleo_l432kc": (("PB7", "D4"), ("PB6", "D5")),
    "nucleo_wl55jc": (("PA11", "D14"), ("PA12", "D15")),
}
_ESP_BOARD_PINS = {"esp32cam": (14, 15), "seeed_xiao_esp32s3": (5, 6)}
_BOSCH = (
    "bmi2.c, bmi2.h, bmi2_defs.h, bmi270.c and bmi270.h of https://github.com/boschsensortec/BMI270_SensorAPI. "
    "The chip needs the configuration in bmi270.c, which has a licence of its own"
)


@dataclass(frozen=True)
class _OnBoard:
    """The chip on a board: its address, Arduino's name of its bus, and the pins of the bus if not the usual ones."""

    chip: str
    address: str
    wire: str = "Wire"
    pins: tuple[str, str] | None = None


_ON_BOARD = {
    "nano33ble": _OnBoard("bmi270", "0x68", "Wire1"),
    "nano_33_iot": _OnBoard("lsm6ds3", "0x6A"),
    "nanorp2040connect": _OnBoard("lsm6dso", "0x6A"),
    "adafruit_feather_nrf52840": _OnBoard("lsm6ds3", "0x6A"),
    "disco_l475vg_iot01a": _OnBoard("lsm6ds3", "0x6A", pins=("PB11", "PB10")),
    "disco_b_u585i_iot02a": _OnBoard("lsm6dso", "0x6B", pins=("PH5", "PH4")),
}


def chip_on(board: Board) -> str | None:
    """Return the name of the motion sensor on ``board`` that has a driver, or None."""
    on_board = _ON_BOARD.get(board.name)
    return None if on_board is None else on_board.chip


def motion_sensor_of(board: Board, chip: str | None = None) -> Driver | None:
    """Return the driver of the motion sensor ``chip`` at ``board``, or None if there is none for the board.

    Without ``chip``, it is the one on the board, or an MPU-6050 on a module. Raises ``UsageError`` if ``chip`` is none
    of ``CHIPS``.
    """
    if chip is not None and chip not in CHIPS:
        raise UsageError(
            f"'{chip}' is not a motion sensor with a driver.", f"Choose one of {', '.join(CHIPS)}."
        )
    framework = framework_of(board)
    if framework not in _BUSES:
        return None
    used = chip or chip_on(board) or "mpu6050"
    on_board = _ON_BOARD.get(board.name)
    if on_board is None or on_board.chip != used:
        on_board = None
    bus, needs = _BUSES[framework]
    pins = {"IMU_ADDRESS": CHIPS[used] if on_board is None else on_board.address}
    pins |= _bus_pins(board, framework, on_board) | _RANGES
    is_bosch = used == "bmi270"
    place = "on the board" if on_board is not None else f"on a module at {_bus_name(board, framework, pins)}"
    return Driver(
        framework,
        (f"{used}.c", bus, *_SHARED),
        f"{used.upper()} {place}",
        pins,
        ("imu_bmi270_configuration=bmi270_config_file",) if is_bosch else (),
        needs,
        _BOSCH if is_bosch else "",
        inputs=AXES,
        rates=RATES[used],
    )


def _bus_pins(board: Board, framework: str, on_board: _OnBoard | None) -> dict[str, str]:
    if framework == ESPIDF:
        assert board.espressif is not None
        sda, scl = _ESP_BOARD_PINS.get(board.name, _ESP_PINS[board.espressif.chip])
        return {"IMU_SDA": str(sda), "IMU_SCL": str(scl)}
    if framework == PICO:
        return {"IMU_I2C": "i2c0", "IMU_SDA": "4", "IMU_SCL": "5"}
    if framework == ZEPHYR:
        return {}
    pins = {"IMU_WIRE": "Wire" if on_board is None else on_board.wire}
    if on_board is not None and on_board.pins is not None:
        pins |= {"IMU_SDA": on_board.pins[0], "IMU_SCL": on_board.pins[1]}
    return pins


def _bus_name(board: Board, framework: str, pins: dict[str, str]) -> str:
    """Return where a module is connected, for display."""
    if framework in (ESPIDF, PICO):
        return f"SDA GPIO{pins['IMU_SDA']}, SCL GPIO{pins['IMU_SCL']}"
    if framework == ZEPHYR:
        return "the bus to which the alias `imu-i2c` of the devicetree leads"
    if board.name.startswith("nucleo_"):
        (sda, sda_place), (scl, scl_place) = _NUCLEO_BOARD_PINS.get(board.name, _NUCLEO_PINS)
        return f"SDA {sda} ({sda_place}), SCL {scl} ({scl_place})"
    return "the pins SDA and SCL"
