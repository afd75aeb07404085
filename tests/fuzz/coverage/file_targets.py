"""Fuzz targets of source models, which are read before a framework starts, and of results of other commands."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

Target = Callable[[bytes], None]


def model_sources() -> Target:
    """The checks of source models before a framework starts. The first byte is the format, and the rest is the
    file, or the JSON text in its archive. A first byte of 128 or more changes values in the JSON text of a valid file.
    """
    from arenite.converters.importers.source_kinds import source_kind
    from arenite.converters.quantize.recipes.recipe import load_recipe
    from arenite.errors import AreniteError
    from arenite.host.build.attachments import Attachments
    from arenite.host.conversion.preflight import check_before_import
    from arenite.host.conversion.request import ConversionRequest
    from tests.fuzz.coverage.file_corpora import json_sources
    from tests.fuzz.coverage.input_file import InputFile
    from tests.fuzz.coverage.input_parts import archive, with_changed_values

    recipe, labels = load_recipe("int8"), Attachments(labels=("a", "b", "c"))
    kept = TemporaryDirectory()
    folder = Path(kept.name)
    saved_model = folder / "saved_model"
    saved_model.mkdir()
    valid = [seed.split(b"\n") for seed in json_sources()]
    archives = {
        b"k": (InputFile(".keras"), "config.json", "metadata.json"),
        b"t": (InputFile(".pt2"), "net/models/model.json", "net/archive_format"),
    }
    graph, hdf5, onnx = InputFile(path=saved_model / "saved_model.pb"), InputFile(".h5"), InputFile(".onnx")

    def path_of(kind: bytes, content: bytes) -> Path:
        if kind in archives:
            file, member, other = archives[kind]
            return file.write(archive({member: content, other: b"{}"}))
        if kind == b"s":
            graph.write(content)
            return saved_model
        return (hdf5 if kind == b"h" else onnx).write(content)

    def run(data: bytes) -> None:
        assert kept.name  # this reference keeps the folder
        if data[:1] >= b"\x80":
            data = with_changed_values(valid[data[0] % len(valid)], data[1:])
        path = str(path_of(data[:1], data[1:]))
        if data[5:9] == b"TFL3":
            with contextlib.suppress(AreniteError):
                if source_kind(path).startswith("tflite"):
                    return  # a small one would be quantized, and target tflite_reader covers its reader
        for request in (
            ConversionRequest(path),
            ConversionRequest(path, calibration=Path("random"), attachments=labels, pixels="0..1"),
        ):
            with contextlib.suppress(AreniteError):
                check_before_import(request, recipe)

    return run


def results() -> Target:
    """JSON results of earlier commands, baselines, and CSV files of times. A first byte of 128 or more changes values
    in a valid file."""
    from arenite.errors import AreniteError
    from arenite.host.bench.compare import compare, read_baseline
    from arenite.host.bench.store.changes import RegressionRules, changes, layer_changes
    from arenite.host.bench.store.history import named_run
    from arenite.host.duty.files import latency_of_bench, latency_of_energy, power_of_energy, trace_times
    from tests.fuzz.coverage.file_corpora import json_results
    from tests.fuzz.coverage.input_parts import with_changed_values

    kept = TemporaryDirectory()
    path = Path(kept.name) / "input.json"
    valid = [seed.split(b"\n") for seed in json_results()]
    path.write_bytes(b"\n".join(valid[0])[1:])
    ours, stored = json.loads(path.read_bytes()), named_run(str(path), path)

    def compared() -> None:
        run = named_run(str(path), path)
        for old, new in ((run, stored), (stored, run)):
            changes([old], new, RegressionRules())
            layer_changes(old, new)

    def run(data: bytes) -> None:
        assert kept.name  # this reference keeps the folder
        if data[:1] >= b"\x80":
            data = with_changed_values(valid[data[0] % len(valid)], data[1:])
        path.write_bytes(data[1:])
        for read in (
            lambda: compare(ours, read_baseline(path)),
            lambda: latency_of_bench(path),
            lambda: latency_of_energy(path),
            lambda: power_of_energy(path),
            lambda: trace_times(path),
            compared,
        ):
            with contextlib.suppress(AreniteError):
                read()

    return run


FILE_TARGETS: dict[str, Callable[[], Target]] = {"model_sources": model_sources, "results": results}
