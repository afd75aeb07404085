"""``arenite update push``, ``status`` and ``rollback``: update a device over its serial port, or through a gateway."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from arenite.host.cli.update_link import open_link
from arenite.host.report.console import note, print_json, show, stderr
from arenite.host.update.device_info import Device, Slot, read_device, read_slots
from arenite.host.update.image_file import ImageFile, read_image
from arenite.host.update.keys import key_name
from arenite.host.update.link import Link
from arenite.host.update.push import PushResult, outcome_reason, roll_back
from arenite.host.update.push import push as push_images

#: Work that takes less time has no progress bar.
_BAR_AFTER_S = 2.0
#: How long `status` waits for the first answer, and for a port that takes no bytes. It changes nothing, so nothing is
#: lost if it gives up early.
_STATUS_S, _STATUS_WRITE_S = 7.0, 2.0
_OUTCOMES = {
    "confirmed": "The device has tested the new images and confirmed them.",
    "current": "The device runs these images already.",
    "refused": "The device refused the images, and runs the old ones.",
    "returned": "The device tried the new images, and returned to the old ones.",
    "kept": "The new images did not confirm themselves, but the device keeps them: the old ones are damaged.",
    "repaired": "An image in use was damaged, and the device replaced it by the one in the other slot.",
    "none": "The device has had no update.",
    "unknown": "A device with Zephyr's mcumgr does not keep this.",
}
_ROLLBACK_OUTCOMES = {
    **_OUTCOMES,
    "confirmed": "The device has tested the earlier images, and runs them again.",
    "refused": "The device refused the earlier images, and goes on with those that it ran.",
    "returned": "The device tried the earlier images, and returned to those that it ran before this command.",
}

_baud = click.option(
    "--baud", type=click.IntRange(min=50), default=115_200, show_default=True, help="Baud rate of the port."
)
_fec = click.option(
    "--fec/--no-fec",
    "use_code",
    default=None,
    help=(
        "Send every frame with forward error correction, or none. Default: once the line has damaged or lost a"
        " frame, if the device takes such frames."
    ),
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")


class _Bar:
    """A progress callback ``bar(what, done, total)``, which shows a bar on a terminal after two seconds."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
        self._progress = Progress(
            *columns, TimeRemainingColumn(), console=stderr, transient=True, disable=not stderr.is_terminal
        )
        self._task = self._progress.add_task("", total=None)
        self._began = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._began > _BAR_AFTER_S:
            self._progress.start()
        self._progress.update(self._task, description=what, completed=done, total=total or None)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


@click.command()
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="IMAGE [IMAGE2]")
@click.argument("port")
@_baud
@_fec
@_json
def push(images: tuple[Path, ...], port: str, baud: int, use_code: bool | None, as_json: bool) -> int:
    """Send the update IMAGE, a firmware or a model, to the device on PORT. With both, they change together.

    PORT is a path such as /dev/ttyACM0, usb:SERIAL for the USB device with this serial number, auto for the only USB
    serial port, or mqtts://BROKER/FLEET/DEVICE for a device behind a gateway (docs/gateway.md).

    The board, the key, the security counter and the graph are compared before anything is sent. If the cable is pulled,
    the upload waits for the port and goes on; if the command was stopped, the same command goes on later.

    The device tests the images after a reset. The exit code is 0 if it has confirmed them or runs them already, 1 if
    they were refused or the device returned to the old ones, 2 for a mistake such as a file that is no image, and 3 if
    the device does not answer.
    """
    if len(images) > 2:
        raise click.UsageError("Give at most two images: a firmware and a model.")
    files = [read_image(path) for path in images]
    return _run(port, baud, use_code, as_json, lambda link, bar: push_images(link, files, bar), files)


@click.command()
@click.argument("port")
@_baud
@_fec
@_json
def rollback(port: str, baud: int, use_code: bool | None, as_json: bool) -> int:
    """Let the device on PORT run the images again that its last update replaced.

    They are still in the device. It tests them after a reset, as it tests new ones. It refuses them if their security
    counter is lower than the one of the last update. The exit codes are those of `arenite update push`.
    """
    return _run(port, baud, use_code, as_json, roll_back, [])


@click.command()
@click.argument("port")
@_baud
@_fec
@_json
def status(port: str, baud: int, use_code: bool | None, as_json: bool) -> int:
    """Show the images of the device on PORT, and what became of its last update."""
    path, link = open_link(port, baud, use_code, _STATUS_WRITE_S)
    try:
        device = read_device(link, _STATUS_S)
        slots = read_slots(link)
    finally:
        link.close()
    if as_json:
        print_json({"schema": "arenite.update-status/1", "port": path, **_device_json(device, slots)})
        return 0
    show(f"{device.board or 'A board without a name'} on {path}: {device.phase}")
    for number, kind in enumerate(
        ("firmware",) if device.is_plain else ("firmware", "model")[: len(device.counters)]
    ):
        counter = "" if device.is_plain else f", security counter {device.counters[number]} or more"
        show(f"  {kind}{counter}:")
        for slot in slots:
            if slot.kind == kind:
                show(f"    slot {slot.slot}: {_slot_text(slot, device)}")
    if device.key_hash:
        show(f"  key: {key_name(device.key_hash)}")
    show(f"  last update: {_OUTCOMES[device.outcome]} {outcome_reason(device)}".rstrip())
    return 0


def _run(
    port: str,
    baud: int,
    use_code: bool | None,
    as_json: bool,
    change: Callable[[Link, _Bar], PushResult],
    files: list[ImageFile],
) -> int:
    path, link = open_link(port, baud, use_code)
    try:
        with _Bar() as bar:
            result = change(link, bar)
    finally:
        link.close()
    if as_json:
        print_json(_push_json(path, result, files))
    else:
        for file in files:
            report = result.uploads.get(file.kind)
            if report is None:
                show(f"{file.path}: {file.kind} {file.version} was in use before")
            else:
                again = f", of which {report.resumed_at:,} were there" if report.resumed_at else ""
                show(f"{file.path}: {file.kind} {file.version}, {len(file.data):,} bytes{again}")
        outcomes = _OUTCOMES if files else _ROLLBACK_OUTCOMES
        show(f"{outcomes[result.outcome]} {result.reason}".rstrip())
        for slot in result.slots:
            if slot.slot == 0:
                show(f"  {slot.kind} {slot.version} runs")
        if result.is_coded and use_code is None:
            note("Answers were lost or came late, so frames with forward error correction were used.")
    return 0 if result.is_good else 1


def _slot_text(slot: Slot, device: Device) -> str:
    if slot.slot == 1:
        state = "will be tested after the next reset" if slot.is_pending else "not in use"
    else:
        state = "in use" if device.phase == "steady" or slot.is_confirmed else "on trial"
    return f"{slot.version}, {state}, {slot.hash.hex()[:16]}"


def _device_json(device: Device, slots: list[Slot]) -> dict[str, Any]:
    return {
        "board": device.board,
        "abi": device.abi.hex(),
        "key": device.key_hash.hex() or None,
        "phase": device.phase,
        "outcome": device.outcome,
        "reason": outcome_reason(device) or None,
        "reason_number": device.reason if device.outcome in ("refused", "returned") else None,
        "forward_error_correction": device.takes_coded,
        "counters": dict(zip(("firmware", "model"), device.counters, strict=False)),
        "slot_bytes": dict(zip(("firmware", "model"), device.slot_bytes, strict=False)),
        "images": [
            {
                "kind": slot.kind,
                "slot": slot.slot,
                "version": slot.version,
                "hash": slot.hash.hex(),
                "confirmed": slot.is_confirmed,
                "pending": slot.is_pending,
            }
            for slot in slots
        ],
    }


def _push_json(port: str, result: PushResult, files: list[ImageFile]) -> dict[str, Any]:
    sent = []
    for file in files:
        report = result.uploads.get(file.kind)
        sent.append(
            {
                "path": str(file.path),
                "kind": file.kind,
                "version": file.version,
                "bytes": len(file.data),
                "resumed_at": report.resumed_at if report else None,
                "losses": report.losses if report else None,
                "sent": report is not None,
            }
        )
    state = _device_json(result.device, result.slots)
    return {
        "schema": "arenite.update-push/1",
        "port": port,
        **state,
        "outcome": result.outcome,
        "files": sent,
        "seconds": {"value": round(result.seconds, 3), "kind": "measured"},
        "used_forward_error_correction": result.is_coded,
    }
