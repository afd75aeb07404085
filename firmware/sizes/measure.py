"""Measure the size and stack of every kernel and support function on every core: ``python -m
arenite.firmware.sizes.measure``.

Compiles the whole engine, both protocols and the board support with the flags of a real build, reads the object
files and stores each section's size, stack frame and references in ``profiles/sizes/``. ``fit`` adds them up as the
linker would, without a compiler. Run it after any change to C sources or flags; a test compares the digests.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import arenite.profiles.boards as boards
from arenite.c_sources import SourceTree
from arenite.files import write_atomic
from arenite.firmware.boards import cores
from arenite.firmware.generator.project import write_project
from arenite.firmware.sizes.object_files import ObjectSet, read_objects
from arenite.firmware.sizes.targets import SIZE_TARGETS, SIZES, SizeTarget
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
    """Return the files of a model with one layer, and with an array ``sizeof_X`` for every structure ``X`` of the
    engine's headers."""
    # Headers without structures are left out: they hold inner loops, and a kernel includes only one variant of them.
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


def _hash(trees: Sequence[SourceTree], *extra: object) -> str:
    """Return the digest of the C sources in ``trees``, the compiler flags and ``extra``. The compiler's version is not
    part of it."""
    digest = hashlib.sha256()
    for tree in trees:
        for path in _paths(tree, ".c", ".h", ".S"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    flags = [cores.optimise_flags(mode) for mode in cores.OPTIMISE_MODES]
    chosen = [cores.core_named(target.core).architecture for target in SIZE_TARGETS.values()]
    fixed = (cores.COMMON_FLAGS, cores.SUPPORT_OPTIMISE, cores.LINK_FLAGS, flags, chosen)
    digest.update(repr((*fixed, *extra)).encode())
    return digest.hexdigest()


def digest() -> str:
    """Return the digest of everything that decides a size."""
    return _hash((ENGINE, BOARDS))


def engine_digest() -> str:
    """Return the digest of everything that decides the size of a kernel, and of a layer that calls one."""
    return _hash((ENGINE,), sample_sources())


def measure_engine(target: SizeTarget, optimise: str, folder: Path) -> ObjectSet:
    """Compile every kernel and the sample model as a project compiles them, and return their sections."""
    recipe, project = _project(target, "arenite", optimise, engine_files(), folder)
    units = [
        u for u in recipe["units"] if u["source"].startswith("lib/arenite/") or u["source"] == "src/model.c"
    ]
    return _with_library(read_objects(_compile(recipe, units, project)), target.core)


def measure_support(target: SizeTarget, support: str, folder: Path) -> ObjectSet:
    """Compile start-up code, port and protocol, and return their sections. They are always built for size.

    ``support`` is a key of ``SizeTarget.supports``.
    """
    recipe, project = _project(target, support, "balanced", [], folder)
    units = [u for u in recipe["units"] if u["source"] != "src/model.c"]
    return _with_library(read_objects(_compile(recipe, units, project)), target.core)


def _project(
    target: SizeTarget, support: str, optimise: str, engine: list[str], folder: Path
) -> tuple[dict[str, Any], Path]:
    """Write a project with the sample model. Return its build recipe and its folder."""
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
    )
    return json.loads((project / "arenite.json").read_text())["build"], project


def _compile(recipe: dict[str, Any], units: list[dict[str, Any]], project: Path) -> dict[str, Path]:
    """Compile ``units`` and return the object file of each by the name of its source file."""
    (project / "o").mkdir()
    objects = {}
    for unit in units:
        name = Path(unit["source"]).name
        out = project / "o" / f"{name}.o"
        command = [recipe["compiler"], *recipe["flags"], *unit["flags"], "-c", "-o", str(out), unit["source"]]
        subprocess.run(command, cwd=project, check=True)
        objects[name] = out
    return objects


@cache
def _libgcc(core_name: str) -> ObjectSet:
    """Return the sections of the compiler's runtime library, libgcc."""
    core = cores.core_named(core_name)
    command = [f"{core.prefix}gcc", *core.architecture, *cores.LINK_FLAGS, "-print-libgcc-file-name"]
    archive = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if not Path(archive).is_file():
        return ObjectSet()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{core.prefix}ar", "x", archive], cwd=folder, check=True)
        return read_objects({f"libgcc/{p.name}": p for p in sorted(Path(folder).glob("*.o"))})


def _with_library(own: ObjectSet, core: str) -> ObjectSet:
    """Return ``own`` and the members of libgcc that it uses. Definitions in ``own`` replace those of libgcc."""
    library = _libgcc(core)
    return prune(ObjectSet({**library.sections, **own.sections}, {**library.symbols, **own.symbols}))


def prune(objects: ObjectSet) -> ObjectSet:
    """Return ``objects`` without the library members that no function of Arenite can reach."""
    own = [node for node in objects.sections if not node.startswith("libgcc/")]
    live = objects.reachable(own)
    return ObjectSet(
        {n: s for n, s in objects.sections.items() if n in live},
        {s: n for s, n in objects.symbols.items() if n in live},
    )


def compiler_version(core: str) -> str:
    """Return the first line that the core's compiler prints about its version."""
    command = [f"{cores.core_named(core).prefix}gcc", "--version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]


def _known_engine(path: Path, table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the sizes of the kernels in an earlier table, or None if anything has changed that decides their sizes.

    Kernels take longest to measure.
    """
    if not path.is_file():
        return None
    earlier = json.loads(path.read_text())
    is_current = all(earlier.get(key) == table[key] for key in ("schema", "compiler", "engine_digest"))
    return earlier["engine"] if is_current else None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m arenite.firmware.sizes.measure", description=__doc__)
    parser.add_argument("targets", nargs="*", help="default: all")
    args = parser.parse_args(argv)
    for target in SIZE_TARGETS.values():
        if args.targets and target.name not in args.targets:
            continue
        path = SIZES / f"{target.name}.json"
        with tempfile.TemporaryDirectory() as temporary:
            table: dict[str, Any] = {
                "schema": "arenite.sizes/1",
                "target": target.name,
                "compiler": compiler_version(target.core),
                "digest": digest(),
                "engine_digest": engine_digest(),
            }
            table["engine"] = _known_engine(path, table) or {
                "O2": measure_engine(target, "speed", Path(temporary)).to_json(),
                "Os": measure_engine(target, "flash", Path(temporary)).to_json(),
            }
            table["support"] = {
                key: measure_support(target, key, Path(temporary)).to_json() for key in target.supports()
            }
        write_atomic(path, json.dumps(table, separators=(",", ":")) + "\n")
        print(f"{target.name}: {len(table['engine']['O2']['sections'])} sections", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
