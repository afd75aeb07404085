"""Run the conversion of endless recordings, of sound or of a motion sensor, with the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.audio.stream import Window, check_stream
from arenite.converters.processing.imu.plan import ImuPlan, plan_imu
from arenite.converters.processing.native import structs as c
from arenite.converters.processing.native.compiled_preprocessing import AudioFront
from arenite.converters.processing.specification.preprocessing import Preprocessing


class CompiledStream:
    """Computes the windows of an endless recording with the C code; see ``AudioStream``, which returns the same."""

    def __init__(self, library: ctypes.CDLL, spec: Preprocessing, advance: int = 1) -> None:
        """Begin with sample 0. Raises ``UsageError`` for steps that need a whole recording."""
        self.plan = plan = plan_sound(spec)
        check_stream(plan, advance)
        self._front = AudioFront(plan)
        self._windows = _Windows(
            library,
            "ar_micro_frame" if self._front.is_micro else "ar_audio_frame",
            self._front,
            c.windows_fields(plan, advance),
            np.zeros((plan.frames, plan.features), plan.dtype),
        )

    @property
    def position(self) -> int:
        """The index of the next sample."""
        return self._windows.position

    def restart(self, position: int = 0) -> None:
        """Forget all samples and rows. ``position`` is the index of the next sample."""
        self._windows.restart(position)

    def feed(self, samples: np.ndarray) -> list[Window]:
        """Take int16 samples, any number of them, and return the windows that they complete."""
        return self._windows.feed(samples)


class ImuFront:
    """The struct ``ar_imu`` of a plan, and its scratch memory. ``struct`` and ``scratch`` are valid as long as this
    object exists."""

    def __init__(self, plan: ImuPlan) -> None:
        self.struct = c.ImuStruct()
        self._bands = None if plan.bands is None else AudioFront(plan.bands)
        self._statistics = np.array(plan.statistics, np.uint8)
        self.struct.bands = None if self._bands is None else ctypes.addressof(self._bands.struct)
        self.struct.statistics = c.address(self._statistics)
        c.fill(self.struct, c.imu_fields(plan))
        c.fill(self.struct.affine, c.affine_fields(plan.affine, plan.dtype))
        self.scratch = np.empty(c.imu_scratch(plan) // 8 + 1, np.uint64)


class CompiledImuStream:
    """Computes the windows of an endless recording of a motion sensor with the C code; see ``ImuStream``, which returns
    the same."""

    def __init__(self, library: ctypes.CDLL, spec: Preprocessing) -> None:
        """Begin with moment 0."""
        self.plan = plan = plan_imu(spec)
        self._front = ImuFront(plan)
        self._windows = _Windows(
            library,
            "ar_imu_frame",
            self._front,
            c.imu_windows_fields(plan),
            np.zeros(plan.shape, plan.dtype),
        )

    @property
    def position(self) -> int:
        """The index of the next moment."""
        return self._windows.position // self.plan.axes

    def restart(self, position: int = 0) -> None:
        """Forget all samples. ``position`` is the index of the next moment."""
        self._windows.restart(position * self.plan.axes)

    def feed(self, samples: np.ndarray) -> list[Window]:
        """Take int16 samples [moments, axes], any number of them, and return the windows that they complete."""
        return [Window(w.position // self.plan.axes, w.features) for w in self._windows.feed(samples)]


class _Windows:
    """The C structures of a stream, whose windows have the shape and type of ``ring``."""

    def __init__(
        self,
        library: ctypes.CDLL,
        convert: str,
        front: AudioFront | ImuFront,
        fields: Mapping[str, int],
        ring: np.ndarray,
    ) -> None:
        self._restart, self._feed, self._window = (
            getattr(library, f"ar_audio_{name}") for name in ("restart", "feed", "window")
        )
        self._feed.restype = ctypes.c_uint32
        self._plan = c.WindowsStruct()
        c.fill(self._plan, dict(fields))
        self._plan.convert = ctypes.cast(getattr(library, convert), ctypes.c_void_p)
        self._plan.front = ctypes.addressof(front.struct)
        self._scratch = front.scratch
        self._held = np.zeros(fields["length"], np.int16)
        self._memory = np.zeros(fields["memory_bytes"], np.uint8)
        self._ring = ring
        self._stream = c.StreamStruct()
        self._stream.plan = ctypes.addressof(self._plan)
        self._stream.memory = c.address(self._memory)
        self._stream.held, self._stream.ring = c.address(self._held), c.address(self._ring)
        self.restart(0)

    @property
    def position(self) -> int:
        return int(self._stream.position)

    def restart(self, position: int) -> None:
        self._restart(ctypes.byref(self._stream), ctypes.c_uint64(position))

    def feed(self, samples: np.ndarray) -> list[Window]:
        samples = np.ascontiguousarray(samples, np.int16).reshape(-1)
        windows, taken = [], 0
        while taken < len(samples):
            taken += self._feed(
                ctypes.byref(self._stream),
                ctypes.c_void_p(samples.ctypes.data + 2 * taken),
                ctypes.c_uint32(len(samples) - taken),
                ctypes.c_void_p(self._scratch.ctypes.data),
            )
            if self._stream.is_complete:
                features = np.empty(self._ring.shape, self._ring.dtype)
                self._window(ctypes.byref(self._stream), ctypes.c_void_p(features.ctypes.data))
                windows.append(Window(self.position, features))
        return windows
