"""Read picture and WAV files and convert them to the model's input."""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from arenite.converters.processing.motion_files import MOTION_SUFFIXES, read_motion
from arenite.converters.processing.picture_files import open_picture
from arenite.converters.processing.preprocess import preprocess_motion, preprocess_pixels, preprocess_samples
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.image_steps import ImageSource
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.pixel_formats import color_order
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm")
PICTURE_FORMATS = ("PNG", "JPEG", "BMP", "PPM")
SOUND_SUFFIXES = (".wav",)

#: The largest sound file in bytes. It has room for half an hour of 16-bit samples at 16 kHz.
MAX_SOUND_BYTES = 64 << 20

#: Programs that write a WAV file to a pipe do not know its size. They state this many bytes of samples, or more.
UNKNOWN_WAV_BYTES = 0x7FFF0000

#: The sizes of a sample in bytes that ``read_sound`` converts.
SAMPLE_WIDTHS = (1, 2, 3, 4)


def preprocess_file(spec: Preprocessing, path: str | Path, shape: Sequence[int] | None = None) -> np.ndarray:
    """Return the model's input for the file at ``path``, with a batch of 1. The values are float32 real values, or
    integers if ``spec`` has a quantize step.

    ``shape`` is the shape of the model's input. Without it the result is [1, height, width, channels] or [1, frames,
    features]. Raises ``UsageError`` if the file cannot be read or the result has another number of elements.
    """
    if isinstance(spec.source, ImageSource):
        order = color_order(spec.source.format)
        pixels = read_picture(path, order)
        result = preprocess_pixels(spec, pixels, order, pixels.shape[1], pixels.shape[0])
    elif isinstance(spec.source, ImuSource):
        result = preprocess_motion(spec, read_motion(path, spec.source.axes))
    else:
        result = preprocess_samples(spec, read_sound(path, spec.source.rate))
    if shape is None:
        return result[np.newaxis]
    if result.size != int(np.prod(shape)):
        raise UsageError(
            f"{path}: preprocessing gives {'x'.join(map(str, result.shape))} values, "
            f"but the model's input is {'x'.join(map(str, shape))}.",
            "Change the size in the preprocessing's steps.",
        )
    return result.reshape(shape)


def read_picture(path: str | Path, order: str) -> np.ndarray:
    """Return the picture in a file as uint8 [height, width, 3 or 1] in ``order``: rgb, bgr or grey. Raises
    ``UsageError`` if it cannot be read."""
    try:
        from PIL import Image
    except ImportError as error:
        raise UsageError("Reading pictures needs Pillow.", "pip install 'arenite[images]'") from error
    try:
        with Path(path).open("rb") as file, open_picture(file, PICTURE_FORMATS) as picture:
            if picture.mode in ("I", "F") or picture.mode.startswith("I;"):
                # Pillow would cut every value at 255, and the conversion that training used is unknown.
                raise UsageError(
                    f"The picture {path} has more than 8 bits per value (mode {picture.mode}).",
                    "Save it with 8 bits, scaled in the same way as for training.",
                )
            pixels = np.asarray(picture.convert("L" if order == "grey" else "RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UsageError(f"Cannot read the picture {path}: {error}.", "Give a PNG or JPEG file.") from error
    if order == "grey":
        return pixels[:, :, np.newaxis]
    return pixels if order == "rgb" else pixels[:, :, ::-1]


def read_sound(path: str | Path, rate: int) -> np.ndarray:
    """Return the samples of a WAV file as int16 [samples]. If it has several channels, their average is returned.
    Raises ``UsageError`` if the file is not PCM or does not have ``rate`` samples per second."""
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_SOUND_BYTES + 1)
        if len(data) > MAX_SOUND_BYTES:
            raise UsageError(
                f"The sound {path} has more than {MAX_SOUND_BYTES:,} bytes.", "Cut it into parts."
            )
        with wave.open(io.BytesIO(_plain_format(data))) as file:
            width, channels, file_rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            stated = file.getnframes() * width * channels
            raw = file.readframes(file.getnframes())
    except (OSError, EOFError, RuntimeError, ValueError, wave.Error) as error:
        # The wave module raises RuntimeError without a text for a chunk that ends behind the file's end.
        raise UsageError(
            f"Cannot read the sound {path}: {str(error) or 'its chunks are damaged'}.",
            "Give a WAV file of PCM samples of 8, 16, 24 or 32 bits.",
        ) from error
    check_wav_is_whole(path, stated, len(raw))
    if file_rate != rate:
        raise UsageError(
            f"{path} has {file_rate} samples per second, the model's preprocessing takes {rate}.",
            f"Resample it first: ffmpeg -i IN -ar {rate} OUT.wav",
        )
    if width not in SAMPLE_WIDTHS:
        raise UsageError(
            f"The sound {path} has {8 * width} bits per sample.",
            "Give a WAV file of PCM samples of 8, 16, 24 or 32 bits.",
        )
    raw = raw[: len(raw) - len(raw) % (width * channels)]
    if width == 1:
        values = (np.frombuffer(raw, np.uint8).astype(np.int64) - 128) << 8
    elif width == 3:
        bytes_ = np.frombuffer(raw, np.uint8).reshape(-1, 3)[:, 1:]
        values = np.ascontiguousarray(bytes_).view("<i2").reshape(-1).astype(np.int64)
    else:
        values = np.frombuffer(raw, f"<i{width}").astype(np.int64) >> (8 * width - 16)
    return cast(np.ndarray, (values.reshape(-1, channels).sum(axis=1) // channels).astype(np.int16))


def check_wav_is_whole(path: str | Path, stated_bytes: int, bytes_: int) -> None:
    """Raise ``UsageError`` if the WAV file at ``path`` ends before its samples do. ``stated_bytes`` is the size of the
    samples that its header states, and ``bytes_`` is the size of those that it has."""
    if bytes_ < stated_bytes < UNKNOWN_WAV_BYTES:
        raise UsageError(
            f"The sound {path} is cut off: its header states {stated_bytes:,} bytes of samples, but the file has only "
            f"{bytes_:,}.",
            "Copy or record it again; or use what is left: ffmpeg -i IN.wav OUT.wav",
        )


def _plain_format(data: bytes) -> bytes:
    """Change the format of a WAV file from WAVE_FORMAT_EXTENSIBLE with PCM samples to plain PCM, because Python 3.11
    reads only that. Other files are returned unchanged."""
    at = 12
    while data[:4] == b"RIFF" and at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        body = at + 8
        if data[at : at + 4] == b"fmt ":
            extensible, pcm = data[body : body + 2] == b"\xfe\xff", data[body + 24 : body + 26] == b"\x01\x00"
            return data[:body] + b"\x01\x00" + data[body + 2 :] if extensible and pcm else data
        at = body + size + size % 2
    return data


def suffixes(spec: Preprocessing) -> tuple[str, ...]:
    """Return the file name endings that ``spec`` accepts."""
    if isinstance(spec.source, ImuSource):
        return MOTION_SUFFIXES
    return SOUND_SUFFIXES if isinstance(spec.source, AudioSource) else PICTURE_SUFFIXES
