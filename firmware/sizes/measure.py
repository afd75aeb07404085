"""Measure the size and stack of every kernel and support function on every core: ``python -m
arenite.firmware.sizes.measure``.

Compiles the whole engine, both protocols and the board support with the flags of a real build, reads the object
files and stores each section's size, stack frame and references in ``profiles/sizes/``. ``fit`` adds them up as the
linker would, without a compiler. Run this program after any change to C sources or flags: a test fails if a stored
digest is not that of the present sources and flags.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import arenite.profiles.boards as boards
from arenite.c_sources import SourceTree
from arenite.files import write_atomic
from arenite.firmware.boards import cores
from arenite.firmware.boards.toolchains import (
    GCC,
    TOOLCHAINS,
    ZIG,
    ZIG_CORES,
    compile_command,
    compiler_environment,
    compiler_flags,
    is_installed,
    zig_runtime,
)
from arenite.firmware.generator.project import write_project
from arenite.firmware.sizes.object_files import ObjectSet, is_library, read_objects
from arenite.firmware.sizes.targets import SIZE_TARGETS, ZIG_TARGETS, SizeTarget, size_file
from arenite.firmware.sources import BOARDS, ENGINE

#: The text of a sample model. Its layers call only external functions. So each section holds the layer function alone.
_SAMPLE = """\
#include "model.h"
{includes}
extern const int sample_params[2];
extern const int sample_before[2];
extern void sample_kernel(const int *p);
extern void sample_kernel_before(const int *p);
static void layer_0(void)
{{
    sample_kernel(&sample_params[0]);
}}
static void layer_1(void)
{{
    sample_kernel_before(&sample_before[0]);
    sample_kernel(&sample_params[0]);
}}
extern void ar_fork(ar_layer_fn work);
extern void ar_join(void);
static void layer_2(void)
{{
    ar_fork(layer_0);
    sample_kernel(&sample_params[0]);
    ar_join();
}}
static void reset(void)
{{
    sample_kernel(&sample_params[1]);
}}
static const ar_layer_fn layers[] = {{layer_0, layer_1, layer_2, reset}};
const ar_model model = {{.layers = layers}};
/* The size of every structure that generated code is made of. */
{sizes}
"""

_HEADER = """\
#ifndef MODEL_H
#define MODEL_H
#include "arenite.h"
#define MODEL_LAYERS 1
extern const ar_model model;
#endif
"""


#: The name of the folders with kernels for WebAssembly, which no board runs.
_WEBASSEMBLY = "simd128"


def _paths(tree: SourceTree, *suffixes: str) -> list[Path]:
    """Return the paths of the sources that boards can use."""
    return [path for path in tree.paths(*suffixes) if path.parent.name != _WEBASSEMBLY]


def engine_files() -> list[str]:
    """Return the base names of all kernel sources for boards."""
    return [path.name for path in _paths(ENGINE, ".c")]


def sample_sources() -> dict[str, str]:
    """Return the text of each file of the sample model, by name. It also has an array ``sizeof_X`` for every structure
    ``X`` of the engine's headers."""
    # Headers without structures are left out: they contain variants of one inner loop, and no file can include two.
    declared = {
        path.name: re.findall(r"^\}\s*(ar_\w+);", path.read_text(), re.M) for path in _paths(ENGINE, ".h")
    }
    headers = [header for header, names in declared.items() if names]
    names = sorted({name for declared_names in declared.values() for name in declared_names})
    sizes = "\n".join(
        f"extern const char sizeof_{n}[sizeof({n})];\nconst char sizeof_{n}[sizeof({n})] = {{1}};"
        for n in names
    )
    includes = "\n".join(f'#include "{h}"' for h in headers)
    return {"model.h": _HEADER, "model.c": _SAMPLE.format(includes=includes, sizes=sizes)}


def _hash(trees: Sequence[SourceTree], toolchain: str, *extra: object) -> str:
    """Return the digest of the C sources in ``trees``, the compiler flags and ``extra``. The compiler's version is not
    part of it."""
    digest = hashlib.sha256()
    for tree in trees:
        for path in _paths(tree, ".c", ".h", ".S"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    flags = [cores.optimise_flags(mode) for mode in cores.OPTIMISE_MODES]
    architectures = [cores.core_named(target.core).architecture for target in SIZE_TARGETS.values()]
    settings: tuple[object, ...] = (
        cores.COMMON_FLAGS,
        cores.SUPPORT_OPTIMISE,
        cores.LINK_FLAGS,
        flags,
        architectures,
    )
    if toolchain != GCC:
        settings = (flags, [compiler_flags(cores.core_named(core), toolchain) for core in ZIG_CORES])
    digest.update(repr((*settings, *extra)).encode())
    return digest.hexdigest()


def digest(toolchain: str = GCC) -> str:
    """Return the digest of everything that decides a size in the tables of ``toolchain``, except the compiler's
    version."""
    return _hash((ENGINE, BOARDS), toolchain)


def engine_digest(toolchain: str = GCC) -> str:
    """Return the digest of everything that decides the size of a kernel, and of a layer function that calls one, except
    the compiler's version."""
    return _hash((ENGINE,), toolchain, sample_sources())


def measure_engine(target: SizeTarget, optimise: str, folder: Path, toolchain: str = GCC) -> ObjectSet:
    """Compile every kernel and the sample model as a project compiles them, and return their sections."""
    recipe, project = _project(target, "arenite", optimise, engine_files(), folder, toolchain)
    units = [
        u for u in recipe["units"] if u["source"].startswith("lib/arenite/") or u["source"] == "src/model.c"
    ]
    return _with_library(read_objects(_compile(recipe, units, project)), target.core, toolchain)


def measure_support(target: SizeTarget, support: str, folder: Path, toolchain: str = GCC) -> ObjectSet:
    """Compile the support code (start-up, port and protocol), and return its sections. It is always built for size.

    ``support`` is a key of ``SizeTarget.supports``.
    """
    recipe, project = _project(target, support, "balanced", [], folder, toolchain)
    units = [u for u in recipe["units"] if u["source"] != "src/model.c"]
    return _with_library(read_objects(_compile(recipe, units, project)), target.core, toolchain)


def _project(
    target: SizeTarget, support: str, optimise: str, engine: list[str], folder: Path, toolchain: str
) -> tuple[dict[str, Any], Path]:
    """Write a project with the sample model. Return its build recipe and its folder.

    ``support`` is a key of ``SizeTarget.supports``, and ``engine`` has the base names of the kernel sources.
    """
    board = replace(boards.load_board(target.board), core=target.core)
    project = folder / f"{target.name}-{optimise}-{support}-{len(engine)}"
    protocol, stream_input, features = target.supports()[support]
    write_project(
        project,
        sample_sources(),
        engine,
        board,
        protocol=protocol,
        optimise=optimise,
        input_bytes=4,
        stream_input=stream_input,
        features=features,
        toolchain=toolchain,
    )
    return json.loads((project / "arenite.json").read_text())["build"], project


def _compile(recipe: dict[str, Any], units: list[dict[str, Any]], project: Path) -> dict[str, Path]:
    """Compile ``units`` and return the object file of each by the name of its source file."""
    return {Path(source).name: path for source, path in compile_units(recipe, units, project).items()}


def compile_units(recipe: dict[str, Any], units: list[dict[str, Any]], project: Path) -> dict[str, Path]:
    """Compile ``units`` and return the object file of each by the path of its source file."""
    (project / "o").mkdir()

    def compile_unit(unit: dict[str, Any]) -> tuple[str, Path]:
        name = unit["source"]
        out = project / "o" / f"{Path(name).name}.o"
        start = compile_command(recipe["compiler"])
        command = [*start, *recipe["flags"], *unit["flags"], "-c", "-o", str(out), unit["source"]]
        subprocess.run(command, cwd=project, check=True, env=compiler_environment(recipe["compiler"]))
        return name, out

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(compile_unit, units))


@cache
def _library(core_name: str, toolchain: str) -> ObjectSet:
    """Return the sections of the compiler's runtime library. The set is empty if the compiler has none for the core."""
    core = cores.core_named(core_name)
    if toolchain == ZIG:
        archive = str(zig_runtime(compiler_flags(core, ZIG).flags))
        return _members(archive, [*compile_command(ZIG)[:-1], "ar"], "compiler_rt")
    command = [f"{core.prefix}gcc", *core.architecture, *cores.LINK_FLAGS, "-print-libgcc-file-name"]
    archive = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if not Path(archive).is_file():
        return ObjectSet()
    return _members(archive, [f"{core.prefix}ar"], "libgcc")


def library_of(core: str) -> ObjectSet:
    """Return the sections of gcc's runtime library for ``core``. Of several members with the same function, the linker
    takes the first one."""
    library, owner = _library(core, GCC), cores.core_named(core)
    command = [f"{owner.prefix}gcc", *owner.architecture, *cores.LINK_FLAGS, "-print-libgcc-file-name"]
    archive = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    listing = subprocess.run(
        [f"{owner.prefix}nm", "--print-armap", archive], check=True, capture_output=True, text=True
    ).stdout
    symbols = dict(library.symbols)
    seen: set[str] = set()
    for name, member in re.findall(r"^(\w+) in (\S+)$", listing, re.MULTILINE):
        nodes = [n for n in library.sections if n.startswith(f"libgcc/{member}:.text")]
        if name in symbols and name not in seen and nodes:
            symbols[name] = nodes[0]
        seen.add(name)
    return ObjectSet(library.sections, symbols)


def _members(archive: str, ar: list[str], label: str) -> ObjectSet:
    """Return the sections of the object files in the library ``archive``. ``ar`` is the command that extracts them, and
    ``label`` the first part of their node names."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*ar, "x", archive], cwd=folder, check=True)
        return read_objects({f"{label}/{p.name}": p for p in sorted(Path(folder).glob("*.o"))})


def _with_library(own: ObjectSet, core: str, toolchain: str) -> ObjectSet:
    """Return ``own`` and the members of the runtime library that it uses. Definitions in ``own`` replace those of the
    library."""
    library = _library(core, toolchain)
    return prune(ObjectSet({**library.sections, **own.sections}, {**library.symbols, **own.symbols}))


def prune(objects: ObjectSet) -> ObjectSet:
    """Return ``objects`` without the library members that no function of Arenite can reach."""
    own = [node for node in objects.sections if not is_library(node)]
    live = objects.reachable(own)
    return ObjectSet(
        {n: s for n, s in objects.sections.items() if n in live},
        {s: n for s, n in objects.symbols.items() if n in live},
    )


def compiler_version(core: str, toolchain: str = GCC) -> str:
    """Return the first line that the core's compiler prints about its version."""
    command = [*compile_command(compiler_flags(cores.core_named(core), toolchain).compiler), "--version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]


def _known_engine(path: Path, table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the sizes of the kernels in the file ``path``, which an earlier run has written. Return None if there is
    no such file, or if its compiler or digest of kernels differs from those in ``table``.

    Most of the time of a run is spent on kernels, so they are not measured again without need.
    """
    if not path.is_file():
        return None
    earlier = json.loads(path.read_text())
    is_current = all(earlier.get(key) == table[key] for key in ("schema", "compiler", "engine_digest"))
    return earlier["engine"] if is_current else None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m arenite.firmware.sizes.measure", description=__doc__)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--toolchain", action="append", choices=TOOLCHAINS, help="default: all")
    args = parser.parse_args(argv)
    tables = [(target, GCC) for target in SIZE_TARGETS.values()]
    tables += [(SIZE_TARGETS[name], ZIG) for name in ZIG_TARGETS]
    tables = [
        (target, toolchain)
        for target, toolchain in tables
        if target.name in (args.targets or SIZE_TARGETS) and toolchain in (args.toolchain or TOOLCHAINS)
    ]
    missing = [t for target, t in tables if not is_installed(cores.core_named(target.core), t)]
    if missing:
        parser.error(
            f"the compilers of {' and '.join(sorted(set(missing)))} are not all installed. Install them (see `arenite "
            "doctor`), or choose targets and a --toolchain whose compilers are installed."
        )
    for target, toolchain in tables:
        _measure(target, toolchain)
    return 0


def _measure(target: SizeTarget, toolchain: str) -> None:
    """Measure one target and write its table."""
    path = size_file(target.name, toolchain)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        table: dict[str, Any] = {
            "schema": "arenite.sizes/1",
            "target": target.name,
            "compiler": compiler_version(target.core, toolchain),
            "digest": digest(toolchain),
            "engine_digest": engine_digest(toolchain),
        }
        table["engine"] = _known_engine(path, table) or {
            "O2": measure_engine(target, "speed", folder, toolchain).to_json(),
            "Os": measure_engine(target, "flash", folder, toolchain).to_json(),
        }
        table["support"] = {
            key: measure_support(target, key, folder, toolchain).to_json() for key in target.supports()
        }
    write_atomic(path, json.dumps(table, separators=(",", ":")) + "\n")
    print(f"{target.name}, {toolchain}: {len(table['engine']['O2']['sections'])} sections", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
