"""Resets a device while it serves."""

from __future__ import annotations

from arenite.host.emulator.machine import RunningEmulator


def reset(machine: RunningEmulator) -> None:
    """What a reset button does; whatever the device was saying stops there."""
    assert machine.process.stdin is not None
    machine.process.stdin.write(b'{"execute": "system_reset"}\n')
    machine.process.stdin.flush()
