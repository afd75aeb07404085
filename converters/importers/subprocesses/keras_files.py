"""Check Keras files before Keras reads them: their classes, the sizes that they state, and links to other files."""

import io
import json
import zipfile
from typing import Any

import h5py
from keras_classes import ClassRefused, check_classes
from protocol import Refusal

#: The maximum size of the weights, and of the JSON that describes the model. (The largest boards have 32 MB of memory.)
MAX_WEIGHT_BYTES = 1 << 30
MAX_CONFIG_BYTES = 32 << 20

#: The maximum number of groups and datasets in an HDF5 file.
MAX_OBJECTS = 100_000

_DAMAGED = "Save or download the model again."

_WITHOUT_CLASSES = "Save the model with model.export() as a SavedModel, which needs no Python code."


def checked_config(source: Any, kind: Any) -> Any:
    """Return (version of Keras that saved the file, names of the classes in it). The names are None if the file holds
    only weights.

    Raises ``Refusal`` for a class that may run code, for sizes beyond the limits, and for links to other files.
    """
    if kind == "keras":
        version, text = _archive_description(source)
    else:
        with h5py.File(source, "r") as file:
            _check_hdf5(source, file)
            version, text = file.attrs.get("keras_version", "2"), file.attrs.get("model_config")
    version, text = (v.decode() if isinstance(v, bytes) else v for v in (version, text))
    if text is None:
        return str(version), None
    if len(text) > MAX_CONFIG_BYTES:
        raise _too_large(source, "the description of the model", len(text), MAX_CONFIG_BYTES)
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refusal(
            f"The description of the model in {source} is not valid JSON: {error}.", _DAMAGED, "model"
        ) from error
    # Keras does not read the training settings, because the model is loaded without them.
    if isinstance(config, dict):
        config = {k: v for k, v in config.items() if k != "compile_config"}
    try:
        return str(version), check_classes(config)
    except ClassRefused as refused:
        if refused.name.strip("_").lower() == "lambda":
            raise Refusal(
                f"{source} has a Lambda layer with Python code in it, which is not run.",
                _WITHOUT_CLASSES,
                "model",
            ) from refused
        raise Refusal(
            f"{source} uses the class '{refused.name[:80]}', which is not among the Keras classes that are loaded "
            "from files.",
            _WITHOUT_CLASSES,
            "model",
        ) from refused


def _archive_description(source: Any) -> Any:
    """Return (version of Keras, JSON text that describes the model) of a .keras file, after checking its weights."""
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            limit = MAX_CONFIG_BYTES if member.filename.endswith(".json") else MAX_WEIGHT_BYTES
            if member.file_size > limit:
                raise _too_large(source, member.filename, member.file_size, limit)
        names = archive.namelist()
        if any(name.startswith("assets/") and name != "assets/" for name in names):
            raise Refusal(
                f"{source} has files for its layers ({next(n for n in names if n.startswith('assets/'))[:80]}), "
                "which are not read.",
                "Remove layers that look up words or numbers in a file: they do not run on a microcontroller.",
                "model",
            )
        if "model.weights.h5" in names:
            try:
                with h5py.File(io.BytesIO(archive.read("model.weights.h5")), "r") as file:
                    _check_hdf5(source, file)
            except OSError as error:
                raise Refusal(f"The weights in {source} are damaged: {error}.", _DAMAGED, "model") from error
        metadata = json.loads(archive.read("metadata.json"))
        version = metadata.get("keras_version", "3") if isinstance(metadata, dict) else "3"
        return str(version), archive.read("config.json").decode()


def _check_hdf5(source: Any, file: Any) -> None:
    """Raise ``Refusal`` for links to other files and for more than ``MAX_WEIGHT_BYTES`` of data. No data is read.

    A dataset can be compressed, so the data can be larger than the file.
    """
    total, visited, groups = 0, set(), [file["/"]]
    while groups:
        group = groups.pop()
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                raise _other_file(source, name)
            item = group.get(name)
            if item is None:  # a link that leads nowhere
                continue
            address = h5py.h5o.get_info(item.id).addr
            if address in visited:
                continue
            visited.add(address)
            if len(visited) > MAX_OBJECTS:
                raise Refusal(f"{source} has more than {MAX_OBJECTS:,} groups and arrays.", _DAMAGED, "model")
            if isinstance(item, h5py.Group):
                groups.append(item)
            elif isinstance(item, h5py.Dataset):
                if item.external or item.is_virtual:
                    raise _other_file(source, name)
                total += item.nbytes
                if total > MAX_WEIGHT_BYTES:
                    raise _too_large(source, "its arrays", total, MAX_WEIGHT_BYTES)


def _other_file(source: Any, name: Any) -> Any:
    return Refusal(
        f"The weights '{name[:80]}' of {source} are in another file, which is not read.",
        "Save the model again, as one file.",
        "model",
    )


def _too_large(source: Any, part: Any, size: Any, limit: Any) -> Any:
    return Refusal(
        f"{source}: {part[:80]} would take {size:,} bytes of memory; the limit is {limit:,}.",
        "Give a smaller model. A file that states such a size is damaged, or made to exhaust the memory.",
        "model",
    )
