"""Arenite: from a trained model to measured, bit-exact firmware, and a camera loop for edge boards.

    import arenite

    report = arenite.convert("model.keras", calibration="train.npz")   # an image with a planned arena
    model = arenite.load("model.image.tflite")
    print(arenite.fit(model, "nucleo_l4r5zi").fits)                    # before anything is built
    result = arenite.bench(model, "qemu_mps2_an386")                   # real firmware in an emulator
    print(result.bit_exact, result.instructions)

The functions have the names and the options of the commands. Their results have a method ``to_json()``, which returns
what the command prints with ``--json``. Every failure raises an ``arenite.AreniteError``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from arenite.errors import (
    AreniteError,
    DeviceError,
    DoesNotFitError,
    ModelError,
    PlanError,
    ProfileError,
    ToolError,
    UnsupportedModelError,
    UsageError,
)

if (Path(__file__).parent / "host").is_file():
    raise ImportError(
        "This checkout of Arenite has no symbolic links: arenite/host is a plain file. "
        "Run `git config core.symlinks true`, then `git checkout -- arenite` "
        "(on Windows with developer mode switched on)."
    )

if TYPE_CHECKING:
    from arenite.converters.importers.onnx_ml.export_sklearn import export_sklearn
    from arenite.host.bench.result import BenchResult
    from arenite.host.build.options import BuildOptions
    from arenite.host.interface.app import app
    from arenite.host.interface.build import CLibrary, FirmwareProject, FitReport, firmware, library
    from arenite.host.interface.camera import Camera
    from arenite.host.interface.catalogue import boards, zoo
    from arenite.host.interface.conversion import ConversionReport, convert
    from arenite.host.interface.fit import fit
    from arenite.host.interface.measurement import EnergyReport, bench, energy
    from arenite.host.interface.model import Model, load
    from arenite.host.interface.web import web
    from arenite.host.llm.prediction import LanguageModelFit

__all__ = [
    "AreniteError",
    "BenchResult",
    "BuildOptions",
    "CLibrary",
    "Camera",
    "ConversionReport",
    "DeviceError",
    "DoesNotFitError",
    "EnergyReport",
    "FirmwareProject",
    "FitReport",
    "LanguageModelFit",
    "Model",
    "ModelError",
    "PlanError",
    "ProfileError",
    "ToolError",
    "UnsupportedModelError",
    "UsageError",
    "app",
    "bench",
    "boards",
    "convert",
    "energy",
    "export_sklearn",
    "firmware",
    "fit",
    "library",
    "load",
    "web",
    "zoo",
]

#: The module of each public name, relative to this package. Names are imported on their first use, so that
#: `import arenite` is fast.
_MODULES = {
    "BenchResult": "host.bench.result",
    "BuildOptions": "host.build.options",
    "CLibrary": "host.interface.build",
    "Camera": "host.interface.camera",
    "ConversionReport": "host.interface.conversion",
    "EnergyReport": "host.interface.measurement",
    "FirmwareProject": "host.interface.build",
    "FitReport": "host.interface.build",
    "LanguageModelFit": "host.llm.prediction",
    "Model": "host.interface.model",
    "app": "host.interface.app",
    "bench": "host.interface.measurement",
    "boards": "host.interface.catalogue",
    "convert": "host.interface.conversion",
    "energy": "host.interface.measurement",
    "export_sklearn": "converters.importers.onnx_ml.export_sklearn",
    "fit": "host.interface.fit",
    "library": "host.interface.build",
    "load": "host.interface.model",
    "web": "host.interface.web",
    "zoo": "host.interface.catalogue",
}


class _FirmwarePackage(ModuleType):
    """The class of the package ``arenite.firmware``, which makes it callable: a call generates a firmware project."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from arenite.host.interface.build import firmware

        return firmware(*arguments, **options)


class _Arenite(ModuleType):
    """The class of the package ``arenite``, which makes ``arenite.firmware`` callable when it is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system sets a package's attribute when the subpackage is first imported.
        if name == "firmware" and isinstance(value, ModuleType):
            value.__class__ = _FirmwarePackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Arenite


def __getattr__(name: str) -> Any:
    if name == "firmware":
        return import_module("arenite.firmware")
    if name not in _MODULES:
        raise AttributeError(f"module 'arenite' has no attribute '{name}'")
    value = getattr(import_module(f"arenite.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
