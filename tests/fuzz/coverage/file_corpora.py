"""Valid inputs of the fuzz targets of ``file_targets.py``."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.converters.importers.outline import source_files as files
from tests.fuzz.coverage.input_parts import indented
from tests.host.bench.sample_results import ENERGY_RESULT, result


def json_sources() -> Iterable[bytes]:
    """Yield the kind and the JSON text of source models."""
    inner = files.keras_layer("LSTM", "inner", units=8)
    wrapper = files.keras_layer("Bidirectional", "both", (None, 200, 4), layer=inner)
    dense = files.keras_layer("Dense", "scores", (None, 8), units=3)
    conv = files.keras_layer("Conv2D", "c", (None, 8, 8, 3), filters=8, kernel_size=[3, 3], strides=[1, 1])
    for layers, shape in (
        ([wrapper], (None, 200, 4)),
        ([conv, dense], (None, 8, 8, 3)),
        ([dense], (None, 8)),
    ):
        yield b"k" + indented(files.keras_description(layers, shape))
    with (
        TemporaryDirectory() as folder,
        zipfile.ZipFile(files.picture_torch(Path(folder) / "m.pt2")) as archive,
    ):
        yield b"t" + indented(json.loads(archive.read("net/models/model.json")))


def model_sources() -> Iterable[bytes]:
    sources = list(json_sources())
    yield from sources
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        yield b"o" + files.picture_onnx(folder / "m.onnx").read_bytes()
        yield (
            b"o" + files.picture_onnx(folder / "m.onnx", shape=(None, 3, 8, 8), location="w.bin").read_bytes()
        )
        node = files.tf_node("Conv2D", "y", ["x"], strides=files.tf_ints(1, 2, 2, 1))
        saved = files.saved_model(folder / "saved", [node], signatures=("serving_default", "other"))
        yield b"s" + (saved / "saved_model.pb").read_bytes()
    text = sources[0][1:].replace(b"\n", b"").replace(b'{ "class_name"', b'{"class_name"')
    head = b"\x89HDF\r\n\x1a\n" + bytes(32) + (100).to_bytes(8, "little")
    yield b"h" + head + bytes(100) + len(text).to_bytes(8, "little") + text + bytes(8)
    yield from _changes(len(sources))


def json_results() -> Iterable[bytes]:
    """Yield files of results, each after a byte that no reader sees."""
    latency = {"min": 9000.0, "p50": 10000.0, "p95": 11000.0, "p99": 12000.0, "max": 13000.0}
    row = {
        "engine": "other",
        "core": "cortex-m4f",
        "model": "net",
        "instructions": 30000,
        "arena_bytes": 5000,
    }
    for record in (result(), result(inference__latency_us=latency), ENERGY_RESULT, {"records": [row]}):
        yield b"r" + indented(record)


def results() -> Iterable[bytes]:
    files_of_results = list(json_results())
    yield from files_of_results
    yield b"rtime (ms),what\n500,door\n1500,door\n"
    yield from _changes(len(files_of_results))


def _changes(count: int) -> Iterable[bytes]:
    """Yield an input for each of ``count`` files that gives its lines 5 and 7 other values."""
    for number in range(count):
        yield bytes([128 + (number - 128) % count]) + b"\x05\x01" + b"7" + b"\x07\x04" + b"1e99"


FILE_CORPORA: dict[str, Callable[[], Iterable[bytes]]] = {"model_sources": model_sources, "results": results}
