"""The kernel's virtual camera, inside the emulated PC: load it, turn its knobs, pull its plug."""

from __future__ import annotations

import os
import subprocess
from fcntl import ioctl
from pathlib import Path

from arenite.host.camera.sources.v4l2_api import API, CTRL_NEXT

MODULES = Path("/tmp/modules")
DRIVER = Path("/sys/bus/platform/drivers/vivid")
#: A webcam, one with its planes in memory of their own, and an HDMI input; a capture node each and nothing else.
OPTIONS = (
    "n_devs=3 node_types=0x1,0x1,0x1 multiplanar=1,2,1 num_inputs=1,1,1 input_types=0x0,0x0,0x3 "
    "num_outputs=0,0,0 vid_cap_nr=0,1,2 no_error_inj=0"
)
WEBCAM, PLANES, HDMI = "/dev/video0", "/dev/video1", "/dev/video2"
COLOURS = {"red": 7, "green": 8, "blue": 9, "white": 6}  # of the control "Test Pattern"
BARS = 1


def load(name: str, options: str = "") -> None:
    """A module and what it depends on. Those that are there already stay as they are."""
    for file in (MODULES / f"order-{name}").read_text("utf-8").split():
        last = file.removesuffix(".ko") == name
        command = ["/bin/busybox", "insmod", str(MODULES / file), *(options.split() if last else ())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and "File exists" not in done.stderr:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")


def controls(device: int) -> dict[str, int]:
    """Names of the device's controls and their numbers."""
    found: dict[str, int] = {}
    last = 0
    while True:
        item = API.QueryCtrl(id=last | CTRL_NEXT)
        try:
            ioctl(device, API.QUERYCTRL, item, True)
        except OSError:
            return found
        last = item.id
        found[item.name.decode()] = item.id


def set_control(path: str, name: str, value: int) -> None:
    device = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        known = controls(device)
        if name not in known:
            raise RuntimeError(f"{path} has no control '{name}', only {sorted(known)}")
        ioctl(device, API.S_CTRL, API.Control(known[name], value), True)
    finally:
        os.close(device)


def unplug() -> str:
    """All of the driver's cameras, as pulling a cable does; returns what ``plug`` takes."""
    name = next(link.name for link in DRIVER.iterdir() if link.name.startswith("vivid"))
    with (DRIVER / "unbind").open("w") as file:
        file.write(name)
    return name


def plug(name: str) -> None:
    with (DRIVER / "bind").open("w") as file:
        file.write(name)
