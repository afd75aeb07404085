"""List the names of all runtimes, and say which runtimes this computer has."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError

LITERT = ("litert-cpu", "litert-gpu", "litert-npu")
INTERPRETER = "litert-interpreter"
DELEGATE = "delegate:"
ONNX = ("onnx-cpu", "onnx-cuda", "onnx-tensorrt", "onnx-qnn", "onnx-nnapi", "onnx-coreml")
NAMES = (*LITERT, INTERPRETER, *ONNX)
_GPU_LIBRARY = "libLiteRtWebGpuAccelerator"


def model_kind(path: Path) -> str:
    """Return the kind of the model file, ``tflite`` or ``onnx``. Raises ``UsageError`` if there is no such file, or if
    it is of neither kind."""
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


@dataclass(frozen=True, slots=True)
class Availability:
    """Says whether a runtime can be used on this computer. ``reason`` is a text for display: why it cannot be used, or
    the library that implements it."""

    name: str
    available: bool
    reason: str


def available_runtimes() -> list[Availability]:
    """Return an entry for every runtime, which says whether its packages and libraries are installed.

    This function does not load the libraries of accelerators; ``choose_runtime`` tests whether a runtime works for a
    model.
    """
    return [*_litert_runtimes(), _interpreter_runtime(), *_onnx_runtimes()]


def _litert_runtimes() -> list[Availability]:
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


def _interpreter_runtime() -> Availability:
    packages = [name for name in ("ai_edge_litert", "tflite_runtime") if importlib.util.find_spec(name)]
    return Availability(
        INTERPRETER, bool(packages), packages[0] if packages else "pip install ai-edge-litert"
    )


def _onnx_runtimes() -> list[Availability]:
    from arenite.host.camera.runtimes.onnx import PROVIDERS, onnxruntime

    try:
        available = onnxruntime().get_available_providers()
    except UsageError as error:
        return [Availability(name, False, error.hint) for name in PROVIDERS]
    return [
        Availability(
            name,
            providers[0] in available,
            providers[0] if providers[0] in available else f"this build has no {providers[0]}",
        )
        for name, providers in PROVIDERS.items()
    ]
