"""Convert a runtime's options to LiteRT's options for compiling a model: folders of libraries, and texts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.camera.runtimes import litert_library as lite
from arenite.host.camera.runtimes.litert_library import Handle


def option_texts(threads: int, options: Mapping[str, str]) -> dict[str, str]:
    """Return LiteRT's options as TOML texts by identifier, the form in which LiteRT serializes them. Raises
    ``UsageError``."""
    cpu = f"num_threads = {threads}\n"
    if "weight_cache" in options:
        cpu += f"weight_cache_file_path = {_quoted(options['weight_cache'])}\n"
    # Errors go to standard error, where ``with_captured_log`` reads them.
    texts = {"xnnpack": cpu, "runtime_options_string": "error_reporter_mode = 1\n"}
    if "precision" in options:
        texts["gpu_options"] = f"precision = {_precision(options['precision'])}\n"
    return texts


@lru_cache(8)
def shared_environment(accelerators: int, dispatch: str, plugins: str) -> Handle:
    """Return the environment for these accelerators, which all models of the process share. It is never freed, because
    LiteRT does not unload accelerators. ``dispatch`` and ``plugins`` are folders; "" means LiteRT's own folders."""
    folders = {lite.RUNTIME_LIBRARIES: str(lite.package_folder())}
    if accelerators & lite.NPU:
        vendors = lite.package_folder() / "vendors"
        vendor_folders = sorted(vendors.glob("*/dispatch"))
        if not dispatch and not vendor_folders:
            raise UsageError(
                "This LiteRT has no dispatch library for an NPU.",
                "Give the folder of the vendor's library: --runtime-option dispatch=FOLDER.",
            )
        folder = Path(dispatch) if dispatch else vendor_folders[0]
        folders[lite.DISPATCH_LIBRARIES] = str(folder)
        compiler = Path(plugins) if plugins else folder.parent / "compiler"
        if compiler.is_dir():
            folders[lite.COMPILER_PLUGINS] = str(compiler)
    return lite.library().environment(accelerators, folders)


def _quoted(text: str) -> str:
    """Return ``text`` as a TOML string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _precision(text: str) -> int:
    codes = {"fp16": 1, "fp32": 2}
    if text not in codes:
        raise UsageError(f"'{text}' is not a precision of the GPU.", "Use fp16 or fp32.")
    return codes[text]
