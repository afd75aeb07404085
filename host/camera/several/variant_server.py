"""Serve frames with one of several model variants of different cost, and switch between them without a pause.

The variants are different models, or one model with different input sizes, runtimes or numbers of threads. The next
variant is loaded and warmed up in the background while the present variant serves. When it is ready, it serves the next
frame. Only the variant that serves and the variants that were used last are in memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from arenite.errors import UsageError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.serving.frame_server import StagedServer
from arenite.host.camera.serving.warm_up import warm_up

#: The weight of the newest frame in the mean time of an inference.
_NEWEST_WEIGHT = 0.1


@dataclass(frozen=True)
class ModelVariant:
    """One variant. ``label`` is for display, such as "320x240". ``cost`` is the expected work per frame, on a scale
    that all variants share. ``open`` loads the variant."""

    label: str
    cost: float
    open: Callable[[], StagedServer]


class VariantServer:
    """A ``StagedServer`` of model variants. A level is the index of a variant. Two threads must not use the same slot
    at once; any thread may call ``move``.

    Args:
        variants: the variants, the costliest first. The first variant is opened at once.
        keep: the maximum number of variants in memory, at least 2. It includes the variant that serves and the variant
            that is being loaded. It is exceeded only while frames of further variants are in progress.

    Raises:
        UsageError: there are fewer than two variants, or they are not ordered by cost.
    """

    def __init__(self, variants: Sequence[ModelVariant], keep: int = 2) -> None:
        if len(variants) < 2:
            raise UsageError(
                "Switching between model variants needs at least two variants.",
                "Add a cheaper variant with --ladder.",
            )
        for higher, lower in pairwise(variants):
            if lower.cost > higher.cost:
                raise UsageError(
                    f"The model variant '{lower.label}' costs more than '{higher.label}' before it.",
                    "Give the models from the costliest to the cheapest.",
                )
        self.variants = tuple(variants)
        self._keep = max(2, keep)
        self._lock = threading.Lock()
        self._held: dict[int, StagedServer] = {0: variants[0].open()}  # the variants in memory, by level
        self._order = [0]  # levels in memory, least recently used first
        self._using: dict[int, int] = {}  # maps a slot to the level that its frame uses
        self._working: set[int] = set()  # slots whose frame has no answer yet
        self._names: dict[int, str] = {0: self._held[0].name}  # the names of the models, by level
        self._ready = threading.Condition(self._lock)
        self._loading: threading.Thread | None = None
        self._active = self._wanted = 0
        self._error: Exception | None = None
        # The format and the window of the last frame, to warm up variants; None before the first frame.
        self._last_format: tuple[Format, CropWindow | None] | None = None
        self._mean_ns: dict[int, float] = {}  # the mean time of an inference, by level
        self.slots = self._held[0].slots
        self.bytes_written = 0
        self.switches = 0

    @property
    def name(self) -> str:
        """The name of the model that serves now."""
        return self._held[self._active].name

    @property
    def staged(self) -> VariantServer:
        return self

    @property
    def preprocessing_code(self) -> str:
        return self._held[self._active].preprocessing_code

    @property
    def labels(self) -> Sequence[str]:
        return self._held[self._active].labels

    @property
    def variant_labels(self) -> tuple[str, ...]:
        return tuple(variant.label for variant in self.variants)

    @property
    def level(self) -> int:
        """The requested level. Until its variant is loaded, the level ``active`` serves."""
        return self._wanted

    @property
    def active(self) -> int:
        """The level that serves now."""
        return self._active

    def cost(self, level: int) -> float:
        """Return the cost of a frame at ``level``, relative to level 0. It is the ratio of the measured times if both
        levels have served, else the ratio of the variants' ``cost``."""
        first_ns, level_ns = self._mean_ns.get(0), self._mean_ns.get(level)
        if first_ns and level_ns:
            return level_ns / first_ns
        return self.variants[level].cost / self.variants[0].cost

    def move(self, level: int) -> None:
        """Serve at ``level`` as soon as its variant is loaded. Raises ``UsageError`` if there is no such level. If the
        last load failed, raises the error of that load."""
        if not 0 <= level < len(self.variants):
            raise UsageError(
                f"There is no level {level} of model variants.", f"Give 0 to {len(self.variants) - 1}."
            )
        with self._lock:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            self._wanted = level
            if level not in self._held and self._loading is None:
                self._loading = threading.Thread(target=self._load, name="model-variants", daemon=True)
                self._loading.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the requested level can serve, or until its load has failed. Return False if that takes longer
        than ``timeout_s`` seconds."""
        with self._ready:
            return self._ready.wait_for(lambda: self._loading is None, timeout_s)

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        """Prepare the variant that serves for frames of ``format``. Other variants are prepared when they are
        loaded."""
        self._held[self._active].bind(format, window)

    def prepare(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> None:
        server = self._begin(frame, slot, window)
        server.prepare(frame, slot, window)
        self.bytes_written = server.bytes_written

    def invoke(self, slot: int = 0) -> None:
        begin = time.monotonic_ns()
        self._server(slot).invoke(slot)
        self._add_time(slot, time.monotonic_ns() - begin)

    def warm(self) -> None:
        """Run the variant that served the last frame on its previous input. Its time is not counted. Do nothing if
        another variant serves the next frame."""
        with self._lock:
            level = self._using.get(0)
            if (
                level != self._active
                or self._wanted != level
                or level not in self._held
                or 0 in self._working
            ):
                return
            self._working.add(0)  # keeps the variant in memory
        try:
            self._held[level].invoke(0)
        finally:
            self._working.discard(0)

    def answer(self, slot: int = 0) -> Answer:
        answer = self._server(slot).answer(slot)
        self._working.discard(slot)
        return answer

    def input(self, slot: int = 0) -> np.ndarray:
        return self._server(slot).input(slot)

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        server = self._begin(frame, slot, window)
        served = server.serve(frame, slot, window)
        self._working.discard(slot)
        self.bytes_written = server.bytes_written
        begin, end = served.spans["invoke"]
        self._add_time(slot, end - begin)
        return served

    def model_of(self, slot: int = 0) -> str:
        """Return the name of the model that the frame in ``slot`` was prepared for."""
        return self._names[self._using.get(slot, self._active)]

    def close(self) -> None:
        thread = self._loading
        if thread is not None:
            thread.join()
        with self._lock:
            for server in self._held.values():
                server.close()
            self._held.clear()
            self._order.clear()

    def to_json(self) -> dict[str, Any]:
        return {
            "levels": list(self.variant_labels),
            "level": self._active,
            "switches": self.switches,
            "invoke_ms": {
                self.variants[level].label: round(mean / 1e6, 4)
                for level, mean in sorted(self._mean_ns.items())
            },
        }

    def _add_time(self, slot: int, duration_ns: int) -> None:
        level = self._using.get(slot, self._active)
        mean = self._mean_ns.get(level)
        self._mean_ns[level] = duration_ns if mean is None else mean + _NEWEST_WEIGHT * (duration_ns - mean)

    def _server(self, slot: int) -> StagedServer:
        return self._held[self._using.get(slot, self._active)]

    def _begin(self, frame: Frame, slot: int, window: CropWindow | None) -> StagedServer:
        """Return the server for a new frame in ``slot``. If the requested variant is ready, switch to it here."""
        self._working.add(slot)
        if self._wanted != self._active or self._using.get(slot) != self._active or self._last_format is None:
            with self._lock:
                self._last_format = frame.format, window
                if self._wanted != self._active and self._wanted in self._held:
                    self._active = self._wanted
                    self.switches += 1
                self._using[slot] = self._active
                self._order.remove(self._active)
                self._order.append(self._active)
                self._drop(self._keep)
        return self._held[self._active]

    def _drop(self, limit: int) -> None:
        """Close the least recently used variants until ``limit`` variants remain. Do not close a variant that serves,
        that is requested, or that has a frame in progress."""
        working = {level for slot, level in self._using.items() if slot in self._working}
        busy = {self._active, self._wanted, *working}
        for level in [level for level in self._order if level not in busy]:
            if len(self._order) <= limit:
                return
            self._order.remove(level)
            self._held.pop(level).close()

    def _load(self) -> None:
        """Load the requested level. If another level was requested meanwhile, load that level too. This runs in a
        thread."""
        while True:
            with self._ready:
                level = self._wanted
                if level in self._held:
                    self._loading = None
                    self._ready.notify_all()
                    return
                last_format = self._last_format
                self._drop(self._keep - 1)  # before loading, so that at most ``keep`` variants are in memory
            server: StagedServer | None = None
            try:
                server = self.variants[level].open()
                if server.slots < self.slots:
                    raise UsageError(
                        f"Variant '{self.variants[level].label}' has {server.slots} slots, "
                        f"but {self.slots} are in use.",
                        "Open all variants with the same number of slots.",
                    )
                if last_format is not None:
                    warm_up(server, *last_format)
            except Exception as error:  # raised by the next ``move``
                if server is not None:
                    server.close()
                with self._ready:
                    self._error, self._wanted = error, self._active
                continue
            with self._ready:
                self._held[level], self._names[level] = server, server.name
                self._order.insert(0, level)  # first in the order, because it has not served yet
