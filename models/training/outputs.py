"""The outputs of a training: one file or SavedModel folder per format, written atomically."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import write_atomic

#: Ending of an output to the environment that writes it; "" is a SavedModel folder, ".tflite" is made by the importer.
WRITERS = {
    ".keras": "tensorflow",
    ".h5": "tensorflow",
    "": "tensorflow",
    ".tflite": "tensorflow",
    ".pt2": "torch",
}


def check_outputs(outputs: Sequence[Path]) -> None:
    """Raise ``UsageError``, before the training, for an unknown format or a path that is already in use."""
    for path in outputs:
        if path.suffix.lower() not in WRITERS:
            raise UsageError(
                f"A model cannot be written as '{path.suffix}'.",
                f"The endings are {', '.join(s for s in WRITERS if s)}; without one the output is a SavedModel folder.",
            )
        saved_model = path.suffix == ""
        if path.exists() and path.is_dir() != saved_model:
            kind = "a folder" if path.is_dir() else "a file"
            raise UsageError(f"{path} is already {kind}.", "Give another name with -o.")
        if saved_model and path.is_dir() and any(path.iterdir()) and not (path / "saved_model.pb").is_file():
            raise UsageError(f"{path} is a folder with other things in it.", "Give a new folder with -o.")


def write_output(made: Path, target: Path) -> None:
    """Copy ``made``, a file or a folder, to ``target``, which appears complete or not at all.

    Raises ``UsageError``.
    """
    if made.is_file():
        write_atomic(target, made.read_bytes())
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            shutil.copytree(made, Path(folder) / "new")
            if target.exists():
                os.replace(target, Path(folder) / "old")
            os.replace(Path(folder) / "new", target)
    except OSError as error:
        raise UsageError(
            f"Cannot write {target}: {error.strerror or error}.",
            "Give a path in a folder that you may write to.",
        ) from error
