"""Reset an emulated device while it runs."""

from __future__ import annotations

from arenite.host.emulator.machine import RunningEmulator


def reset(machine: RunningEmulator) -> None:
    """Reset the device like a reset button. A frame that the device is sending is cut off."""
    assert machine.process.stdin is not None
    machine.process.stdin.write(b'{"execute": "system_reset"}\n')
    machine.process.stdin.flush()
