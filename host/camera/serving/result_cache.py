"""Keep answers in a cache, and reuse an answer if the model's input is identical, byte for byte, to an earlier input.

For each frame, a fingerprint of 64 words of the input is computed, which takes 1 to 2 µs. All bytes are compared with a
stored copy (``memcmp``) only if the fingerprint is known, and an input is copied only if its fingerprint occurs a
second time. If all frames of a camera differ by sensor noise, no input is therefore copied.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from arenite.c_library import c_library
from arenite.host.camera.answers.answer import Answer

#: The number of words of eight bytes that the fingerprint samples.
_WORDS = 64
#: The maximum number of known fingerprints.
_MAX_FINGERPRINTS = 1024

_libc = c_library()
_libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


@dataclass(slots=True)
class _Entry:
    """A stored input, its memory address, its ``key`` (see ``ResultCache.find``) and the answer to it."""

    key: Hashable
    bytes: np.ndarray
    address: int
    answer: Answer | None  # None until ``keep`` is called


class ResultCache:
    """A cache of answers that drops the least recently used answer. Do not use it with models that have state.

    ``entries`` is the maximum number of answers, and ``max_bytes`` the maximum size of their inputs. Only one thread
    may call ``find`` and ``keep``. ``looked`` counts the calls of ``find``, and ``hits`` the answers that were found.
    """

    def __init__(self, entries: int = 16, max_bytes: int = 16 << 20) -> None:
        self._max_entries, self._max_bytes = entries, max_bytes
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._pending: dict[int, int] = {}  # maps a slot to the fingerprint of its entry without an answer
        self.held_bytes = 0
        self.looked = 0
        self.hits = 0
        self.copied_bytes = 0  # bytes copied into the cache since it was created

    def find(self, prepared: np.ndarray, key: Hashable = (), slot: int = 0) -> Answer | None:
        """Return the answer to an earlier input with the same bytes and the same ``key``. If there is none, return
        None; the caller must then pass the model's answer to ``keep``.

        ``prepared`` is the model's input, contiguous uint8. ``key`` holds everything else that the answer depends on:
        the model, the frame's size and the window.
        """
        self.looked += 1
        self._forget(slot)
        fingerprint = _fingerprint(prepared, key)
        entry = self._entries.get(fingerprint)
        if entry is not None and entry.answer is not None and self._same(entry, prepared, key):
            self._entries.move_to_end(fingerprint)
            self.hits += 1
            return entry.answer
        if fingerprint in self._seen:
            # Copy the input now, because a runtime may reuse the memory of its input while it runs.
            self._store(fingerprint, prepared, key, slot)
        else:
            self._seen[fingerprint] = None
            if len(self._seen) > _MAX_FINGERPRINTS:
                self._seen.popitem(last=False)
        return None

    def keep(self, answer: Answer, slot: int = 0) -> None:
        """Store the answer to the last input of ``slot`` for which ``find`` returned None."""
        fingerprint = self._pending.pop(slot, None)
        if fingerprint is not None:
            self._entries[fingerprint].answer = answer

    def clear(self) -> None:
        """Remove all answers. Call this when the model or its thresholds changed."""
        self._entries.clear()
        self._seen.clear()
        self._pending.clear()
        self.held_bytes = 0

    def _same(self, entry: _Entry, prepared: np.ndarray, key: Hashable) -> bool:
        if entry.key != key or entry.bytes.nbytes != prepared.nbytes:
            return False
        address = prepared.__array_interface__["data"][0]
        return bool(_libc.memcmp(entry.address, address, prepared.nbytes) == 0)

    def _store(self, fingerprint: int, prepared: np.ndarray, key: Hashable, slot: int) -> None:
        size = prepared.nbytes
        if size > self._max_bytes or fingerprint in self._pending.values():
            return
        old = self._entries.pop(fingerprint, None)
        if old is not None:
            self.held_bytes -= old.bytes.nbytes
        if old is not None and old.bytes.nbytes == size:
            np.copyto(old.bytes, prepared)
            copy = old.bytes
        else:
            copy = prepared.copy()
        self._entries[fingerprint] = _Entry(key, copy, copy.__array_interface__["data"][0], None)
        self._pending[slot] = fingerprint
        self.held_bytes += size
        self.copied_bytes += size
        while len(self._entries) > self._max_entries or self.held_bytes > self._max_bytes:
            oldest = next((known for known in self._entries if known not in self._pending.values()), None)
            if oldest is None:
                break
            self.held_bytes -= self._entries.pop(oldest).bytes.nbytes

    def _forget(self, slot: int) -> None:
        """Remove the last input of ``slot`` if ``keep`` was not called for it, because its frame was abandoned."""
        fingerprint = self._pending.pop(slot, None)
        if fingerprint is not None:
            self.held_bytes -= self._entries.pop(fingerprint).bytes.nbytes


def _fingerprint(prepared: np.ndarray, key: Hashable) -> int:
    """Return a hash of ``key``, the size of the input and about ``_WORDS`` words of it."""
    full_bytes = prepared.nbytes & ~7
    words = prepared[:full_bytes].view(np.uint64)
    # With an odd step, the words come from all columns of a picture, even if the length of its rows is a power of two.
    step = max(1, len(words) // _WORDS) | 1
    return hash((words[::step].tobytes(), prepared[full_bytes:].tobytes(), prepared.nbytes, key))
