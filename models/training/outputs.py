"""Write the output files of a training (models in several formats) atomically. A SavedModel is a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import write_atomic

#: The environment that writes an output, by suffix. "" stands for a SavedModel folder. The importer writes ".tflite"
#: files in its environment.
WRITERS = {
    ".keras": "tensorflow",
    ".h5": "tensorflow",
    "": "tensorflow",
    ".tflite": "tensorflow",
    ".pt2": "torch",
}


def check_outputs(outputs: Sequence[Path]) -> None:
    """Raise ``UsageError`` for an output of an unknown format, and for a path that must not be overwritten. The
    training calls this before it starts."""
    for path in outputs:
        if path.suffix.lower() not in WRITERS:
            raise UsageError(
                f"A model cannot be written as '{path.suffix}'.",
                f"The suffixes are {', '.join(s for s in WRITERS if s)}; without a suffix, the output is a "
                "SavedModel folder.",
            )
        saved_model = path.suffix == ""
        if path.exists() and path.is_dir() != saved_model:
            kind = "a folder" if path.is_dir() else "a file"
            raise UsageError(f"{path} is already {kind}.", "Give another name with -o.")
        if saved_model and path.is_dir() and any(path.iterdir()) and not (path / "saved_model.pb").is_file():
            raise UsageError(f"{path} is a folder with other files in it.", "Give a new folder with -o.")


def write_output(source: Path, target: Path) -> None:
    """Copy the file or folder ``source`` to ``target``. If the copy fails, ``target`` does not change.

    Raises ``UsageError`` if ``target`` cannot be written.
    """
    if source.is_file():
        write_atomic(target, source.read_bytes())
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            shutil.copytree(source, Path(folder) / "new")
            if target.exists():
                os.replace(target, Path(folder) / "old")
            os.replace(Path(folder) / "new", target)
    except OSError as error:
        raise UsageError(
            f"Cannot write {target}: {error.strerror or error}.",
            "Give a path in a folder that you may write to.",
        ) from error
