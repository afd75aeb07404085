"""Open a model on a runtime by name; say which runtimes this computer has."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arenite.errors import AreniteError, UsageError
from arenite.host.camera.runtimes.base import Runtime

if TYPE_CHECKING:
    from arenite.host.camera.runtimes.runtime_choice import RuntimeChoice

LITERT = ("litert-cpu", "litert-gpu", "litert-npu")
INTERPRETER = "litert-interpreter"
DELEGATE = "delegate:"
ONNX = ("onnx-cpu", "onnx-cuda", "onnx-tensorrt", "onnx-qnn", "onnx-nnapi", "onnx-coreml")
NAMES = (*LITERT, INTERPRETER, *ONNX)
_GPU_LIBRARY = "libLiteRtWebGpuAccelerator"


def open_runtime(
    path: Path,
    name: str = "auto",
    *,
    threads: int = 1,
    slots: int = 1,
    options: Mapping[str, str] | None = None,
    measure: bool = False,
) -> Runtime:
    """The model at ``path`` on runtime ``name``: one of ``NAMES``, ``delegate:LIBRARY.so,option=value,...``, or
    ``auto``.

    ``auto`` is what ``choose_runtime`` found on this device earlier for this very file, or found now with ``measure``;
    otherwise LiteRT's or ONNX Runtime's CPU, which costs nothing to know. ``threads`` then holds unless the choice
    says otherwise. A delegate with ``measure`` is measured beside all others, and taken where it gains. A choice that
    can no longer be opened, such as an accelerator that was unplugged, gives way to the CPU, which ``notes`` says.
    ``options``: see the runtimes; ``input=1x192x192x3`` is known to all.

    Raises ``UsageError`` for a name or file that cannot work, ``ModelError`` for a damaged or unsupported model,
    ``ToolError`` when a vendor's library does not load.
    """
    path = Path(path)
    if threads < 1 or slots < 1:
        raise UsageError(f"{threads} threads and {slots} slots make no runtime.", "Give 1 or more of each.")
    runtime_options = dict(options or {})
    kind = model_kind(path)
    delegate = name.startswith(DELEGATE)
    cpu = "onnx-cpu" if kind == "onnx" else "litert-cpu"
    automatic = name == "auto" or (delegate and measure)
    if automatic:
        name, threads = _automatic(path, cpu, threads, runtime_options, measure, (name,) if delegate else ())
    try:
        return _open_named(path, kind, name, threads, slots, runtime_options)
    except AreniteError as error:
        if not automatic or name == cpu:
            raise
        made = _open_named(path, kind, cpu, threads, slots, runtime_options)
        made.notes += (
            f"{name}, which was the best one here, cannot be had ({error.problem}): {cpu} runs instead.",
        )
        return made


def _open_named(
    path: Path, kind: str, name: str, threads: int, slots: int, runtime_options: Mapping[str, str]
) -> Runtime:
    _check_name(name, kind, path)
    if name in ONNX:
        from arenite.host.camera.runtimes.onnx import OnnxSession

        return OnnxSession(path, name, threads, slots, runtime_options)

    from arenite.host.camera.runtimes.tflite_check import check_tflite_file

    check_tflite_file(path)
    if name not in LITERT:
        return _stock(path, name, threads, slots, runtime_options)
    from arenite.host.camera.runtimes.litert import CompiledModel

    try:
        return CompiledModel(path, name, threads, slots, runtime_options)
    except OSError as error:
        if name != "litert-cpu":
            raise UsageError(
                f"{name} needs LiteRT's C library: {error}.",
                "Install a newer one: pip install -U ai-edge-litert",
            ) from error
        made = _stock(path, INTERPRETER, threads, slots, runtime_options)
        made.notes += (f"litert-cpu is not to be had ({error}): the stock interpreter runs instead.",)
        return made


def _stock(path: Path, name: str, threads: int, slots: int, options: Mapping[str, str]) -> Runtime:
    from arenite.host.camera.runtimes.stock_interpreter import StockInterpreter

    delegate = name.removeprefix(DELEGATE) if name.startswith(DELEGATE) else ""
    return StockInterpreter(path, name, threads, slots, options, delegate)


def model_kind(path: Path) -> str:
    """``tflite`` or ``onnx``. Raises ``UsageError`` when there is no such file or it is neither."""
    if not path.is_file():
        raise UsageError(
            f"There is no model file {path}.", "Check the path; `arenite zoo list` names models."
        )
    if path.suffix == ".onnx":
        return "onnx"
    with path.open("rb") as file:
        if file.read(8)[4:] == b"TFL3" or path.suffix in (".tflite", ".lite"):
            return "tflite"
    raise UsageError(f"{path} is neither a TFLite nor an ONNX model.", "Convert it first: arenite convert")


def _check_name(name: str, kind: str, path: Path) -> None:
    if name not in NAMES and not name.startswith(DELEGATE):
        near = difflib.get_close_matches(name, NAMES, 2, 0.4)
        hint = (
            f"Did you mean {' or '.join(near)}?"
            if near
            else f"There are {', '.join(NAMES)}, delegate:LIBRARY.so."
        )
        raise UsageError(f"There is no runtime '{name}'.", hint)
    if (name in ONNX) != (kind == "onnx"):
        needs = "an ONNX model" if name in ONNX else "a TFLite model"
        raise UsageError(
            f"Runtime {name} needs {needs}, and {path} is {kind}.", "Convert it, or use --runtime auto."
        )


def _automatic(
    path: Path, cpu: str, threads: int, options: Mapping[str, str], measure: bool, delegates: tuple[str, ...]
) -> tuple[str, int]:
    choice: RuntimeChoice | None
    if measure:
        from arenite.host.camera.runtimes.runtime_selection import choose_runtime

        choice = choose_runtime(path, options=options, delegates=delegates)
    else:
        from arenite.host.camera.runtimes.selection_cache import remembered

        choice = remembered(path, options=options)
    if choice is not None:
        return choice.name, choice.threads
    return cpu, threads


@dataclass(frozen=True, slots=True)
class Availability:
    """``reason``: why not, or what it is; for people."""

    name: str
    available: bool
    reason: str


def available() -> list[Availability]:
    """Every runtime and whether this computer has what it needs. Whether it works for a model, ``choose_runtime``
    finds out.

    Loads none of the accelerators' libraries.
    """
    return [*_litert(), _interpreter(), *_onnx()]


def _litert() -> list[Availability]:
    from arenite.host.camera.runtimes import litert_library as lite

    try:
        folder = lite.library().path.parent
    except OSError as error:
        return [Availability(name, False, str(error)) for name in LITERT]
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    gpu = (folder / f"{_GPU_LIBRARY}{suffix}").exists()
    npu = sorted((folder / "vendors").glob("*/dispatch/*"))
    return [
        Availability("litert-cpu", True, "XNNPACK"),
        Availability("litert-gpu", gpu, "WebGPU" if gpu else f"{_GPU_LIBRARY}{suffix} is not in this wheel"),
        Availability(
            "litert-npu",
            bool(npu),
            npu[0].stem.removeprefix("libLiteRtDispatch_")
            if npu
            else "no vendor's dispatch library in this wheel",
        ),
    ]


def _interpreter() -> Availability:
    found = [name for name in ("ai_edge_litert", "tflite_runtime") if importlib.util.find_spec(name)]
    return Availability(INTERPRETER, bool(found), found[0] if found else "pip install ai-edge-litert")


def _onnx() -> list[Availability]:
    from arenite.host.camera.runtimes.onnx import PROVIDERS, onnxruntime

    try:
        here = onnxruntime().get_available_providers()
    except UsageError as error:
        return [Availability(name, False, error.hint) for name in PROVIDERS]
    return [
        Availability(
            name, wanted[0] in here, wanted[0] if wanted[0] in here else f"this build has no {wanted[0]}"
        )
        for name, wanted in PROVIDERS.items()
    ]
