"""Open a model for the camera loop: its file, its tensors, its preprocessing and its postprocessing.

Several places may describe these steps. The first place that has a description is used: the options, the record that
Arenite writes into a converted model, the author's TFLite Metadata in the file, the zoo's entry for this file. If there
is no description, the steps of an earlier version of the model apply, if there is one with the same shapes. Otherwise
the steps are guessed from the tensors. A note says so.
"""

from __future__ import annotations

import hashlib
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.postprocessing import KEY as POST_KEY
from arenite.converters.processing.post.postprocessing import Postprocessing, load_postprocessing
from arenite.converters.processing.specification.image_steps import ImageSource
from arenite.converters.processing.specification.preprocessing import (
    KEY,
    Normalize,
    Preprocessing,
    load_preprocessing,
)
from arenite.errors import ModelError, UsageError
from arenite.host.camera.model import tensor_heuristics, tflite_metadata
from arenite.host.camera.model.tflite_header import ModelHeader, read_header
from arenite.input_files import check_is_file, parse_json
from arenite.models import picture_models as pictures

#: The name of the metadata entry that ``converters.image`` writes into a converted model. That module is not imported,
#: because it would slow down the start.
_IMAGE = "arenite"
_SUFFIXES = (".tflite", ".onnx")
#: The first words of the tasks of zoo models that do not take pictures.
_NO_PICTURES = ("keyword", "wake word", "anomaly", "gesture", "language model")


@dataclass(frozen=True)
class CameraModel:
    """A model, and all facts about it that the loop needs. ``preprocessing`` ends with the quantization of the first
    input. ``notes`` are sentences about assumptions."""

    name: str
    path: Path
    sha256: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    preprocessing: Preprocessing
    postprocessing: Postprocessing | None  # None for the default of ``AnswerReader``
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: Whether the model takes pictures of any size. The runtime must then be set to the size of ``inputs``.
    any_size: bool = False


def open_model(
    name_or_path: str,
    *,
    preprocessing: Path | None = None,
    postprocessing: Path | None = None,
    labels: Path | None = None,
    previous: CameraModel | None = None,
) -> CameraModel:
    """Open and return the model of a file, or a model of the zoo by its name or alias. A zoo model is downloaded once.

    Only the few fields that the loop needs are read; the runtime loads the rest.

    Args:
        name_or_path: a ``.tflite`` or ``.onnx`` file, or a name of the zoo such as ``blazeface``.
        preprocessing: a TOML or JSON file that replaces the recorded steps.
        postprocessing: a TOML or JSON file that replaces the recorded steps.
        labels: a text file with one label per line.
        previous: an earlier version of the model.

    Raises:
        UsageError: there is no such file or name, the model does not take pictures, or the steps or labels do not fit
            it.
        ModelError: the file is not a model.
        ToolError: the download failed.
    """
    file = _find_file(name_or_path)
    if file.path.suffix.lower() == ".onnx":
        from arenite.host.camera.model.onnx_header import read_onnx

        header = read_onnx(file.data, file.path.name)
    else:
        header = read_header(file.data, (_IMAGE, tflite_metadata.NAME), file.path.name)
    if not header.inputs or not header.outputs:
        raise ModelError(
            f"{file.path.name} has no inputs or no outputs.", "Give a model that takes a picture."
        )
    facts = _ModelFacts(file, header, previous)
    notes: list[str] = []
    first = tensor_heuristics.usable_input(header.inputs[0], notes)
    steps_before = load_preprocessing(preprocessing) if preprocessing else facts.preprocessing(first, notes)
    if not isinstance(steps_before.source, ImageSource):
        raise UsageError(f"{file.name} takes sound, not pictures.", "Give a model that takes a picture.")
    steps_before = steps_before.bound(first)
    tensor_heuristics.check_size(steps_before, first)
    any_size = tensor_heuristics.sides(first)[:2] == (1, 1)
    if any_size:
        first = tensor_heuristics.input_with_size(first, steps_before)
    names = _read_labels(labels) if labels else facts.labels()
    steps_after = (
        load_postprocessing(postprocessing) if postprocessing else facts.postprocessing(names, notes)
    )
    if steps_after is not None and steps_after.steps[0].do == "mask" and len(names) == 1:
        names = ("background", *names)  # a mask of one channel has two classes
    return CameraModel(
        name=file.name,
        path=file.path,
        sha256=file.sha256,
        inputs=(first, *header.inputs[1:]),
        outputs=header.outputs,
        preprocessing=steps_before,
        postprocessing=steps_after,
        labels=names,
        notes=tuple(notes),
        any_size=any_size,
    )


@dataclass(frozen=True)
class _File:
    """A model file that is mapped into memory. ``name`` is the model's name for display."""

    path: Path
    name: str
    data: memoryview
    sha256: str


def _map_file(path: Path, name: str) -> _File:
    """Map the file into memory, and return it with its SHA-256. A runtime that also maps the file shares the pages."""
    try:
        check_is_file(path)
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError as error:
        raise ModelError(f"{path} is empty.", "Get the file again.") from error
    except OSError as error:
        raise UsageError(
            f"Cannot read {path}: {error.strerror}.", "Give a .tflite or .onnx file, or a name of the zoo."
        ) from error
    return _File(path, name, data, hashlib.sha256(data).hexdigest())


def _find_file(name_or_path: str) -> _File:
    path = Path(name_or_path).expanduser()
    if path.suffix.lower() == ".gguf":
        raise UsageError(
            f"{path.name} is a language model, which takes no pictures.",
            "Let it describe the answers of another model: `arenite serve` it, and give the address with --describe.",
        )
    if path.suffix.lower() in _SUFFIXES or path.is_file():
        return _map_file(path, path.stem)
    model = pictures.picture_model_by_name(name_or_path)
    if model is not None:
        cached = pictures.cached_model_path(model.name, model.sha256)
        if cached.is_file() and (file := _map_file(cached, model.name)).sha256 == model.sha256:
            return file
    # This imports the downloader, which takes time.
    from arenite.models import zoo

    item = zoo.zoo_entry(name_or_path)
    if item.task.startswith(_NO_PICTURES):
        raise UsageError(
            f"The zoo's {item.name} takes no pictures (task: {item.task}).",
            f"Choose a model for pictures: {', '.join(m.aliases[0] for m in pictures.picture_models() if m.zoo)}.",
        )
    return _map_file(zoo.fetch(item.name), item.name)


class _ModelFacts:
    """The steps and labels that the file and the zoo record for a model. A source of facts is None if there is none:
    ``_metadata`` is the TFLite Metadata, ``_zoo_record`` the zoo's entry for this file, ``_ultralytics`` the
    metadata of Ultralytics' exporter, and ``_previous`` an earlier version of the model."""

    def __init__(self, file: _File, header: ModelHeader, previous: CameraModel | None) -> None:
        self._file, self._header, self._previous = file, header, previous
        self._extra = _image_extra(header)
        self._metadata = tflite_metadata.read_metadata(header.metadata.get(tflite_metadata.NAME, b""))
        self._zoo_record = pictures.picture_model_by_hash(file.sha256)
        self._ultralytics = None
        if self._zoo_record is None:
            from arenite.host.camera.model.ultralytics_metadata import read_ultralytics_metadata

            self._ultralytics = read_ultralytics_metadata(file.path, file.data, header.metadata)

    def preprocessing(self, first: Tensor, notes: list[str]) -> Preprocessing:
        if KEY in self._extra:
            return Preprocessing.from_json(self._extra[KEY], "The model's recorded preprocessing")
        known = None
        if self._zoo_record is not None:
            known = Preprocessing.from_json(self._zoo_record.preprocessing, self._zoo_record.name)
        elif self._previous is not None and self._previous.inputs[0].shape == first.shape:
            known = self._previous.preprocessing.real
        if self._metadata is not None and self._metadata.mean:
            normalization = Normalize(1.0, self._metadata.mean, self._metadata.std)
            # The metadata does not say how a picture is resized to the input.
            return tensor_heuristics.preprocessing(first, normalization, known)
        if known is None and self._ultralytics is not None:
            known = self._ultralytics.preprocessing(*tensor_heuristics.sides(first)[:2])
        if known is not None and self._zoo_record is None and self._ultralytics is None:
            notes.append("The file records no preprocessing, so the steps of the version before apply.")
        return known or tensor_heuristics.preprocessing(
            first, tensor_heuristics.guess_normalization(first, notes)
        )

    def postprocessing(self, names: tuple[str, ...], notes: list[str]) -> Postprocessing | None:
        if POST_KEY in self._extra:
            return Postprocessing.from_json(self._extra[POST_KEY], "The model's recorded postprocessing")
        if self._zoo_record is not None:
            return Postprocessing.from_json(self._zoo_record.postprocessing, self._zoo_record.name)
        if self._ultralytics is not None:
            exported_steps = self._ultralytics.postprocessing(self._header.outputs)
            if exported_steps is not None:
                return exported_steps
        previous = self._previous
        if previous is not None and _shapes(previous.outputs) == _shapes(self._header.outputs):
            return previous.postprocessing
        return tensor_heuristics.postprocessing(
            self._header.outputs, self._header.detections, len(names), notes
        )

    def labels(self) -> tuple[str, ...]:
        recorded = self._extra.get("labels")
        if isinstance(recorded, list):
            return tuple(map(str, recorded))
        if self._ultralytics is not None:
            return self._ultralytics.names
        files = self._metadata.files if self._metadata is not None else ()
        packed = tflite_metadata.archived_labels(self._file.path, self._file.data, files)
        if packed or self._zoo_record is not None:
            return packed or (self._zoo_record.labels if self._zoo_record is not None else ())
        previous = self._previous
        same = previous is not None and _shapes(previous.outputs) == _shapes(self._header.outputs)
        return previous.labels if previous is not None and same else ()


def _shapes(tensors: tuple[Tensor, ...]) -> list[tuple[int, ...]]:
    return [tensor.shape for tensor in tensors]


def _read_labels(path: Path) -> tuple[str, ...]:
    from arenite.host.build.attachments import read_labels

    return read_labels(path)


def _image_extra(header: ModelHeader) -> dict[str, Any]:
    """Return the entries of ``extra`` in the record of a model that Arenite converted; {} for other files."""
    try:
        record = parse_json(header.metadata.get(_IMAGE, b"{}"))
    except ValueError:
        return {}
    extra = record.get("extra") if isinstance(record, dict) else None
    return extra if isinstance(extra, dict) else {}
