"""Record when the mark pin of an emulated board rose and fell.

Firmware with a mark (``--mark``) raises a pin while an inference computes. QEMU's log shows every write to the register
of that pin. Between the writes it shows the reads of the board's counter, which give the virtual time:

    with start(board, elf, extra=mark_pin.arguments(board, log)) as machine:
        ...
    for edge in mark_pin.read_marks(board, log):
        print(edge.virtual_s, edge.on)

QEMU does not emulate the pins of the Netduino board and only logs the writes to them. So the log contains the order of
the board's marks but no times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.firmware.boards.families import family_named
from arenite.profiles.boards import Board

_WALL = r"^\d+@(?P<wall>\d+\.\d+):"
_COUNTER_BITS = 32


@dataclass(frozen=True)
class PinEdge:
    """A rising (``on``) or falling edge of the pin.

    ``virtual_s``: seconds of the board's own time since the first read of its counter. The time is that of the latest
    read before the edge, a few dozen instructions earlier. ``wall_s``: seconds since 1970 on this computer, unrelated
    to the board's time. Each time is None if QEMU does not report it.
    """

    on: bool
    virtual_s: float | None
    wall_s: float | None


@dataclass(frozen=True)
class _PinLog:
    """Describes how QEMU logs a board's mark pin.

    ``options``: options with which QEMU writes the log. ``edge``: pattern of a log line for a write to the pin's
    register. ``level``: function that returns the pin's new level from the match of ``edge`` and the pin number; None
    means no change. ``counter``: pattern of a log line for a read of the counter; its group ``value`` is the count.
    ``counts_down``: whether the counter counts down.
    """

    options: tuple[str, ...]
    edge: str
    level: Callable[[re.Match[str], int], bool | None]
    counter: str | None = None
    counts_down: bool = False


def _led(match: re.Match[str], pin: int) -> bool:
    return bool(int(match["value"], 16) >> pin & 1)


def _nrf51_pin(match: re.Match[str], pin: int) -> bool | None:
    # Register 0x508 (OUTSET) sets the pin, 0x50c (OUTCLR) clears it.
    return match["register"] == "508" if int(match["value"], 16) >> pin & 1 else None


def _stm32_pin(match: re.Match[str], pin: int) -> bool | None:
    # Pin 16 * n + k is pin k of port n (A is 0). The register is BSRR: bit k sets the pin, bit 16 + k resets it.
    value = int(match["value"], 16)
    if ord(match["port"]) - ord("A") != pin >> 4:
        return None
    # If both bits are written, the set bit has priority over the reset bit.
    return True if value >> (pin & 15) & 1 else False if value >> (16 + (pin & 15)) & 1 else None


def _trace_options(*events: str) -> tuple[str, ...]:
    return ("-msg", "timestamp=on", *(item for event in events for item in ("-trace", event)))


_FPGAIO = r"mps2_fpgaio_write .* offset 0x0 data (?P<value>0x[0-9a-f]+)"
_MPS2 = _PinLog(
    _trace_options("mps2_fpgaio_write", "cmsdk_apb_timer_read"),
    _WALL + _FPGAIO,
    _led,
    r"cmsdk_apb_timer_read .* offset 0x4 data (?P<value>0x[0-9a-f]+)",
    counts_down=True,
)
_PIN_LOGS = {
    "mps2": _MPS2,
    "an505": _MPS2,
    "an547": _PinLog(
        _trace_options("mps2_fpgaio_write", "sse_counter_control_read"),
        _WALL + _FPGAIO,
        _led,
        r"sse_counter_control_read .* offset 0x8 data (?P<value>0x[0-9a-f]+)",
    ),
    "nrf51": _PinLog(
        _trace_options("nrf51_gpio_write", "nrf51_timer_read"),
        _WALL + r"nrf51_gpio_write offset 0x(?P<register>508|50c) value (?P<value>0x[0-9a-f]+)",
        _nrf51_pin,
        r"nrf51_timer_read .*\b0x540 data (?P<value>0x[0-9a-f]+)",
    ),
    "stm32f4": _PinLog(
        ("-d", "unimp"),
        r"^GPIO(?P<port>[A-I]): unimplemented device write \(size 4, offset 0x018, value (?P<value>0x[0-9a-f]+)",
        _stm32_pin,
    ),
}


def _pin_log(board: Board) -> tuple[_PinLog, int, float]:
    """Return the description of QEMU's log of ``board``, the default mark pin, and the ticks of the board's counter per
    second."""
    family = family_named(board.emulator.family) if board.emulator is not None else None
    if board.emulator is None or family is None or board.emulator.family not in _PIN_LOGS:
        raise UsageError(
            f"The mark pin of {board.name} cannot be observed.",
            "Use an emulated Arm board, such as qemu_mps2_an386.",
        )
    return _PIN_LOGS[board.emulator.family], family.mark_pins[0], family.ticks_per_us * 1e6


def arguments(board: Board, log: Path) -> tuple[str, ...]:
    """Return QEMU's arguments (``extra`` of ``machine.start``) that record the marks of ``board`` in ``log``.

    Raises ``UsageError`` for a board without pins.
    """
    return ("-D", str(log), *_pin_log(board)[0].options)


def read_marks(board: Board, log: Path, pin: int | None = None) -> Iterator[PinEdge]:
    """Yield the edges that ``log`` contains now, from the first rising edge on. ``pin`` is the pin of ``--mark PIN``.

    Raises ``UsageError`` for a board without pins, ``OSError`` if the log does not exist.
    """
    pin_log, default_pin, ticks_hz = _pin_log(board)
    number = default_pin if pin is None else pin
    latest: int | None = None  # the counter, extended beyond its 32 bits from its first read on
    first = 0  # the counter at its first read
    level = False
    for line in log.read_text("utf-8", "replace").splitlines():
        if pin_log.counter is not None and (read := re.search(pin_log.counter, line)):
            value = int(read["value"], 16) * (-1 if pin_log.counts_down else 1)
            if latest is None:
                latest = first = value
            latest += (value - latest) % (1 << _COUNTER_BITS)
        elif edge := re.match(pin_log.edge, line):
            new = pin_log.level(edge, number)
            if new is None or new == level:
                continue
            level = new
            wall = edge.groupdict().get("wall")
            yield PinEdge(
                new,
                None if latest is None else (latest - first) / ticks_hz,
                None if wall is None else float(wall),
            )
