"""Valid inputs of the Python fuzz targets."""

from __future__ import annotations

import io
import json
import re
import struct
import wave
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from arenite.converters.tflite.image import image_bytes, to_flatbuffer
from arenite.host.link.client import DESCRIBE, DONE, HELLO
from arenite.profiles.boards import BOARD_DIRECTORY
from tests.converters import small_models
from tests.fuzz.coverage.file_corpora import FILE_CORPORA
from tests.fuzz.coverage.input_parts import indented
from tests.fuzz.coverage.server_corpora import SERVER_CORPORA
from tests.host.link.hostile_device import greeting

IMAGE_RECORD = {
    "source": {"kind": "image", "format": "rgb", "width": 31, "height": 23},
    "steps": [
        {"do": "resize", "width": 8, "height": 8},
        {"do": "normalise", "divide": 127.5, "mean": [1, 2, 3]},
        {"do": "quantise", "dtype": "int8", "scale": 0.5, "zero_point": 1},
    ],
}


def tflite_reader() -> Iterable[bytes]:
    for make in small_models.ALL.values():
        yield to_flatbuffer(make())
    yield image_bytes(small_models.conv_net(), None, extra={"labels": ["cat", "dog"]})


def model_metadata() -> Iterable[bytes]:
    for data in tflite_reader():
        yield b"t" + data
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("labels.txt", "cat\ndog\n")
        file.writestr("metadata.json", json.dumps({"names": {"0": "cat"}, "stride": 32, "imgsz": [32, 32]}))
    yield b"t" + to_flatbuffer(small_models.conv_net()) + archive.getvalue()
    # Protocol Buffers of ONNX: an IR version, a property, and a graph with one input and one output.
    dimension = b"\x0a\x02\x08\x01"
    shape = b"\x12" + bytes([4 * len(dimension)]) + 4 * dimension
    tensor = b"\x0a" + bytes([2 + len(shape)]) + b"\x08\x01" + shape
    info = b"\x0a\x01x\x12" + bytes([len(tensor)]) + tensor
    yield (
        b"z"
        + json.dumps({"names": {"0": "cat"}, "stride": 32, "imgsz": [32, 32], "kpt_shape": [17, 3]}).encode()
    )
    yield b"y{'names': {0: 'cat', 1: 'dog'}, 'stride': 32, 'imgsz': [8, 8], 'task': 'classify'}"
    yield b"e" + json.dumps({"labels": ["cat", "dog"], "preprocessing": IMAGE_RECORD}).encode()
    yield (
        b"e" + json.dumps({"postprocessing": {"steps": [{"do": "top_k", "k": 5, "softmax": True}]}}).encode()
    )
    graph = b"\x5a" + bytes([len(info)]) + info + b"\x62" + bytes([len(info)]) + info
    names = b"\x72\x12\x0a\x05names\x12\x09{0: 'cat'}"
    yield b"o\x08\x08" + names + b"\x3a" + bytes([len(graph)]) + graph


def array_files() -> Iterable[bytes]:
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, x=np.zeros((2, 3), np.float32), y=np.arange(2))
        yield stream.getvalue()
    for array in (np.zeros((4, 4), np.int8), np.array(["cat", "dog"]), np.zeros(3, "f4,i2")):
        stream = io.BytesIO()
        np.save(stream, array)
        yield stream.getvalue()
        yield b"Z" + stream.getvalue()


def pictures() -> Iterable[bytes]:
    from PIL import Image

    pixels = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)
    for kind in ("PNG", "JPEG", "BMP", "PPM", "GIF", "TIFF", "WEBP"):
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, kind)
        yield stream.getvalue()


def sounds() -> Iterable[bytes]:
    for width in (1, 2, 3, 4):
        for channels in (1, 2):
            stream = io.BytesIO()
            with wave.open(stream, "wb") as file:
                file.setnchannels(channels)
                file.setsampwidth(width)
                file.setframerate(16000)
                file.writeframes(bytes(range(8 * width * channels)))
            yield stream.getvalue()
    extensible = bytes.fromhex(
        "feff0100803e00000077010002001000160010000400000001000000000010008000 00aa00389b71"
    )
    chunks = b"fmt " + struct.pack("<I", len(extensible)) + extensible + b"data\4\0\0\0\1\0\2\0"
    yield b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def recordings() -> Iterable[bytes]:
    yield b"YUV4MPEG2 W4 H2 F30:1 C420jpeg\nFRAME\n" + bytes(12) + b"FRAME\n" + bytes(12)
    header = b"LIST" + struct.pack("<I", 4) + b"hdrl"
    stream = b"strh" + struct.pack("<I", 56) + b"vids" + bytes(16) + struct.pack("<II", 1, 30) + bytes(28)
    format = b"strf" + struct.pack("<I", 40) + struct.pack("<IiiHH4s", 40, 4, 2, 1, 16, b"YUY2") + bytes(20)
    frame = b"LIST" + struct.pack("<I", 4) + b"movi" + b"00dc" + struct.pack("<I", 16) + bytes(16)
    body = b"AVI " + header + stream + format + frame
    yield b"RIFF" + struct.pack("<I", len(body)) + body


def files_of_settings() -> Iterable[bytes]:
    """Yield the kind and the text of files that target ``profiles`` reads."""
    folder = BOARD_DIRECTORY.parent
    for kind, name in (
        (b"\0", "boards/qemu_mps2_an386.toml"),
        (b"\0", "boards/nucleo_l4r5zi.toml"),
        (b"\1", f"batteries/{sorted(p.name for p in (folder / 'batteries').glob('*.toml'))[0]}"),
        (b"\2", f"hosts/{sorted(p.name for p in (folder / 'hosts').glob('*.toml'))[0]}"),
        (b"\3", f"meters/{sorted(p.name for p in (folder / 'meters').glob('*.toml'))[0]}"),
    ):
        yield kind + (folder / name).read_bytes()
    recipes = Path(__file__).parents[3] / "converters" / "quantize" / "recipes"
    for path in sorted(recipes.glob("*.toml"))[:3]:
        yield b"r" + path.read_bytes()
    yield b"j" + indented(IMAGE_RECORD)
    yield b"t[source]\nkind = 'audio'\nrate = 16000\nsamples = 64\n[[steps]]\ndo = 'frame'\nlength = 8\nstep = 8\n"
    yield b"p" + indented({"steps": [{"do": "top_k", "k": 5, "softmax": True}]})
    yield b"p" + indented(
        {"steps": [{"do": "yolo", "unit": "pixels", "classes": 2}, {"do": "nms", "iou": 0.5}]}
    )


def profiles() -> Iterable[bytes]:
    files = list(files_of_settings())
    yield from files
    for number in range(len(files)):
        # The first byte chooses the file. Its lines 5 and 0 get other values.
        yield bytes([128 + (number - 128) % len(files)]) + b"\x05\x01" + b"7" + b"\x00\x03" + b"inf"


def link_client() -> Iterable[bytes]:
    replies = [
        bytes([DONE, HELLO, 0]) + greeting(inputs=1, outputs=1),
        bytes([DONE, DESCRIBE, 0]) + struct.pack("<II", 8, 9),
        bytes([DONE, DESCRIBE, 0]) + struct.pack("<II", 8, 9),
        bytes([DONE, 8, 0]) + struct.pack("<14I", *[1] * 14),
        bytes([DONE, 9, 0]) + struct.pack("<5I", 1, 0, 1, 0, 0),
        bytes([DONE, 9, 0]),
        bytes([DONE, 6, 0]) + struct.pack("<4I", 1, 2, 0, 0),
    ]
    yield b"\1" + b"".join(bytes([len(r)]) + r for r in replies)
    ready = b"\r\nm-ready\r\n"
    lines = [b"m-name-dut-[x]", b"m-profile-[p]\r\nm-model-[m]", b"m-load-done"]
    lines += [b"m-lap-us-1\r\nm-infer-done\r\nm-lap-us-2\r\nm-results-[0.5,-1.0]", b"m-raw-[00ff]"]
    yield b"\2" + b"".join(line + ready for line in lines)


#: Values in text that readers must check, and header fields that change how much a server reads.
_ODD_VALUES = (
    *(
        b"inf",
        b"nan",
        b"-inf",
        b"Infinity",
        b"NaN",
        b"1e999",
        b"5e-324",
        b"-0.0",
        b"null",
        b"true",
        b"''",
        b"{}",
        b"[[]]",
    ),
    *(
        b"9" * 19,
        b"9" * 320,
        b"0x7fffffff",
        b"1979-05-27T07:32:00Z",
        b"\\u0000",
        b"\\ud800",
        b"\xc2\x85",
        b"\x1b[",
    ),
)
_HEADERS = (
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 0\r\n",
    b"Connection: close\r\n",
    b"Expect: 100-continue\r\n",
)


def dictionary(name: str) -> list[bytes]:
    """Return words that the fuzzer inserts into inputs of target ``name``, whose inputs are text; [] for the others."""
    if name not in ("profiles", "model_metadata", *SERVER_CORPORA, "model_sources", "results"):
        return []
    words = {
        word for seed in PYTHON_CORPORA[name]() for word in re.findall(rb"[A-Za-z_][A-Za-z0-9_-]{2,40}", seed)
    }
    return [*sorted(words), *(_HEADERS if name in SERVER_CORPORA else _ODD_VALUES)]


PYTHON_CORPORA: dict[str, Callable[[], Iterable[bytes]]] = {
    "tflite_reader": tflite_reader,
    "model_metadata": model_metadata,
    "array_files": array_files,
    "pictures": pictures,
    "sounds": sounds,
    "recordings": recordings,
    "profiles": profiles,
    "link_client": link_client,
    **FILE_CORPORA,
    **SERVER_CORPORA,
}
