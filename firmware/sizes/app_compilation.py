"""Predict an application by compiling its sources, where the stored table is not enough."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from arenite.errors import ToolError
from arenite.firmware.app.update_parts import MANIFEST_ENTRY
from arenite.firmware.boards.cores import core_named
from arenite.firmware.sizes.app_prediction import AppPrediction, predict_app, prediction_of
from arenite.firmware.sizes.app_table import AppFolder
from arenite.firmware.sizes.measure import compile_units, library_of
from arenite.firmware.sizes.object_files import ObjectSet, read_objects
from arenite.profiles.boards import Board, load_board


def predict_any_app(path: Path) -> AppPrediction:
    """Return the predicted sizes of the application in ``path``.

    If the board's compiler is installed, all sources are compiled outside ``path``, and their sizes are those of the
    object files; nothing is linked. Otherwise, or if a source does not compile, they are those of ``predict_app``. The
    stored sizes of generated functions do not depend on the numbers in their text, as those of the compiler may.

    Raises ``UsageError`` if there is neither a compiler nor a table for the board, and ``ToolError`` if an application
    with updates does not compile.
    """
    folder = AppFolder.read(path)
    board = load_board(folder.manifest["board"])
    if "build" not in folder.manifest or not has_compiler(board):  # the tools of a real board build it
        return predict_app(path)
    with tempfile.TemporaryDirectory(prefix="arenite-sizes-") as name:
        copy = Path(name) / "app"
        for part in ("src", "lib"):
            shutil.copytree(path / part, copy / part, ignore_dangling_symlinks=True)
        try:
            objects = _compiled(replace(folder, path=copy), board)
        except subprocess.CalledProcessError as error:  # the compiler has printed why
            if MANIFEST_ENTRY in folder.manifest:  # the table has no sizes of updates
                raise ToolError(
                    f"The application in {path} does not compile.", f"Run `arenite build {path}`."
                ) from error
            return predict_app(path)
    return prediction_of(folder, objects, (), "measured" if folder.is_edited else "shipped")


def has_compiler(board: Board) -> bool:
    """Return whether the compiler for ``board`` is installed."""
    return shutil.which(f"{core_named(board.core).prefix}gcc") is not None


def _compiled(folder: AppFolder, board: Board) -> ObjectSet:
    """Return the sections of all sources, with those of the compiler's routines."""
    build = dict(folder.manifest["build"])
    paths = compile_units(build, build["units"], folder.path)
    generated = {source for source in paths if folder.is_generated(source)}
    own = read_objects({Path(source).name: obj for source, obj in paths.items()})
    labels = {Path(source).name for source in generated}
    names = {node: f"generated:{node}" for node in own.sections if node.split(":", 1)[0] in labels}
    library = library_of(board.core)
    return ObjectSet(
        {
            **library.sections,
            **{
                names.get(node, node): replace(s, refs=tuple(names.get(r, r) for r in s.refs))
                for node, s in own.sections.items()
            },
        },
        {**library.symbols, **{symbol: names.get(node, node) for symbol, node in own.symbols.items()}},
    )
