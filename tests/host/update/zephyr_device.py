"""A device with Zephyr's mcumgr and MCUboot on a pseudo-terminal: the groups of the system and of images, and no other.

It is written from Zephyr's img_mgmt_state.c, img_mgmt.c, os_mgmt.c and smp.c: errors of SMP version 2, the flags of the
images by MCUboot's type of swap, and the offset that a repeated first request gets. MCUboot's check is a comparison of
the hash.
"""

from __future__ import annotations

import hashlib
import os
import select
import threading
import tty
from types import TracebackType
from typing import Any

import cbor2

from arenite.host.update.plain_frames import PlainDecoder, encode_plain
from arenite.host.update.smp_message import READ, Request, decode_request, encode_answer

_NOT_SUPPORTED, _NO_HASH, _ACTIVE = 8, 8, 32


class ZephyrDevice:
    """A device that runs ``image``. ``passes``: a new image confirms itself. ``board`` is None: no command `info`."""

    def __init__(self, image: bytes, *, board: str | None = "nrf5340dk", passes: bool = True) -> None:
        self.slots: list[bytes | None] = [image, None]
        self.board, self.passes = board, passes
        self.groups: set[int] = set()  # of all requests
        self.resets = 0
        self._swap = "none"
        self._upload = bytearray()
        self._expected: tuple[int, bytes] = (0, b"")
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> ZephyrDevice:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _serve(self) -> None:
        decoder = PlainDecoder()
        while not self._stop.is_set():
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            for message in decoder.feed(os.read(self._master, 4096)):
                request = decode_request(message)
                if request is not None:
                    self.groups.add(request.group)
                    frame = encode_plain(encode_answer(request, cbor2.dumps(self._answer(request))))
                    os.write(self._master, b"self-test 3 samples passed\n" + frame)
                    if (request.group, request.command) == (0, 5):
                        self._boot()

    def _answer(self, request: Request) -> dict[str, Any]:
        body = cbor2.loads(request.data)
        match request.group, request.command, request.operation == READ:
            case 0, 0, _:
                return {"r": body["d"]}
            case 0, 5, False:
                return {}
            case 0, 7, True if self.board is not None:
                return {"output": self.board} if body == {"format": "i"} else _error(0, 2)
            case 1, 0, True:
                return self._state()
            case 1, 0, False:
                return self._mark(body["hash"], body.get("confirm", False))
            case 1, 1, False:
                return self._take(body)
        return {"rc": _NOT_SUPPORTED}

    def _take(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["off"] == 0:
            expected = (body["len"], body["sha"])
            if expected == self._expected and self._upload:
                return {"off": len(self._upload)}
            self._expected, self._swap = expected, "none"
            self._upload.clear()
        if body["off"] == len(self._upload):
            self._upload += body["data"]
        answer: dict[str, Any] = {"off": len(self._upload)}
        if len(self._upload) == self._expected[0]:
            self.slots[1] = bytes(self._upload)
            answer["match"] = hashlib.sha256(self._upload).digest() == self._expected[1]
            self._expected = (0, b"")
            self._upload.clear()
        return answer

    def _mark(self, digest: bytes, confirm: bool) -> dict[str, Any]:
        assert not confirm, "the program confirms itself after its test"
        numbers = [
            n for n, image in enumerate(self.slots) if image is not None and image_hash(image) == digest
        ]
        if not numbers:
            return _error(1, _NO_HASH)
        if numbers[0] == 0:
            return _error(1, _ACTIVE)
        self._swap = "test"
        return self._state()

    def _state(self) -> dict[str, Any]:
        images = []
        for number, image in enumerate(self.slots):
            if image is not None:
                version = ".".join(map(str, (image[20], image[21], int.from_bytes(image[22:24], "little"))))
                pending = number == 1 and self._swap == "test"
                flags = {
                    "bootable": True,
                    "pending": pending,
                    "confirmed": number == 0,
                    "active": number == 0,
                }
                images.append({"slot": number, "version": version, "hash": image_hash(image), **flags})
        return {"images": images, "splitStatus": 0}

    def _boot(self) -> None:
        """Do what MCUboot and then the program do after a reset."""
        self.resets += 1
        if self._swap == "test":
            assert self.slots[1] is not None
            if not is_whole(self.slots[1]):
                self.slots[1], self._swap = None, "none"
                return
            if self.passes:  # otherwise the program restarts, and MCUboot swaps back
                self.slots.reverse()
            self._swap = "none"


def _error(group: int, number: int) -> dict[str, Any]:
    return {"err": {"group": group, "rc": number}}


def _tlv_at(image: bytes) -> int:
    sizes = [int.from_bytes(image[at : at + size], "little") for at, size in ((8, 2), (10, 2), (12, 4))]
    return sum(sizes)


def image_hash(image: bytes) -> bytes:
    """Return the value of the TLV with the SHA-256 of an image."""
    at = _tlv_at(image) + 4
    while image[at : at + 2] != b"\x10\0":
        at += 4 + int.from_bytes(image[at + 2 : at + 4], "little")
    return image[at + 4 : at + 36]


def is_whole(image: bytes) -> bool:
    """Return whether the hash of an image is right."""
    return hashlib.sha256(image[: _tlv_at(image)]).digest() == image_hash(image)
