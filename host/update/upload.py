"""Send a file to a device, with several requests on their way, and go on after losses, pulled cables and resets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from arenite.errors import DeviceError
from arenite.host.link.transport import PortFullError, PortGoneError
from arenite.host.update.coded_frames import MAX_MESSAGE_BYTES
from arenite.host.update.link import SILENCE_S, Link, SilenceError
from arenite.host.update.smp_message import GROUP_IMAGE, WRITE, Answer, encode_request

_UPLOAD = 1
#: The erasure of a large slot may take this long.
_ERASE_S = 90.0
_MAX_FAILED_HASHES = 2
_INVALID_HASH = 24
#: Chunks are multiples of this: of the units of all flash memories.
_CHUNK_UNIT_BYTES = 32

#: A callback for progress: bytes in the device, and all bytes.
Progress = Callable[[int, int], None]


@dataclass
class UploadReport:
    """What an upload took."""

    resumed_at: int = 0  # bytes that the device had from an earlier upload
    requests: int = 0
    losses: int = 0  # times at which requests were sent again


@dataclass
class Upload:
    """The upload of ``data`` as image ``pair``."""

    link: Link
    data: bytes
    pair: int
    progress: Progress = lambda done, total: None
    report: UploadReport = field(default_factory=UploadReport)
    _received: int = 0  # bytes that the device has

    def run(self) -> UploadReport:
        """Send the file until the device has compared it with its hash.

        Raises:
            DeviceError: The device refuses the upload, does not answer, or its flash memory fails.
        """
        failed_hashes = 0
        self._received = self._begin()
        if self._received > len(self._fields(0)["data"]):
            self.report.resumed_at = self._received
        while self._received < len(self.data):
            try:
                if not self._send():
                    self._received = self._begin()  # the device was reset, and has forgotten the upload
            except PortGoneError:
                self.link.reconnect()
                self.report.losses += 1
            except _InvalidHashError as error:
                failed_hashes += 1
                if failed_hashes == _MAX_FAILED_HASHES:
                    raise DeviceError(
                        "The device has received the whole image, but its flash memory has other bytes.",
                        "Push it again. If this fails too, the flash memory is damaged.",
                    ) from error
                self._received = self._begin()
            except PortFullError:  # the device, or the computer, is slower than the line
                self.report.losses += 1
                self._received = self._begin()
        return self.report

    def _begin(self) -> int:
        """Begin the upload, or go on with it. Return the number of bytes that the device has."""
        body = self._fields(0)
        answer = self.link.request(WRITE, GROUP_IMAGE, _UPLOAD, body, _ERASE_S, is_slow=True)
        self.report.requests += 1
        return self._offset(answer)

    def _fields(self, offset: int) -> dict[str, Any]:
        """Return the fields of the request at ``offset``, with as many bytes of the file as fit."""
        body: dict[str, Any] = {"off": offset, "data": b""}
        if offset == 0:
            body |= {"image": self.pair, "len": len(self.data), "sha": hashlib.sha256(self.data).digest()}
        # The length of a string of 256 bytes and more takes two bytes more than that of an empty one.
        room = MAX_MESSAGE_BYTES - len(encode_request(WRITE, GROUP_IMAGE, _UPLOAD, 0, body)) - 2
        if offset:
            room -= room % _CHUNK_UNIT_BYTES  # whole units of the flash memory
        body["data"] = self.data[offset : offset + room]
        return body

    def _offset(self, answer: Answer) -> int:
        """Return the offset in ``answer``, or raise the device's error."""
        if answer.error == _INVALID_HASH:
            raise _InvalidHashError
        offset = answer.body.get("off")
        if answer.error or not isinstance(offset, int) or not 0 <= offset <= len(self.data):
            raise DeviceError(
                upload_problem(answer.error), "Run `arenite update status` to see the device's state."
            )
        self.progress(offset, len(self.data))
        return offset

    def _send(self) -> bool:
        """Send what the device has not received. Return False if it has forgotten the upload."""
        following = self._received
        ends: dict[int, int] = {}  # the end of the data of each request that was not answered
        last_answer_s = self.link.clock()
        is_again = False
        while self._received < len(self.data):
            while following < len(self.data) and len(ends) < self.link.window:
                body = self._fields(following)
                self.link.send(WRITE, GROUP_IMAGE, _UPLOAD, body, is_again=is_again)
                is_again = False
                following += len(body["data"])
                ends[self.link.sequence] = following
                self.report.requests += 1
            answer = self.link.receive(self.link.upload_answer_s)
            if answer is None:
                if self.link.clock() - last_answer_s > SILENCE_S:
                    raise SilenceError(
                        f"The device did not answer for {SILENCE_S:.0f} s during the upload.",
                        "Check the cable and run the command again: the upload goes on where it stopped.",
                    )
                self._take_loss(ends)
                following = self._received
                # A device that waits for the rest of a coded frame finds the next one in what it takes.
                is_again = not self.link.is_coded
                continue
            if (answer.group, answer.command) != (GROUP_IMAGE, _UPLOAD) or answer.sequence not in ends:
                continue
            last_answer_s = self.link.clock()
            end = ends.pop(answer.sequence)
            received = self._offset(answer)
            if received < self._received:
                return False
            self._received = received
            if received < end:  # a request before this one was lost
                self._take_loss(ends)
                following = received
            following = max(following, received)
            ends = {number: end for number, end in ends.items() if end > received}
        return True

    def _take_loss(self, ends: dict[int, int]) -> None:
        """Forget the requests that are on their way, because they are sent again."""
        ends.clear()
        self.report.losses += 1
        self.link.has_damage = True
        self.link.use_coded_if_taken()


class _InvalidHashError(Exception):
    """The device has another file than the one that was sent."""


def upload_problem(error: int) -> str:
    """Return a sentence for an error of an upload."""
    sentences = {
        6: "The device does not take an image while it tests another one.",
        9: "The device has no slot for this kind of image.",
        11: "The device could not read its flash memory.",
        12: "The device could not write its flash memory.",
        13: "The device could not erase its flash memory.",
        30: "The image is larger than the device's slot.",
    }
    return sentences.get(error, f"The device refused the upload with error {error}.")
