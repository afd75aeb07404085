"""Hostile models, arrays, pictures, sounds and folders of samples."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import image_bytes, to_flatbuffer
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import classifier, quant
from tests.security.attack import Attack
from tests.security.attack_runner import Prepared
from tests.security.setting_attacks import BOARD, DEEP, Make, model


def binary(name: str, content: bytes | Callable[[], bytes], *arguments: object) -> Make:
    """Return a function that writes a file, and returns ``arguments`` with FILE and MODEL replaced by paths."""

    def make(work: Path) -> list[object]:
        path = work / name
        path.write_bytes(content if isinstance(content, bytes) else content())
        return [path if a == "FILE" else model(work) if a == "MODEL" else a for a in arguments]

    return make


def link(name: str, target: str, *arguments: object) -> Make:
    """Return a function that makes the file ``name`` a link to ``target``, such as a device, and returns ``arguments``
    with FILE and MODEL replaced by paths. An archive can contain such a link."""

    def make(work: Path) -> list[object]:
        (work / name).symlink_to(target)
        return [work / name if a == "FILE" else model(work) if a == "MODEL" else a for a in arguments]

    return make


def pipe(name: str, *arguments: object) -> Make:
    """Return a function that makes the file ``name`` a named pipe to which nobody writes, and returns ``arguments``
    with FILE and MODEL replaced by paths."""

    def make(work: Path) -> list[object]:
        os.mkfifo(work / name)
        return [work / name if a == "FILE" else model(work) if a == "MODEL" else a for a in arguments]

    return make


def folder_as_model(work: Path) -> list[object]:
    """Make a folder that has the name of a model."""
    (work / "m.tflite").mkdir()
    return ["fit", work / "m.tflite"]


def huge_activations() -> bytes:
    """Return a model whose tensors have 1.6 GB each."""
    b = GraphBuilder(np.random.default_rng(0))
    x = b.input((1, 20000, 20000, 4), "int8", quant(0.1))
    b.op("RELU", [x], [b.tensor((1, 20000, 20000, 4), "int8", quant(0.1))])
    return to_flatbuffer(b.build())


def broadcast_bomb() -> bytes:
    """Return a model with a constant of one byte that an operator expands to a gigabyte."""
    b = GraphBuilder(np.random.default_rng(0))
    small = b.const(np.ones((1, 1, 1, 1), np.int8), "int8", quant(0.1))
    shape = (1, 1000, 1000, 1000)
    large = b.tensor(shape, "int8", quant(0.1))
    b.op("BROADCAST_TO", [small, b.const(shape, "int64")], [large], "BroadcastToOptions")
    x = b.input(shape, "int8", quant(0.1))
    b.op("ADD", [x, large], [b.tensor(shape, "int8", quant(0.1))], "AddOptions")
    return to_flatbuffer(b.build())


def with_tensor_names(name: str) -> bytes:
    """Return a small model in which the names of all tensors begin with ``name``."""
    small: Model = classifier()
    graph = small.main
    tensors = tuple(replace(t, name=f"{name}{k}") for k, t in enumerate(graph.tensors))
    return to_flatbuffer(small.with_main(replace(graph, tensors=tensors)))


def with_extra(**extra: object) -> bytes:
    """Return an image (a converted model) with the metadata ``extra``."""
    return image_bytes(classifier(), None, extra=extra)


def with_header(text: bytes) -> bytes:
    """Return an image whose metadata is ``text``, which need not be JSON."""
    small = classifier()
    return to_flatbuffer(replace(small, metadata={**small.metadata, "arenite": text}))


def archive(*members: tuple[str, bytes]) -> bytes:
    """Return a ZIP archive of members (name, contents)."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return stream.getvalue()


def npy_header(text: bytes, version: int = 1) -> bytes:
    """Return a .npy file that ends after its header ``text``."""
    size = struct.pack("<H", len(text)) if version == 1 else struct.pack("<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG file of RGB pixels whose header states the given size, with chunks (type, data)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunk(*c) for c in chunks) + chunk(b"IEND", b"")


def pictures(name: str, data: bytes) -> Make:
    """Return a function that writes a folder with one hostile picture and a model that records its preprocessing, and
    returns the command that benches the model with this folder."""

    def make(work: Path) -> list[object]:
        folder = work / "samples" / "class"
        folder.mkdir(parents=True)
        (folder / name).write_bytes(data)
        steps = [{"do": "resize", "width": 12, "height": 12}]
        record = {"source": {"kind": "image", "format": "rgb"}, "steps": steps}
        (work / "m.tflite").write_bytes(with_extra(preprocessing=record))
        return ["bench", work / "m.tflite", "--board", BOARD, "--data", work / "samples"]

    return make


def picture_pipe(work: Path) -> Sequence[object]:
    """Make a folder of samples with a picture that is a named pipe, and return a command that reads it."""
    command = pictures("a.png", b"")(work)
    (work / "samples/class/a.png").unlink()
    os.mkfifo(work / "samples/class/a.png")
    assert not isinstance(command, Prepared)
    return command


def picture_link(work: Path) -> Sequence[object]:
    """Make a folder of samples with a picture that is a link to an endless device, and return a command that reads
    it."""
    command = pictures("a.png", b"")(work)
    (work / "samples/class/a.png").unlink()
    (work / "samples/class/a.png").symlink_to("/dev/zero")
    assert not isinstance(command, Prepared)
    return command


def samples(data: bytes, name: str = "x.npz") -> Make:
    """Return a function that writes ``data`` as a file of samples, and returns the command that benches a model with
    it."""
    return binary(name, data, "bench", "MODEL", "--board", BOARD, "--data", "FILE")


CONVERT = ("convert", "FILE", "--calibration", "random", "-o", "out.tflite")
FILE_ATTACKS = [
    Attack("model-is-endless", 2, ["m.tflite"], link("m.tflite", "/dev/zero", "inspect", "FILE")),
    Attack("model-is-a-pipe", 2, ["m.tflite"], pipe("m.tflite", "inspect", "FILE")),
    Attack(
        "camera-model-is-a-pipe",
        2,
        ["m.tflite"],
        pipe("m.tflite", "camera", "--source", "synthetic", "--model", "FILE", "--frames", "2"),
    ),
    Attack("model-is-a-folder", 2, ["m.tflite"], folder_as_model),
    Attack(
        "model-of-huge-activations",
        2,
        ["at most 134,217,728"],
        binary("m.tflite", huge_activations, "fit", "FILE", "--board", BOARD),
    ),
    Attack(
        "model-constant-that-expands",
        2,
        [],
        binary("m.tflite", broadcast_bomb, "firmware", "FILE", "--board", BOARD, "-o", "p"),
    ),
    Attack(
        "image-header-nested",
        2,
        ["m.tflite"],
        binary("m.tflite", lambda: with_header(b"[" * DEEP), "inspect", "FILE"),
    ),
    Attack(
        "image-header-of-numbers",
        2,
        ["m.tflite"],
        binary("m.tflite", lambda: with_header(b'{"schema": ' + b"9" * 50_000 + b"}"), "inspect", "FILE"),
    ),
    Attack(
        "image-preprocessing-of-a-huge-picture",
        2,
        ["Resize"],
        binary(
            "m.tflite",
            lambda: with_extra(
                preprocessing={
                    "source": {"kind": "image", "format": "rgb"},
                    "steps": [{"do": "resize", "width": 10**9, "height": 10**9}],
                }
            ),
            "camera",
            "--source",
            "synthetic",
            "--model",
            "FILE",
            "--frames",
            "2",
        ),
    ),
    Attack(
        "image-preprocessing-that-is-text",
        2,
        [],
        binary("m.tflite", lambda: with_extra(preprocessing="$(id)"), "library", "FILE", "-o", "lib"),
    ),
    Attack(
        "image-postprocessing-of-a-billion-classes",
        2,
        [],
        binary(
            "m.tflite",
            lambda: with_extra(postprocessing={"steps": [{"do": "top_k", "k": 10**9}]}),
            "library",
            "FILE",
            "-o",
            "lib",
        ),
    ),
    Attack(
        "library-name-that-leaves-the-folder",
        2,
        [],
        binary("m.tflite", lambda: with_tensor_names("x"), "library", "../../evil=FILE", "-o", "lib"),
    ),
    Attack(
        "library-name-of-shell-commands",
        2,
        [],
        binary("m.tflite", lambda: with_tensor_names("x"), "library", "$(id)=FILE", "-o", "lib"),
    ),
    Attack("onnx-is-endless", 2, ["m.onnx"], link("m.onnx", "/dev/zero", *CONVERT)),
    Attack(
        "keras-nested-configuration",
        2,
        ["m.keras"],
        binary(
            "m.keras",
            lambda: archive(
                ("config.json", b"[" * DEEP), ("metadata.json", b"{}"), ("model.weights.h5", b"")
            ),
            *CONVERT,
        ),
    ),
    Attack(
        "keras-member-that-leaves-the-folder",
        2,
        ["m.keras"],
        binary("m.keras", lambda: archive(("config.json", b"{}"), ("../../../outside", b"x")), *CONVERT),
    ),
    Attack("keras-is-a-pipe", 2, ["m.keras"], pipe("m.keras", *CONVERT)),
    Attack(
        "pt2-with-a-pickle",
        2,
        ["m.pt2"],
        binary(
            "m.pt2",
            lambda: archive(("m/data.pkl", b"cposix\nsystem\n(S'id'\ntR."), ("m/version", b"3")),
            *CONVERT,
        ),
    ),
    Attack(
        "pt2-of-members-without-end",
        2,
        ["m.pt2"],
        binary("m.pt2", lambda: archive(*((f"m/{k}", b"") for k in range(30_000))), *CONVERT),
    ),
    Attack(
        "array-header-nested",
        2,
        ["x.npy"],
        samples(
            npy_header(b"{'descr': '<f4', 'fortran_order': False, 'shape': " + b"(" * 8000 + b"\n"), "x.npy"
        ),
    ),
    Attack(
        "array-header-of-four-gigabytes",
        2,
        ["x.npy"],
        samples(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "x.npy"),
    ),
    Attack(
        "array-header-that-calls",
        2,
        ["x.npy"],
        samples(
            npy_header(b"{'descr': __import__('os').system('id'), 'fortran_order': False, 'shape': (1,)}\n"),
            "x.npy",
        ),
    ),
    Attack(
        "array-elements-of-a-gigabyte",
        2,
        ["x.npy"],
        samples(npy_header(b"{'descr': '|V1000000000', 'fortran_order': False, 'shape': (3,)}\n"), "x.npy"),
    ),
    Attack(
        "array-negative-shape",
        2,
        ["x.npy"],
        samples(npy_header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -4)}\n"), "x.npy"),
    ),
    Attack(
        "archive-of-arrays-twice",
        2,
        ["x.npz"],
        samples(archive(("x.npy", b"\x93NUMPY\x01\x00"), ("x.npy", b"A"))),
    ),
    Attack(
        "archive-encrypted",
        2,
        ["x.npz"],
        samples(
            archive(("x.npy", b"abc"))
            .replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01")
            .replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
        ),
    ),
    Attack(
        "samples-are-a-pipe",
        2,
        ["x.npz"],
        pipe("x.npz", "bench", "MODEL", "--board", BOARD, "--data", "FILE"),
    ),
    Attack(
        "samples-are-endless",
        2,
        ["x.npy"],
        link("x.npy", "/dev/zero", "bench", "MODEL", "--board", BOARD, "--data", "FILE"),
    ),
    Attack(
        "picture-that-runs-ghostscript",
        2,
        ["a.png"],
        pictures("a.png", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%id) (w) file\n"),
    ),
    Attack(
        "picture-text-that-expands",
        2,
        ["a.png"],
        pictures(
            "a.png",
            png(
                4,
                4,
                (b"zTXt", b"k\0\0" + zlib.compress(bytes(300 << 20), 1)),
                (b"IDAT", zlib.compress(bytes(4))),
            ),
        ),
    ),
    Attack("picture-of-too-few-bytes", 2, ["a.ppm"], pictures("a.ppm", b"P6 4000 4000 255\n" + bytes(10))),
    Attack("picture-size-without-end", 2, ["a.ppm"], pictures("a.ppm", b"P6 " + b"9" * 100_000)),
    Attack("picture-is-a-pipe", 2, ["samples"], picture_pipe),
    Attack("picture-is-endless", 2, ["samples"], picture_link),
    Attack(
        "recipe-is-a-pipe",
        2,
        ["r.toml"],
        pipe("r.toml", "convert", "MODEL", "--recipe", "FILE", "-o", "out.tflite"),
    ),
    Attack(
        "steps-are-endless",
        2,
        ["p.json"],
        link(
            "p.json",
            "/dev/zero",
            "camera",
            "--source",
            "synthetic",
            "--model",
            "MODEL",
            "--preprocessing",
            "FILE",
            "--frames",
            "2",
        ),
    ),
    Attack(
        "trace-is-endless",
        2,
        ["t.csv"],
        link(
            "t.csv",
            "/dev/zero",
            "duty",
            "--trace",
            "FILE",
            "--service",
            "5",
            "--active-mw",
            "10",
            "--sleep-uw",
            "5",
        ),
    ),
    Attack("result-is-a-pipe", 2, ["a.json"], pipe("a.json", "bench", "compare", "FILE", "FILE")),
]
