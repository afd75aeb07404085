"""Open a model on a runtime that is given by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from arenite.errors import AreniteError, UsageError
from arenite.host.camera.runtimes.base import Runtime
from arenite.host.camera.runtimes.catalogue import DELEGATE, INTERPRETER, LITERT, NAMES, ONNX, model_kind

if TYPE_CHECKING:
    from arenite.host.camera.runtimes.runtime_choice import RuntimeChoice


def open_runtime(
    path: Path,
    name: str = "auto",
    *,
    threads: int = 1,
    slots: int = 1,
    options: Mapping[str, str] | None = None,
    measure: bool = False,
    trial: bool = False,
) -> Runtime:
    """Open the model at ``path`` on the runtime ``name``: one of ``NAMES``, ``delegate:LIBRARY.so,option=value,...``,
    or ``auto``.

    ``auto`` uses the runtime that ``choose_runtime`` chose earlier for this file on this device. If ``measure`` is
    True, ``choose_runtime`` chooses now. If there is no choice, the CPU runtime of LiteRT or ONNX Runtime is used with
    ``threads`` threads. If ``name`` is a delegate and ``measure`` is True, the delegate is compared with all other
    runtimes, and used if it is faster. If the chosen runtime can no longer be opened (an accelerator may have been
    unplugged), the CPU is used and ``notes`` says so. The class of each runtime lists its ``options``; every runtime
    has the option ``input``, a shape such as 1x192x192x3.

    If ``trial`` is True, a file that has not run on this device before first runs in a separate process, so that a
    model that crashes the runtime only raises an error here (``require_trial_run``).

    Raises ``UsageError`` for a name or file that cannot work, ``ModelError`` for a damaged or unsupported model, and
    ``ToolError`` if a vendor's library cannot be loaded.
    """
    path = Path(path)
    if threads < 1 or slots < 1:
        raise UsageError(
            f"A runtime cannot have {threads} threads and {slots} slots.", "Give 1 or more for both."
        )
    runtime_options = dict(options or {})
    kind = model_kind(path)
    delegate = name.startswith(DELEGATE)
    cpu = "onnx-cpu" if kind == "onnx" else "litert-cpu"
    automatic = name == "auto" or (delegate and measure)
    if automatic:
        name, threads = _automatic_choice(
            path, cpu, threads, runtime_options, measure, (name,) if delegate else ()
        )
    try:
        return _open_named(path, kind, name, threads, slots, runtime_options, trial)
    except AreniteError as error:
        if not automatic or name == cpu:
            raise
        runtime = _open_named(path, kind, cpu, threads, slots, runtime_options, trial)
        runtime.notes += (
            f"{name}, which was the best runtime here, is not available ({error.problem}); {cpu} is used instead.",
        )
        return runtime


def _open_named(
    path: Path,
    kind: str,
    name: str,
    threads: int,
    slots: int,
    runtime_options: Mapping[str, str],
    trial: bool,
) -> Runtime:
    _check_name(name, kind, path)
    if name not in ONNX:
        from arenite.host.camera.runtimes.tflite_check import check_tflite_file

        check_tflite_file(path)
    if trial:
        from arenite.host.camera.runtimes.trial_run import require_trial_run

        require_trial_run(path, name, threads, runtime_options)
    if name in ONNX:
        from arenite.host.camera.runtimes.onnx import OnnxSession

        return OnnxSession(path, name, threads, slots, runtime_options)

    if name not in LITERT:
        return _open_interpreter(path, name, threads, slots, runtime_options)
    from arenite.host.camera.runtimes.litert import CompiledModel

    try:
        return CompiledModel(path, name, threads, slots, runtime_options)
    except OSError as error:
        if name != "litert-cpu":
            raise UsageError(
                f"{name} needs LiteRT's C library: {error}.",
                "Install a newer one: pip install -U ai-edge-litert",
            ) from error
        runtime = _open_interpreter(path, INTERPRETER, threads, slots, runtime_options)
        runtime.notes += (f"litert-cpu is not available ({error}); {INTERPRETER} is used instead.",)
        return runtime


def _open_interpreter(path: Path, name: str, threads: int, slots: int, options: Mapping[str, str]) -> Runtime:
    from arenite.host.camera.runtimes.stock_interpreter import StockInterpreter

    delegate = name.removeprefix(DELEGATE) if name.startswith(DELEGATE) else ""
    return StockInterpreter(path, name, threads, slots, options, delegate)


def _check_name(name: str, kind: str, path: Path) -> None:
    if name not in NAMES and not name.startswith(DELEGATE):
        near = difflib.get_close_matches(name, NAMES, 2, 0.4)
        hint = (
            f"Did you mean {' or '.join(near)}?"
            if near
            else f"Use one of {', '.join(NAMES)}, delegate:LIBRARY.so."
        )
        raise UsageError(f"There is no runtime '{name}'.", hint)
    if (name in ONNX) != (kind == "onnx"):
        needs = "an ONNX model" if name in ONNX else "a TFLite model"
        raise UsageError(
            f"Runtime {name} needs {needs}, but {path} is {kind}.", "Convert it, or use --runtime auto."
        )


def _automatic_choice(
    path: Path, cpu: str, threads: int, options: Mapping[str, str], measure: bool, delegates: tuple[str, ...]
) -> tuple[str, int]:
    """Return the name and the number of threads of the runtime that ``auto`` uses."""
    choice: RuntimeChoice | None
    if measure:
        from arenite.host.camera.runtimes.runtime_selection import choose_runtime

        choice = choose_runtime(path, options=options, delegates=delegates)
    else:
        from arenite.host.camera.runtimes.selection_cache import load_choice

        choice = load_choice(path, options=options)
    if choice is not None:
        return choice.name, choice.threads
    return cpu, threads
