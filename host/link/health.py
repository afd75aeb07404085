"""Parse the health report and the log of a device, and describe them in text.

Firmware that was generated with ``--health`` answers the requests HEALTH and LOG. ``docs/protocol.md`` describes
the layout.
"""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass
from typing import Any

#: The cause of a start, by its number.
CAUSES = (
    "power-on",
    "a request",
    "a fault",
    "the watchdog",
    "a brown-out of the supply",
    "the reset pin",
    "a reset by software",
    "a reset without a recorded cause",
    "an unknown reason",
)
#: Indices of some ``CAUSES``.
FAULT, WATCHDOG, BROWN_OUT = 2, 3, 4
POWER_ON, REQUEST = 0, 1

_REPORT = struct.Struct("<14I")
_ENTRY = struct.Struct("<5I")
ENTRY_BYTES = _ENTRY.size

CORTEX_M, RISC_V, XTENSA = 1, 2, 3
#: Fault texts by architecture and by the core's own fault number. On Cortex-M the number is one more than the
#: lowest set bit of CFSR.
_FAULTS: dict[int, dict[int, str]] = {
    CORTEX_M: {
        1: "an instruction fetch from memory that is not executable",
        2: "a forbidden access to memory",
        4: "a forbidden access while an exception returned",
        5: "a forbidden access while an exception was entered",
        9: "an instruction fetch from an address without memory",
        10: "an access to an address without memory",
        11: "a store to an address without memory, a few instructions earlier",
        12: "an address without memory during the return from an exception",
        13: "an address without memory while the stack was written: it overflowed",
        17: "an undefined instruction",
        18: "a jump into another instruction set",
        19: "a damaged return from an exception",
        20: "an instruction for a missing coprocessor",
        25: "an unaligned access",
        26: "a division by zero",
        33: "a fault without an explanation from the core",
    },
    RISC_V: {
        0: "an instruction at an odd address",
        1: "an instruction fetch from an address without memory",
        2: "an undefined instruction",
        3: "a breakpoint",
        4: "an unaligned load",
        5: "a load from an address without memory",
        6: "an unaligned store",
        7: "a store to an address without memory",
        11: "a system call, which the firmware does not have",
    },
    XTENSA: {
        0: "an undefined instruction",
        1: "a system call, which the firmware does not have",
        2: "an instruction fetch from memory that is not executable",
        3: "a load or store that the bus refused",
        6: "a division by zero",
        9: "an unaligned access",
        20: "an instruction fetch from memory that forbids execution",
        28: "a load from memory that forbids reading",
        29: "a store to memory that forbids writing",
        64: "a breakpoint",
    },
}

#: The codes of the events in a log.
START, TRAP, HANG, GUARD, STACK, BAD_FRAME, OUT_OF_ORDER, BAD_REQUEST = range(1, 9)


def fault_text(architecture: int, number: int) -> str:
    """Return the kind of a fault as text. ``number`` is the core's own fault number."""
    if architecture == CORTEX_M and number == 0:
        return "a fault that is not defined for this core"
    return _FAULTS.get(architecture, {}).get(number, f"fault {number}")


def cause_text(cause: int) -> str:
    """Return the cause of a device's start as text. ``cause`` is an index of ``CAUSES``."""
    return CAUSES[cause] if cause < len(CAUSES) else f"reason {cause}"


@dataclass(frozen=True)
class Health:
    """A device's health report.

    ``cause``: the reason of the device's start, an index of ``CAUSES``. After a fault or a watchdog reset, ``pc`` is
    the program counter (0: unknown), ``address`` the address that the program accessed (0: unknown), and ``fault`` the
    kind of fault as text.
    """

    uptime_ms: int
    inferences: int  # since the start
    cause: int
    hardware: int  # the register that holds the cause of a reset, if the device has one
    architecture: int
    fault: str | None
    pc: int
    address: int
    guards_damaged: int  # words around the arena that were overwritten
    stack_margin: int  # bytes of the stack that were never used
    starts: int  # number of starts since power was lost, this one included
    bad_frames: int
    watchdog_ms: int  # 0: no watchdog
    log_entries: int  # log entries that were written since the log was last cleared

    @property
    def started_by(self) -> str:
        """A phrase for the cause of the device's start, with the details of a fault."""
        text = cause_text(self.cause)
        if self.cause == FAULT:
            text += f": {self.fault}"
        if self.cause in (FAULT, WATCHDOG):
            text += f" at {self.pc:#010x}" if self.pc else ""
            text += f", address {self.address:#010x}" if self.address else ""
        return text

    @property
    def remarks(self) -> list[str]:
        """Problems of the device, the most serious one first. The list is empty if there are none."""
        remarks = []
        if self.guards_damaged:
            remarks.append(f"{self.guards_damaged} guard words around the arena are overwritten.")
        if self.stack_margin == 0:
            remarks.append("The stack is full to its last word and may have overflowed.")
        if self.cause not in (POWER_ON, REQUEST):
            remarks.append(f"The device started because of {self.started_by}.")
        return remarks

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON: every field, a phrase for the cause of the start, and the remarks."""
        return {**asdict(self), "started_by": self.started_by, "remarks": self.remarks}


@dataclass(frozen=True)
class LogEntry:
    """One entry of a device's log.

    ``ms`` counts milliseconds since start number ``start``. ``code`` is the event, such as TRAP. The meaning of
    ``what``, ``first`` and ``second`` depends on it: for TRAP they are the fault number, the program counter and the
    accessed address.
    """

    number: int
    start: int
    ms: int
    code: int
    what: int
    first: int
    second: int
    architecture: int = 0

    @property
    def text(self) -> str:
        """A phrase for the event."""
        if self.code == START:
            return f"started because of {cause_text(self.first)}"
        if self.code in (TRAP, HANG):
            description = (
                "hung: reset by the watchdog"
                if self.code == HANG
                else fault_text(self.architecture, self.what)
            )
            at = f" at {self.first:#010x}" if self.first else ""
            return description + at + (f", address {self.second:#010x}" if self.second else "")
        if self.code == GUARD:
            return f"{self.first} guard words overwritten, seen after inference {self.second}"
        if self.code == STACK:
            return f"the stack is full ({self.first} bytes), seen after inference {self.second}"
        times = f"{self.first} time" + ("s" if self.first != 1 else "")
        names = {
            BAD_FRAME: f"damaged frames, {times}",
            OUT_OF_ORDER: f"parts of the input out of order, {times}",
            BAD_REQUEST: f"invalid requests, {times}",
        }
        return names.get(self.code, f"event {self.code} ({self.first}, {self.second})")

    def __str__(self) -> str:
        return f"start {self.start}, {self.ms / 1000:.3f} s: {self.text}"


def parse_health(data: bytes) -> Health:
    """Parse the answer to HEALTH. Raises ``ValueError`` if it is too short."""
    if len(data) < _REPORT.size:
        raise ValueError(f"{len(data)} bytes, expected {_REPORT.size}")
    ms, inferences, cause, hardware, architecture, fault_number, *rest = _REPORT.unpack_from(data)
    fault = fault_text(architecture, fault_number) if cause == FAULT else None
    return Health(ms, inferences, cause, hardware, architecture, fault, *rest)


def parse_log(data: bytes, architecture: int) -> list[LogEntry]:
    """Parse the entries in one answer to LOG. Raises ``ValueError`` if an entry is incomplete."""
    if len(data) % _ENTRY.size:
        raise ValueError(f"{len(data)} bytes, expected a multiple of {_ENTRY.size}")
    entries = []
    for number, ms, code, first, second in _ENTRY.iter_unpack(data):
        entries.append(
            LogEntry(number, code >> 16, ms, code & 255, code >> 8 & 255, first, second, architecture)
        )
    return entries
