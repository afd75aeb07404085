"""Load, control and unplug the kernel's virtual camera inside the emulated PC."""

from __future__ import annotations

import os
import subprocess
from fcntl import ioctl
from pathlib import Path

from arenite.host.camera.sources.v4l2.api import API, CTRL_NEXT

MODULES = Path("/tmp/modules")
DRIVER = Path("/sys/bus/platform/drivers/vivid")
#: A webcam, a camera with planes in separate memory, and an HDMI input; each has one capture node.
OPTIONS = (
    "n_devs=3 node_types=0x1,0x1,0x1 multiplanar=1,2,1 num_inputs=1,1,1 input_types=0x0,0x0,0x3 "
    "num_outputs=0,0,0 vid_cap_nr=0,1,2 no_error_inj=0"
)
WEBCAM, PLANES, HDMI = "/dev/video0", "/dev/video1", "/dev/video2"
COLORS = {"red": 7, "green": 8, "blue": 9, "white": 6}  # values of the control "Test Pattern"
BARS = 1


def load(name: str, options: str = "") -> None:
    """Load a kernel module with ``options``, and before it its dependencies. Modules that are already loaded are
    skipped."""
    for file in (MODULES / f"order-{name}").read_text("utf-8").split():
        last = file.removesuffix(".ko") == name
        command = ["/bin/busybox", "insmod", str(MODULES / file), *(options.split() if last else ())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and "File exists" not in done.stderr:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")


def controls(device: int) -> dict[str, int]:
    """Return the IDs of the controls of a camera by name. ``device`` is the file descriptor of the camera."""
    numbers: dict[str, int] = {}
    last = 0
    while True:
        item = API.QueryCtrl(id=last | CTRL_NEXT)
        try:
            ioctl(device, API.QUERYCTRL, item, True)
        except OSError:
            return numbers
        last = item.id
        numbers[item.name.decode()] = item.id


def set_control(path: str, name: str, value: int) -> None:
    """Set a control of the camera at ``path``."""
    device = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        numbers = controls(device)
        if name not in numbers:
            raise RuntimeError(f"{path} has no control '{name}', only {sorted(numbers)}")
        ioctl(device, API.S_CTRL, API.Control(numbers[name], value), True)
    finally:
        os.close(device)


def unplug() -> str:
    """Disconnect all cameras of the driver, as a pulled cable does. Return the name that ``plug`` needs to connect
    them."""
    name = next(link.name for link in DRIVER.iterdir() if link.name.startswith("vivid"))
    with (DRIVER / "unbind").open("w") as file:
        file.write(name)
    return name


def plug(name: str) -> None:
    """Connect the cameras that ``unplug`` disconnected."""
    with (DRIVER / "bind").open("w") as file:
        file.write(name)
