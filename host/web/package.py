"""Write an ES module package that runs models in a page, a worker, Node.js or Deno.

The package has the models as WebAssembly modules, ``model.js`` with its declarations ``model.d.ts``, and
``package.json``. There are modules with relaxed SIMD, with SIMD, and without SIMD; ``model.js`` loads the first one
that the browser supports.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arenite.converters.processing.specification.preprocessing import KEY as BEFORE
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from arenite.firmware.generator.output_folder import MANIFEST, write_folder
from arenite.firmware.webassembly.exports import ModelExports
from arenite.host.build.attachments import LABELS
from arenite.host.build.prepare import Prepared
from arenite.host.build.webassembly.module import BuiltModule, build_module
from arenite.host.camera.frames.geometry import geometry_of
from arenite.host.web.declarations import declarations
from arenite.host.web.page_package import Page
from arenite.processes import temporary_folder

SCHEMA = "arenite.web/1"
#: The file of a package by the core of its module. The first one that the browser supports is loaded.
FILES = {
    "wasm32-relaxed": "model-relaxed.wasm",
    "wasm32-simd": "model.wasm",
    "wasm32": "model-scalar.wasm",
}

_TEMPLATE = Path(__file__).with_name("model.js")
_PLACE = "/* the description of the module */ null"
#: npm's rules for names, without a scope: https://docs.npmjs.com/cli/configuring-npm/package-json#name
_PACKAGE_NAME = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")


@dataclass(frozen=True)
class WebPackage:
    """A package in ``directory``.

    ``description`` has its modules, their sizes in bytes, and the inputs and outputs of its models. ``sizes`` has the
    size of each file, and its size after gzip. ``hashes`` has the SHA-256 of each model's file. ``page`` is the page
    beside the package, if there is one.
    """

    directory: Path
    description: Mapping[str, Any]
    sizes: Mapping[str, tuple[int, int]]
    hashes: Mapping[str, str]
    page: Page | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.web/1``."""
        modules = {file["name"]: file for file in self.description["files"]}
        files = [
            {"path": path, "bytes": nbytes, "compressed_bytes": compressed, **modules.get(path, {})}
            for path, (nbytes, compressed) in self.sizes.items()
        ]
        models = [{**m, "sha256": self.hashes[m["name"]]} for m in self.description["models"]]
        return {
            **self.description,
            "files": files,
            "models": models,
            "memory": max(module["memory_bytes"] for module in modules.values()),
            "simd": any(module["simd"] for module in modules.values()),
            "directory": str(self.directory),
        }


def write_package(
    directory: Path,
    models: Mapping[str, Prepared],
    *,
    name: str = "",
    version: str = "0.0.0",
    optimise: str = "balanced",
    simd: bool = True,
    stream_input: bool = False,
    page: Page | None = None,
) -> WebPackage:
    """Write a package with ``models``, by their names in JavaScript, and return it.

    Args:
        directory: the folder of the package, which is created or updated.
        models: prepared models. The names are C identifiers.
        name: the name in package.json; "": the folder's name.
        version: the version in package.json.
        optimise: the optimization goal of the modules.
        simd: whether to write modules with SIMD beside the one without.
        stream_input: input 0 of every model arrives in rows.
        page: a page to write beside the package.

    Raises:
        UsageError: the folder has other files, npm does not allow the name, or a model cannot take its input in rows.
        ToolError: ziglang is missing.
    """
    package_name = _package_name(name or directory.resolve().name, given=bool(name))
    cores = FILES if simd else {"wasm32": FILES["wasm32"]}
    built: dict[str, BuiltModule] = {}
    files: dict[str, str | bytes] = {}
    with temporary_folder("arenite-web-") as folder:
        for core, file in cores.items():
            built[core] = build_module(folder / file, models, core, optimise, stream_input)
            files[file] = (folder / file).read_bytes()
    exports = next(iter(built.values())).plan.models
    description = {
        "schema": SCHEMA,
        "name": package_name,
        "optimise": optimise,
        "files": [
            {
                "name": FILES[core],
                "simd": core != "wasm32",
                "relaxed_simd": core == "wasm32-relaxed",
                "bytes": module.nbytes,
                "sha256": module.sha256,
                "memory_bytes": module.plan.memory.nbytes,
            }
            for core, module in built.items()
        ],
        "models": [_model(m, models[m.name]) for m in exports],
    }
    files["model.js"] = _script(description)
    files["model.d.ts"] = declarations(exports)
    if page is not None:
        files.update(page.files(files, description))
    files["package.json"] = _package_json(package_name, version, [*files])
    files[MANIFEST] = json.dumps({**description, "files": sorted([*files, MANIFEST])}, indent=1) + "\n"
    write_folder(directory, files)
    sizes = {path: _sizes(content) for path, content in files.items() if path != MANIFEST}
    return WebPackage(directory, description, sizes, {n: m.sha256 for n, m in models.items()}, page)


def _sizes(content: str | bytes) -> tuple[int, int]:
    """Return the size of a file, and its size after gzip, which servers use."""
    stored = content.encode() if isinstance(content, str) else content
    return len(stored), len(gzip.compress(stored, 9, mtime=0))


def _package_name(text: str, *, given: bool) -> str:
    """Return ``text`` as a name for npm. A name that the user did not give is changed where npm does not allow it.

    Raises ``UsageError`` for a given name that npm does not allow.
    """
    if _PACKAGE_NAME.fullmatch(text) and len(text) <= 214:
        return text
    if given:
        raise UsageError(
            f"npm does not allow the package name '{text}'.",
            "Use lower-case letters, digits, '-', '_' and '.', as in my-model or @me/model.",
        )
    return re.sub(r"[^a-z0-9._~-]+", "-", text.lower()).strip("-._")[:214] or "model"


def _model(exports: ModelExports, prepared: Prepared) -> dict[str, Any]:
    """Return the description of a model. ``input_part`` is the rectangle of the picture that the input shows, without
    crops and margins of the preprocessing; None for other inputs."""
    part = None
    before = exports.before
    if before is not None and before.width is not None and before.height is not None:
        spec = Preprocessing.from_json(prepared.extra[BEFORE])
        part = asdict(geometry_of(spec, before.width, before.height))
    return {**exports.as_json(), "labels": list(prepared.extra.get(LABELS, ())), "input_part": part}


def _script(description: Mapping[str, Any]) -> str:
    """Return model.js. The description is JSON; ``<`` is escaped so that the text can stand in an HTML page."""
    text = json.dumps(description, indent=1).replace("<", "\\u003c")
    return _TEMPLATE.read_text("utf-8").replace(_PLACE, text)


def _package_json(name: str, version: str, files: list[str]) -> str:
    """Return the text of ``package.json``. ``files`` are the names of the package's files."""
    entry = {"types": "./model.d.ts", "default": "./model.js"}
    package = {
        "name": name,
        "version": version,
        "type": "module",
        "main": "./model.js",
        "types": "./model.d.ts",
        "exports": {".": entry, **{f"./{f}": f"./{f}" for f in files if f.endswith(".wasm")}},
        "files": sorted(files),
        "sideEffects": False,
        "engines": {"node": ">=20"},
    }
    return json.dumps(package, indent=2) + "\n"
