"""Bring update images to a device: check that they fit, send them, and learn what became of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from arenite.errors import AreniteError, DeviceError, UsageError
from arenite.host.link.transport import PortGoneError
from arenite.host.update.device_info import UNKNOWN, Device, Slot, read_device, read_slots, slots_of
from arenite.host.update.image_file import ImageFile
from arenite.host.update.keys import key_name
from arenite.host.update.link import Link
from arenite.host.update.reasons import NOT_STARTED, reason
from arenite.host.update.smp_message import GROUP_IMAGE, GROUP_OS, WRITE
from arenite.host.update.upload import Upload, UploadReport

_STATE, _RESET = 0, 5
#: How long a device may take to check, install and test images.
_TRIAL_S = 180.0
_POLL_S = 0.2
#: The phases in which a device takes images.
QUIET_PHASES = ("steady", "requested")
_MAX_RESETS = 20
_NO_REASON = "The new images did not confirm themselves in time: they hang or reset the device."
_PLAIN_REASON = "MCUboot refused the new image, or the image failed its self-test, hung or crashed."

#: A callback for progress: what is done, the amount that is done, and the whole amount (0: unknown).
Progress = Callable[[str, int, int], None]


class UpdateRefusedError(AreniteError):
    """The device does not take the images, or would not."""

    exit_code = 1


@dataclass
class PushResult:
    """What became of an update."""

    outcome: str  # confirmed, refused, returned, kept or current (nothing was to be done)
    device: Device  # after the update
    slots: list[Slot]
    reason_number: int = 0
    reason: str = ""
    uploads: dict[str, UploadReport] = field(default_factory=dict)  # by kind of image
    seconds: float = 0.0
    is_coded: bool = False

    @property
    def is_good(self) -> bool:
        return self.outcome in ("confirmed", "current")


def check_fit(images: Sequence[ImageFile], device: Device) -> None:
    """Raise ``UpdateRefusedError`` if the device would refuse the images. Nothing is sent before this check."""
    kinds = [image.kind for image in images]
    if len(set(kinds)) != len(kinds):
        raise UsageError(f"Both images are a {kinds[0]}.", "Give one firmware, one model, or one of each.")
    for image in images:
        name = f"{image.path} ({image.kind} {image.version})"
        if image.board != device.board and not (device.is_plain and not device.board):
            raise UpdateRefusedError(
                f"{name} was made for the board {image.board}, and the device is a {device.board}.",
                f"Build the update for --board {device.board}, or choose another port.",
            )
        if image.pair >= (1 if device.is_plain else len(device.counters)):
            raise UpdateRefusedError(
                f"The device has no slot for a {image.kind}.", "Push a firmware that contains the model."
            )
        _check_key(image, device)
        if device.is_plain:  # it tells no sizes and counters: mcumgr and MCUboot check the image
            continue
        if len(image.data) > device.slot_bytes[image.pair]:
            raise UpdateRefusedError(
                f"{name} has {len(image.data):,} bytes, and the device's slot has {device.slot_bytes[image.pair]:,}.",
                "Use a smaller model.",
            )
        if image.counter < device.counters[image.pair]:
            raise UpdateRefusedError(
                f"{name} has the security counter {image.counter}, and the device requires"
                f" {device.counters[image.pair]} or more.",
                "Push a newer image. If this one must come back, sign it again with a larger --counter.",
            )
    _check_abi(images, device)


def _check_key(image: ImageFile, device: Device) -> None:
    """Refuse an image that was signed with another key than the device trusts, if it tells which one that is."""
    if device.key_hash and image.key_hash != device.key_hash:
        signer = (
            f"was signed with the key {key_name(image.key_hash)}"
            if image.key_hash
            else "does not name its key"
        )
        raise UpdateRefusedError(
            f"{image.path} ({image.kind} {image.version}) {signer}, and the device trusts only the key"
            f" {key_name(device.key_hash)}.",
            "Sign the image again with the private key of this device. `arenite update verify IMAGE --key FILE` prints"
            " the hash of a key.",
        )


def _check_abi(images: Sequence[ImageFile], device: Device) -> None:
    """Refuse code and weights of different graphs."""
    if len(images) == 2:
        if images[0].abi != images[1].abi:
            raise UpdateRefusedError(
                # The reason is first: a fleet keeps the beginning of a long sentence.
                "The firmware and the model belong to different graphs, arenas or kernels:"
                f" {images[0].path} and {images[1].path}.",
                "Push two images that `arenite update build` wrote together.",
            )
    elif len(device.counters) == 2 and (images[0].abi or bytes(32)) != device.abi:
        other = "firmware" if images[0].kind == "model" else "model"
        raise UpdateRefusedError(
            f"{images[0].path} is a {images[0].kind} for another graph, arena or kernels than those of the device's"
            f" {other}.",
            f"Push the {other} that was built with it in the same command.",
        )


def push(
    link: Link, images: Sequence[ImageFile], progress: Progress = lambda what, done, total: None
) -> PushResult:
    """Send ``images``, one or two, to the device, and wait until it has confirmed or refused them.

    Raises:
        UpdateRefusedError: The device would refuse them. Nothing was sent.
        DeviceError: The device does not answer, or its memory fails.
    """
    begin = link.clock()
    check_fit(images, read_device(link))
    device = settle(link, progress)
    check_fit(images, device)
    running = {slot.hash for slot in read_slots(link) if slot.slot == 0}
    new_images = [image for image in images if image.hash not in running]
    uploads: dict[str, UploadReport] = {}
    for image in new_images:

        def report(done: int, total: int, kind: str = image.kind) -> None:
            progress(f"sending the {kind}", done, total)

        uploads[image.kind] = Upload(link, image.data, image.pair, report).run()
    is_coded = link.is_coded
    if new_images:
        result = _try_images(link, [image.hash for image in new_images], progress)
    else:
        result = PushResult("current", device, read_slots(link))
    result.uploads, result.seconds, result.is_coded = uploads, link.clock() - begin, is_coded
    return result


def settle(link: Link, progress: Progress = lambda what, done, total: None) -> Device:
    """Wait until the device has decided about an update that it tries now, if it does. Return what it tells about
    itself. Raises ``DeviceError`` if it does not answer."""
    device = read_device(link)
    return device if device.phase in QUIET_PHASES else _wait_until_decided(link, progress)


def roll_back(link: Link, progress: Progress = lambda what, done, total: None) -> PushResult:
    """Let the images in the other slots run on trial: those that the last update replaced. Wait as ``push`` does.

    Raises:
        UpdateRefusedError: There are none.
        DeviceError: The device does not answer.
    """
    begin = link.clock()
    device = settle(link, progress)
    if device.outcome not in ("confirmed", "kept", UNKNOWN):
        raise UpdateRefusedError(
            "The device runs no confirmed update from which it could return: the outcome of the last one is"
            f" '{device.outcome}'.",
            "Push the image that must run.",
        )
    hashes = [slot.hash for slot in read_slots(link) if slot.slot == 1 and slot.kind in device.changed]
    if len(hashes) < len(device.changed) or not hashes:
        raise UpdateRefusedError(
            f"The device does not have the {' and the '.join(device.changed)} from before the last update any more.",
            "Push the older image.",
        )
    result = _try_images(link, hashes, progress)
    result.seconds = link.clock() - begin
    return result


def _try_images(link: Link, hashes: Sequence[bytes], progress: Progress) -> PushResult:
    """Mark the images for a trial, reset the device, and wait until it has decided."""
    for digest in hashes:
        answer = link.request(WRITE, GROUP_IMAGE, _STATE, {"hash": digest, "confirm": False})
        if answer.error:
            raise UpdateRefusedError(
                _mark_problem(answer.error), "Run `arenite update status` to see the images of the device."
            )
    marked = [slot for slot in slots_of(answer) if slot.is_pending]
    _reset(link)
    device = _wait_until_decided(link, progress)
    slots = read_slots(link)
    number = device.reason if device.outcome in ("refused", "returned") else 0
    running = {slot.hash for slot in slots if slot.slot == 0}
    if device.is_plain:
        is_good = running.issuperset(hashes)
        outcome, why = ("confirmed", "") if is_good else ("returned", _PLAIN_REASON)
        return PushResult(outcome, device, slots, 0, why)
    if device.outcome == "confirmed" and not all(slot.hash in running for slot in marked):
        raise DeviceError(
            "The device confirmed an update, but runs other images than those that were sent.",
            "Run `arenite update status`, and push again.",
        )
    return PushResult(device.outcome, device, slots, number, outcome_reason(device))


def _reset(link: Link) -> None:
    """Reset the device once: a second reset would count as a failed trial. A port over USB may disappear at once."""
    for _ in range(_MAX_RESETS):
        try:
            if link.try_request(WRITE, GROUP_OS, _RESET, wait_s=1.0) is not None:
                return
        except PortGoneError:
            link.reconnect()
        if read_device(link, _TRIAL_S, is_restarting=True).phase != "requested":
            return
    raise DeviceError("The device does not reset.", "Reset it by hand, then run `arenite update status`.")


def _wait_until_decided(link: Link, progress: Progress) -> Device:
    end = link.clock() + _TRIAL_S
    begin = link.clock()
    while link.clock() < end:
        progress("waiting for the device's own test", int(link.clock() - begin), 0)
        try:
            device = read_device(link, end - link.clock(), is_restarting=True)
            if device.phase == "steady":
                return device
            link.receive(_POLL_S)
        except PortGoneError:
            link.reconnect()
    raise DeviceError(
        f"The device has not decided about the new images for {_TRIAL_S:.0f} s.",
        "Run `arenite update status` later. The device returns to the old images after some resets.",
    )


def outcome_reason(device: Device) -> str:
    """Return why the last update was refused or returned, as a sentence, or an empty text."""
    if device.outcome == "refused":
        return reason(device.reason)
    if device.outcome == "returned":
        if device.reason == NOT_STARTED:
            return reason(device.reason)
        return (
            f"The new images failed their self-test with reason {device.reason}."
            if device.reason
            else _NO_REASON
        )
    return ""


def _mark_problem(error: int) -> str:
    sentences = {
        3: "The device does not have the image that was to run.",
        6: "The device tests other images now.",
        8: "The device does not have the image that was to run.",
        12: "The device could not write its flash memory.",
        28: "The device has an image that it must try first: reset it.",
        33: "The device refuses the image: it runs already, or code and weights belong to different graphs.",
    }
    return sentences.get(error, f"The device refused to try the image, with error {error}.")
