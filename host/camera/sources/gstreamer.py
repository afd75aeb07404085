"""Read frames from GStreamer pipelines.

A pipeline runs in the command ``gst-launch-1.0``, which sends raw frames through a pipe, or in OpenCV if OpenCV was
built with GStreamer. This was tested with GStreamer's videotestsrc. The pipeline of a Jetson's camera
(``csi_pipeline``) has never run on a Jetson; the tests check that it equals the pipeline in NVIDIA's guide to
accelerated GStreamer.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from contextlib import suppress

import numpy as np

from arenite.converters.processing.specification.pixel_formats import PLANES, planes_of
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.buffer_pool import BufferPool
from arenite.host.camera.sources.latest_frame import PictureStream
from arenite.host.camera.sources.redaction import redacted
from arenite.processes import Child

#: Maps GStreamer's pixel formats to Arenite's pixel formats and the bytes per pixel in the first plane.
FORMATS = {
    "YUY2": ("yuyv", 2),
    "UYVY": ("uyvy", 2),
    "NV12": ("nv12", 1),
    "NV21": ("nv21", 1),
    "I420": ("yu12", 1),
    "YV12": ("yv12", 1),
    "GRAY8": ("grey", 1),
    "RGB": ("rgb", 3),
    "BGR": ("bgr", 3),
    "RGBA": ("rgba", 4),
    "RGBx": ("rgba", 4),
    "BGRA": ("bgra", 4),
    "BGRx": ("bgra", 4),
    "RGB16": ("rgb565", 2),
}
#: The maximum time in seconds for a pipeline to start, and for it to end after it was terminated.
START_S, END_S = 20.0, 2.0
#: The pattern of an output line with the caps (GStreamer's word for a format) of one of the elements that ``open``
#: adds. GStreamer does not always print the caps of all of these elements.
_CAPS_LINE = re.compile(r":arenite[\w-]*\.GstPad:\w+: caps = ")
#: The size of the pipe, so that a picture takes few reads. Linux's default is 64 KiB.
PIPE_BYTES = 1 << 20


def csi_pipeline(sensor: int, width: int, height: int, fps: float, pixels: str = "nv12") -> str:
    """Return the text of the pipeline of a Jetson's CSI camera number ``sensor``. The image processor writes NV12 to
    device memory, and the converter copies the frames to memory that the CPU can read.

    Source: NVIDIA Jetson Linux Developer Guide, "Accelerated GStreamer", nvarguscamerasrc and nvvidconv.
    """
    names = {"nv12": "NV12", "bgra": "BGRx", "rgba": "RGBA", "grey": "GRAY8"}
    if pixels not in names:
        raise UsageError(f"A CSI camera does not deliver {pixels}.", f"Use one of {', '.join(names)}.")
    rate = f"{round(fps * 1000)}/1000" if fps % 1 else f"{int(fps)}/1"
    return (
        f"nvarguscamerasrc sensor-id={sensor} ! "
        f"video/x-raw(memory:NVMM),format=NV12,width={width},height={height},framerate={rate} ! "
        f"nvvidconv ! video/x-raw,format={names[pixels]}"
    )


def format_from_caps(caps: str) -> Format | None:
    """Return the format that a caps string such as ``video/x-raw, format=(string)NV12, width=(int)640, ...`` describes;
    None if it is not raw video in a supported format. As in GStreamer, rows begin at multiples of four bytes."""
    fields = {name: value.strip(' "\n') for name, value in re.findall(r"([\w-]+)=\(\w+\)([^,;]+)", caps)}
    try:
        pixels, size = FORMATS[fields["format"]]
        width, height = int(fields["width"]), int(fields["height"])
    except (KeyError, ValueError):
        return None
    frames, _, seconds = fields.get("framerate", "0/1").partition("/")
    fps = int(frames) / int(seconds) if frames.isdigit() and seconds.isdigit() and int(seconds) else 0.0
    if pixels in PLANES and (width % 2 or height % 2):
        return None  # chroma would belong to half a pixel
    rows = [width * size] if pixels not in PLANES else [row for row, _ in planes_of(pixels, width, height)]
    return Format(pixels, width, height, tuple(-(-row // 4) * 4 for row in rows), fps)


class GStreamerPipeline:
    """A ``PictureStream`` from ``gst-launch-1.0``. Unsupported pixel formats are converted to a supported format."""

    def __init__(self, pipeline: str, name: str | None = None) -> None:
        self.name = name or f"gst:{redacted(pipeline)}"
        self._pipeline = pipeline
        self._process: Child | None = None
        self._pipe = -1
        self._format: Format | None = None
        self._messages: list[str] = []
        self._caps_known = threading.Event()
        self._reader: threading.Thread | None = None

    def open(self) -> Format:
        command = shutil.which("gst-launch-1.0")
        if command is None:
            raise UsageError(
                "A GStreamer pipeline needs gst-launch-1.0, which is not installed.",
                "Run: apt-get install gstreamer1.0-tools gstreamer1.0-plugins-base.",
            )
        reading, writing = os.pipe()
        # Only on Linux; elsewhere the pipe stays smaller.
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        raw = ";".join(f"video/x-raw,format={name}" for name in FORMATS)
        words = [
            *(
                command,
                "-v",
                *_words(self._pipeline),
                "!",
                "videoconvert",
                "!",
                "capsfilter",
                "name=arenite-caps",
                f"caps={raw}",
                "!",
            ),
            *("queue", "name=arenite-queue", "leaky=downstream", "max-size-buffers=1", "!"),
            *("fdsink", "name=arenite", f"fd={writing}", "sync=false"),
        ]
        self._messages, self._caps_known, self._format = [], threading.Event(), None
        try:
            self._process = Child(
                words,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", pass_fds=(writing,),
            )  # fmt: skip
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._pipe = reading
        self._reader = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._reader.start()
        self._caps_known.wait(START_S)
        if self._format is None:
            self.close()
            reason = next(
                (line for line in self._messages if "ERROR" in line or "WARNING" in line),
                "it printed no reason",
            )
            raise SourceLost(
                f"The pipeline {self.name} delivers no raw video: {redacted(reason.strip())}",
                f"Try it with gst-launch-1.0; its last element must deliver one of {', '.join(FORMATS)}.",
            )
        return self._format

    def _listen(self, process: Child) -> None:
        """Read the caps and the errors that gst-launch prints, until it ends. This runs in a thread."""
        assert process.stdout is not None
        for line in process.stdout:
            if _CAPS_LINE.search(line):
                caps = line.partition("caps = ")[2]
                if "NULL" in caps:
                    continue  # the pipeline ends
                format = format_from_caps(caps)
                if not self._caps_known.is_set():
                    self._format = format
                    if format is None:
                        self._messages.append(f"ERROR: it delivers {caps}")
                    self._caps_known.set()
                elif format != self._format:
                    # It is unknown where in the pipe the first picture of the new format begins, so end the pipeline.
                    self._messages.append(f"it now delivers {caps}")
                    self._format = None
                    process.terminate()
            elif "ERROR" in line or "WARNING" in line or "erroneous" in line:
                self._messages.append(line)
        self._caps_known.set()

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        format = self._format
        if format is None:
            return None
        rows = [format.height, *[format.height // 2] * (len(format.strides) - 1)]
        picture = memory.take(sum(n * stride for n, stride in zip(rows, format.strides, strict=True)))
        view, received = memoryview(picture), 0  # type: ignore[arg-type]
        while received < len(view):
            try:
                count = os.readv(self._pipe, [view[received:]])
            except OSError:
                count = 0
            if not count:
                if self._messages:
                    raise SourceLost(
                        f"{self.name} failed: {redacted(self._messages[-1].strip())}",
                        "Try it with gst-launch-1.0.",
                    )
                return None
            received += count
        return (picture, format) if self._format is format else None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop(END_S)
            if self._reader is not None:
                self._reader.join(END_S)
            if process.stdout is not None:
                process.stdout.close()
        pipe, self._pipe = self._pipe, -1
        if pipe >= 0:
            os.close(pipe)


def _words(text: str) -> list[str]:
    """Split a pipeline into words as a shell does, because gst-launch takes separate words. Raises ``UsageError``."""
    import shlex

    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"The pipeline has unbalanced quotes: {error}.", "Close the quotes.") from error


def open_pipeline(pipeline: str, name: str | None = None) -> PictureStream:
    """Return a stream of ``pipeline`` that runs in ``gst-launch-1.0`` and keeps the pixel format. If only OpenCV has
    GStreamer, return a stream that runs in OpenCV, which converts all pictures to BGR."""
    if shutil.which("gst-launch-1.0") is None:
        with suppress(UsageError):
            from arenite.host.camera.sources.video import NetworkStream, opencv

            cv2 = opencv("GStreamer")
            if cv2.videoio_registry.hasBackend(cv2.CAP_GSTREAMER):
                end = "videoconvert ! video/x-raw,format=BGR ! appsink drop=true max-buffers=1 sync=false"
                return NetworkStream(
                    f"{pipeline} ! {end}", pipeline=True, name=name or f"gst:{redacted(pipeline)}"
                )
    return GStreamerPipeline(pipeline, name)
