"""Start the emulated PC, wait until it switches off, and read its output."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory
from tests.vm.kernel import kernel, start_up

ROOT = Path(__file__).resolve().parents[2]
MEMORY_MB = 1024


@dataclass(frozen=True)
class VmResult:
    """The result of a command in the emulated PC.

    ``code`` is its exit code, or None if it did not run. ``output`` is its output on /dev/ttyS1, and ``console`` all
    other output, with the kernel's messages."""

    code: int | None
    output: str
    console: str
    seconds: float


def run(command: list[str], *, timeout_s: float = 600, processors: int = 2) -> VmResult:
    """Run ``command`` as root in a new emulated PC, in this repository's folder. Raises ``ToolError`` if QEMU fails."""
    # The machine uses this computer's cache, read-only like everything except /tmp.
    settings = f"HOME=/tmp PYTHONDONTWRITEBYTECODE=1 ARENITE_CACHE={shlex.quote(str(cache_directory()))}"
    line = f"cd {shlex.quote(str(ROOT))} && export {settings} && exec {shlex.join(command)}"
    vm_kernel = kernel()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="arenite-vm-") as temporary:
        folder = Path(temporary)
        initrd = start_up(vm_kernel, line, folder / "initrd")
        serial = folder / "output"
        emulator = [
            *("qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"),
            *("-smp", str(processors), "-m", str(MEMORY_MB)),
            *("-kernel", str(vm_kernel.image), "-initrd", str(initrd)),
            *("-append", "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off"),
            *("-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"),
            *("-display", "none", "-monitor", "none", "-serial", "stdio", "-serial", f"file:{serial}"),
            *("-nic", "none", "-no-reboot"),
        ]
        try:
            done = subprocess.run(
                emulator, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=timeout_s,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            console = (error.stdout or b"").decode("utf-8", "replace")[-2000:]
            raise ToolError(f"The emulated PC did not end within {timeout_s:.0f} s: {console}") from error
        if done.returncode:
            raise ToolError(f"QEMU ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        output = serial.read_text("utf-8", "replace") if serial.exists() else ""
    text, _, code = output.rpartition("arenite-exit ")
    return VmResult(
        int(code) if code.strip().isdigit() else None, text, done.stdout, round(time.monotonic() - started, 1)
    )


def python(*arguments: str) -> list[str]:
    """Return a command that runs this Python interpreter."""
    return [sys.executable, *arguments]
