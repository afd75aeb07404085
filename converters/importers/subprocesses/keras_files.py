"""Check Keras files before Keras reads them: their classes, the sizes that they state, and links to other files."""

import json
import math
import os
import shutil
import sys
import tempfile
import zipfile
from typing import Any

import h5py
import numpy as np
from keras_classes import ClassRefused, check_classes
from memory_limit import limited_loading
from protocol import Refusal
from size_limits import FREE_BYTES, HINT, MAX_WEIGHT_BYTES, max_expanded_bytes

#: The maximum size of the JSON that describes the model.
MAX_CONFIG_BYTES = 32 << 20

#: The maximum number of groups and datasets in an HDF5 file.
MAX_OBJECTS = 100_000

_DAMAGED = "Save or download the model again."

_WITHOUT_CLASSES = "Save the model with model.export() as a SavedModel, which needs no Python code."


def checked_config(source: Any, kind: Any) -> Any:
    """Return (version of Keras that saved the file, names of the classes in it, bytes of its arrays). The names are
    None if the file holds only weights.

    Raises ``Refusal`` for a class that may run code, for sizes beyond the limits, and for links to other files.
    """
    file_bytes = os.stat(source).st_size
    if file_bytes > MAX_WEIGHT_BYTES + FREE_BYTES:
        raise _too_large(source, "the file", file_bytes, MAX_WEIGHT_BYTES + FREE_BYTES)
    if kind == "keras":
        version, text, array_bytes = _archive_description(source, file_bytes)
    else:
        with h5py.File(source, "r") as file:
            array_bytes = _check_hdf5(source, file, file_bytes)
            version, text = file.attrs.get("keras_version", "2"), file.attrs.get("model_config")
    version, text = (v.decode() if isinstance(v, bytes) else v for v in (version, text))
    if text is None:
        return str(version), None, array_bytes
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
        return str(version), check_classes(config), array_bytes
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


def _archive_description(source: Any, file_bytes: Any) -> Any:
    """Return (version of Keras, JSON text that describes the model, bytes of the arrays) of a .keras file, after
    checking its weights."""
    array_bytes = 0
    with zipfile.ZipFile(source) as archive:
        limit = max_expanded_bytes(file_bytes)
        total = 0
        for member in archive.infolist():
            if member.filename.endswith(".json") and member.file_size > MAX_CONFIG_BYTES:
                raise _too_large(source, member.filename, member.file_size, MAX_CONFIG_BYTES)
            total += member.file_size
            if total > limit:
                raise _too_large(source, member.filename, total, limit)
        names = archive.namelist()
        if any(name.startswith("assets/") and name != "assets/" for name in names):
            raise Refusal(
                f"{source} has files for its layers ({next(n for n in names if n.startswith('assets/'))[:80]}), "
                "which are not read.",
                "Remove layers that look up words or numbers in a file: they do not run on a microcontroller.",
                "model",
            )
        if "model.weights.h5" in names:
            # The copy is on the disk, because the weights can be larger than the memory.
            with archive.open("model.weights.h5") as weights, tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(weights, copy, 1 << 20)
                try:
                    with h5py.File(copy, "r") as file:
                        array_bytes = _check_hdf5(source, file, file_bytes)
                except OSError as error:
                    raise Refusal(
                        f"The weights in {source} are damaged: {error}.", _DAMAGED, "model"
                    ) from error
        metadata = json.loads(archive.read("metadata.json"))
        version = metadata.get("keras_version", "3") if isinstance(metadata, dict) else "3"
        return str(version), archive.read("config.json").decode(), array_bytes


def _check_hdf5(source: Any, file: Any, file_bytes: Any) -> Any:
    """Return the bytes of all arrays. Raises ``Refusal`` for links to other files, and for arrays and attributes that
    are too large for a source of ``file_bytes``. No data is read.

    A dataset can be compressed or consist of a fill value, so the data can be larger than the file.
    """
    limit = max_expanded_bytes(file_bytes)
    total, visited, groups = 0, set(), [file["/"]]
    _check_attributes(source, file, limit)
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
            _check_attributes(source, item, limit)
            if isinstance(item, h5py.Group):
                groups.append(item)
            elif isinstance(item, h5py.Dataset):
                if item.external or item.is_virtual:
                    raise _other_file(source, name)
                # A compressed part is expanded as a whole, and can be larger than the array.
                count = max(item.size or 0, math.prod(item.chunks or ()) if item.chunks else 0)
                total += _stated_bytes(count, item.dtype, file_bytes)
                if total > limit:
                    raise _too_large(source, "its arrays", total, limit)
    return total


def _check_attributes(source: Any, item: Any, limit: Any) -> None:
    """Raise ``Refusal`` if an attribute of ``item`` would take more than ``limit`` bytes."""
    for name in item.attrs:
        attribute = item.attrs.get_id(name)
        if attribute.shape is None:  # an attribute without a value
            continue
        if attribute.dtype.hasobject:
            size = _text_bytes(source, item, name)
        else:
            size = math.prod(attribute.shape) * attribute.dtype.itemsize
        if size > limit:
            raise _too_large(source, f"its attribute '{name}'", size, limit)


def _text_bytes(source: Any, item: Any, name: Any) -> Any:
    """Return the bytes of the texts in the attribute ``name`` of ``item``, such as the names of all layers.

    Each of several texts can be the same long text in the file, so their size is known only after they were read. The
    memory for this is limited. Raises ``Refusal`` if the texts do not fit.
    """
    try:
        with limited_loading(0):
            values = item.attrs[name]
            return sum(map(sys.getsizeof, values.flat if isinstance(values, np.ndarray) else [values]))
    except (OSError, MemoryError) as error:
        raise Refusal(
            f"{source}: its attribute '{name[:80]}' is damaged, or takes more memory than the size of the file "
            "explains.",
            HINT,
            "model",
        ) from error


def _stated_bytes(count: Any, dtype: Any, file_bytes: Any) -> Any:
    """Return the maximum number of bytes that ``count`` values of ``dtype`` take. Each of several texts can be the same
    text of almost ``file_bytes`` in the file."""
    return count * (file_bytes if dtype.hasobject else dtype.itemsize)


def _other_file(source: Any, name: Any) -> Any:
    return Refusal(
        f"The weights '{name[:80]}' of {source} are in another file, which is not read.",
        "Save the model again, as one file.",
        "model",
    )


def _too_large(source: Any, part: Any, size: Any, limit: Any) -> Any:
    return Refusal(
        f"{source}: {part[:80]} would take {size:,} bytes of memory; the limit is {limit:,}.",
        HINT,
        "model",
    )
