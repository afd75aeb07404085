"""What a device says of its own health, and its log, in words.

Firmware that was generated with ``--health`` answers the requests HEALTH and LOG; ``docs/protocol.md`` has the layout.
"""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass
from typing import Any

#: Why a device started, by its number.
CAUSES = (
    "power-on",
    "a request",
    "a fault",
    "the watchdog",
    "a brown-out of the supply",
    "the reset pin",
    "a reset by software",
    "a reset that nothing announced",
    "an unknown reason",
)
FAULT, WATCHDOG, BROWN_OUT = 2, 3, 4
POWER_ON, ASKED = 0, 1

_REPORT = struct.Struct("<14I")
_ENTRY = struct.Struct("<5I")
ENTRY_BYTES = _ENTRY.size

CORTEX_M, RISC_V, XTENSA = 1, 2, 3
#: By architecture and the core's own number of the fault. Cortex-M: one more than the lowest bit of CFSR that is set.
_FAULTS: dict[int, dict[int, str]] = {
    CORTEX_M: {
        1: "an instruction from a place that is no program",
        2: "a forbidden access to memory",
        4: "a forbidden access while an exception returned",
        5: "a forbidden access while an exception was entered",
        9: "an instruction where there is no memory",
        10: "an access where there is no memory",
        11: "a store where there is no memory, a little before",
        12: "no memory for the return from an exception",
        13: "no memory for the stack: it overflowed",
        17: "an undefined instruction",
        18: "a jump into another instruction set",
        19: "a damaged return from an exception",
        20: "an instruction for a coprocessor that is not there",
        25: "an unaligned access",
        26: "a division by zero",
        33: "a fault that the core does not explain",
    },
    RISC_V: {
        0: "an instruction at an odd address",
        1: "an instruction where there is no memory",
        2: "an undefined instruction",
        3: "a breakpoint",
        4: "an unaligned load",
        5: "a load where there is no memory",
        6: "an unaligned store",
        7: "a store where there is no memory",
        11: "a call of a system that is not there",
    },
    XTENSA: {
        0: "an undefined instruction",
        1: "a call of a system that is not there",
        2: "an instruction from a place that is no program",
        3: "a load or store that the bus refused",
        6: "a division by zero",
        9: "an unaligned access",
        20: "an instruction from memory that may not be run",
        28: "a load from memory that may not be read",
        29: "a store to memory that may not be written",
        64: "a breakpoint",
    },
}

START, TRAP, HANG, GUARD, STACK, BAD_FRAME, OUT_OF_ORDER, BAD_REQUEST = range(1, 9)


def fault_text(architecture: int, what: int) -> str:
    """The kind of a fault in words; ``what`` is the core's own number."""
    if architecture == CORTEX_M and what == 0:
        return "a fault that a core of this kind does not explain"
    return _FAULTS.get(architecture, {}).get(what, f"fault {what}")


def cause_text(cause: int) -> str:
    """Why a device started, in words."""
    return CAUSES[cause] if cause < len(CAUSES) else f"reason {cause}"


@dataclass(frozen=True)
class Health:
    """A device's report.  ``cause``: why it started; after a fault or the watchdog ``pc`` is where the program
    was (0: unknown), ``address`` what it reached for (0: unknown), ``fault`` the kind in words."""

    uptime_ms: int
    inferences: int  # since the start
    cause: int
    hardware: int  # the register that tells the cause of a reset, where the device has one
    architecture: int
    fault: str | None
    pc: int
    address: int
    guards_damaged: int  # words around the arena that were overwritten
    stack_margin: int  # bytes of the stack that were never used
    starts: int  # this start's number since power was lost
    bad_frames: int
    watchdog_ms: int  # 0: there is none
    log_entries: int  # written since the log was last cleared, at most those that are left

    @property
    def started_by(self) -> str:
        """Why the device started, in words, with what is known of a fault."""
        text = cause_text(self.cause)
        if self.cause == FAULT:
            text += f": {self.fault}"
        if self.cause in (FAULT, WATCHDOG):
            text += f" at {self.pc:#010x}" if self.pc else ""
            text += f", address {self.address:#010x}" if self.address else ""
        return text

    @property
    def remarks(self) -> list[str]:
        """What a person should know of it, worst first; empty when the device is well."""
        found = []
        if self.guards_damaged:
            found.append(f"{self.guards_damaged} guard words around the arena are overwritten.")
        if self.stack_margin == 0:
            found.append("The stack is used to its last word, and may have left its place.")
        if self.cause not in (POWER_ON, ASKED):
            found.append(f"It started because of {self.started_by}.")
        return found

    def to_json(self) -> dict[str, Any]:
        """For reports: every field, and the cause in words."""
        return {**asdict(self), "started_by": self.started_by, "remarks": self.remarks}


@dataclass(frozen=True)
class LogEntry:
    """One line of a device's log.  ``ms``: since start number ``start``."""

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
        """What happened, in words."""
        if self.code == START:
            return f"started because of {cause_text(self.first)}"
        if self.code in (TRAP, HANG):
            what = "hung: the watchdog bit" if self.code == HANG else fault_text(self.architecture, self.what)
            at = f" at {self.first:#010x}" if self.first else ""
            return what + at + (f", address {self.second:#010x}" if self.second else "")
        if self.code == GUARD:
            return f"{self.first} guard words overwritten, seen after inference {self.second}"
        if self.code == STACK:
            return f"the stack is full ({self.first} bytes), seen after inference {self.second}"
        times = f"{self.first} time" + ("s" if self.first != 1 else "")
        names = {
            BAD_FRAME: f"damaged frames, {times}",
            OUT_OF_ORDER: f"parts of the input out of order, {times}",
            BAD_REQUEST: f"requests that make no sense, {times}",
        }
        return names.get(self.code, f"event {self.code} ({self.first}, {self.second})")

    def __str__(self) -> str:
        return f"start {self.start}, {self.ms / 1000:.3f} s: {self.text}"


def parse_health(data: bytes) -> Health:
    """The answer to HEALTH.  Raises ``ValueError`` for one that is too short."""
    if len(data) < _REPORT.size:
        raise ValueError(f"{len(data)} bytes of health")
    ms, inferences, cause, hardware, architecture, what, *rest = _REPORT.unpack_from(data)
    fault = fault_text(architecture, what) if cause == FAULT else None
    return Health(ms, inferences, cause, hardware, architecture, fault, *rest)


def parse_log(data: bytes, architecture: int) -> list[LogEntry]:
    """The entries in one answer to LOG."""
    found = []
    for number, ms, what, first, second in _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]):
        found.append(
            LogEntry(number, what >> 16, ms, what & 255, what >> 8 & 255, first, second, architecture)
        )
    return found
