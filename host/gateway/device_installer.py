"""Install the releases of a fleet on a device behind a serial port."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.files import replace_file
from arenite.host.fleet.installer import GoldenResult, InstallResult, RunningRelease
from arenite.host.fleet.messages import DesiredRelease
from arenite.host.fleet.observations import DriftReference
from arenite.host.fleet.topics import is_name
from arenite.host.update.device_info import Device, Slot, read_slots
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.image_folder import find_image
from arenite.host.update.push import PushResult, UpdateRefusedError, push, roll_back, settle
from arenite.input_files import parse_json, read_text

#: A device that answers but fails so often to take an image has refused it.
_MAX_FAILURES = 3
_NO_REFERENCE = DriftReference((), ())


class DeviceInstaller:
    """The ``Installer`` of an agent. ``begin`` and ``poll`` only exchange a wish and its result with ``work``, which
    the thread of the device calls."""

    def __init__(self, state: Path, images: Path | None, device: Device, slots: list[Slot]) -> None:
        """``state``: file that keeps the name of the release that runs."""
        self._state, self._images = state, images
        self._lock = threading.Lock()
        self._wish: DesiredRelease | None = None
        self._result: InstallResult | None = None
        self._failures = 0
        self._last_failure: str | None = None  # until the device answers again
        self._running = self._describe(device, slots, self._known_release(slots))

    def running(self) -> RunningRelease:
        with self._lock:
            return self._running

    def begin(self, desired: DesiredRelease) -> None:
        with self._lock:
            self._wish, self._result, self._failures = desired, None, 0

    def poll(self) -> InstallResult | None:
        with self._lock:
            return self._result

    @property
    def has_work(self) -> bool:
        with self._lock:
            return self._wish is not None

    def runs(self, slots: list[Slot]) -> bool:
        """Return whether the images in use are those that ``running`` tells."""
        with self._lock:
            return _hashes(slots) == (self._running.firmware, self._running.model)

    def work(self, link: DeviceLink, progress: Callable[[str, int, int], None]) -> None:
        """Carry out the wish, if there is one. Raises ``DeviceError`` if the device does not answer; the wish is kept,
        and a later call goes on."""
        with self._lock:
            wish = self._wish
        if wish is None:
            return
        try:
            pushed = self._bring(link, wish, progress)
        except (UpdateRefusedError, UsageError) as error:
            self._finish(InstallResult("refused", error.problem))
            return
        except DeviceError as error:
            self._last_failure = error.problem
            raise
        self._take(wish, pushed)

    def count_answer(self) -> None:
        """The device answered after a failure. Give up after some of them: the cable is not the reason."""
        with self._lock:
            self._failures += self._wish is not None and self._last_failure is not None
        if self._failures >= _MAX_FAILURES and self._last_failure is not None:
            self._finish(InstallResult("refused", self._last_failure))
        self._last_failure = None

    def _bring(
        self, link: DeviceLink, wish: DesiredRelease, progress: Callable[[str, int, int], None]
    ) -> PushResult:
        """Let the device run the images of ``wish``. Those that it has already need no file.

        Raises:
            UpdateRefusedError, UsageError: An image is missing, or the device would not take them. Nothing was sent.
            DeviceError: The device does not answer.
        """
        # What a device tries now may not stay.
        device, slots = settle(link, progress), read_slots(link)
        running = {slot.hash.hex() for slot in slots if slot.slot == 0}
        wanted = [digest for digest in wish.images if digest not in running]
        if not wanted:
            return PushResult("current", device, slots)
        found = [find_image(self._images, digest) if self._images is not None else None for digest in wanted]
        images = [image for image in found if image is not None]
        if len(images) == len(wanted):
            return push(link, images, progress)
        replaced = [slot.hash.hex() for slot in slots if slot.slot == 1 and slot.kind in device.changed]
        if sorted(replaced) == sorted(wanted):
            return roll_back(link, progress)
        missing = [digest for digest, image in zip(wanted, found, strict=True) if image is None]
        where = f"{self._images} has no image" if self._images is not None else "the gateway has no --images"
        raise UpdateRefusedError(
            f"No image for the release: {where} with SHA-256 {' and none with '.join(missing)}.",
            "Copy the images of the release into the folder of --images.",
        )

    def _take(self, wish: DesiredRelease, pushed: PushResult) -> None:
        if pushed.is_good:
            running = self._describe(pushed.device, pushed.slots, wish.release)
            text = json.dumps(
                {"release": running.release, "firmware": running.firmware, "model": running.model}
            )
            replace_file(self._state, text.encode(), durable=True, private=True)
            self._finish(InstallResult("installed"), running)
        elif pushed.outcome == "refused":
            self._finish(InstallResult("refused", pushed.reason))
        else:
            # A device rejects new images only after its own test of golden samples.
            golden = GoldenResult(1, 1) if pushed.outcome == "returned" and pushed.reason_number else None
            reason = pushed.reason or f"The update ended with the outcome '{pushed.outcome}'."
            self._finish(InstallResult("put_back", reason, golden))

    def _finish(self, result: InstallResult, running: RunningRelease | None = None) -> None:
        with self._lock:
            self._running = running or self._running
            self._wish, self._result = None, result

    def _known_release(self, slots: list[Slot]) -> str:
        """Return the name of the release that runs: the one that was installed, or else the version of the model."""
        hashes = _hashes(slots)
        if self._state.exists():
            try:
                known = parse_json(read_text(self._state))
                if (known["firmware"], known["model"]) == hashes and is_name(known["release"]):
                    return str(known["release"])
            except (ValueError, KeyError, TypeError):
                pass  # the version below still names what runs
        versions = {slot.kind: slot.version for slot in slots if slot.slot == 0}
        version = versions.get("model", versions.get("firmware", "unknown")).replace("+", "-")
        return version if is_name(version) else "unknown"

    @staticmethod
    def _describe(device: Device, slots: list[Slot], release: str) -> RunningRelease:
        firmware, model = _hashes(slots)
        return RunningRelease(release, firmware, model, device.abi.hex(), _NO_REFERENCE)


def _hashes(slots: list[Slot]) -> tuple[str, str]:
    hashes = {slot.kind: slot.hash.hex() for slot in slots if slot.slot == 0}
    return hashes.get("firmware", ""), hashes.get("model", "")
