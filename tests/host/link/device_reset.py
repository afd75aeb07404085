"""Reset an emulated device while it runs."""

from __future__ import annotations

import os
import select

from arenite.host.emulator.machine import RunningEmulator


def reset(machine: RunningEmulator) -> None:
    """Reset the device like a reset button, and wait until it is reset. A frame that the device is sending is cut
    off."""
    assert machine.process.stdin is not None and machine.process.stdout is not None
    machine.process.stdin.write(b'{"execute": "system_reset"}\n')
    machine.process.stdin.flush()
    output = machine.process.stdout.fileno()
    received = b""
    # QEMU reports each reset with its reason. A reset by the firmware has another reason.
    while b"host-qmp-system-reset" not in received:
        assert select.select([output], [], [], 60)[0], received
        data = os.read(output, 4096)
        assert data, received
        received += data
