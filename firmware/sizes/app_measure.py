"""Measure the sources of applications: compile generated folders, and store the sizes of what they are made of."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arenite.files import write_atomic
from arenite.firmware.boards.toolchains import GCC
from arenite.firmware.sizes.app_table import BUFFERS, FOLDER, AppFolder, function_key
from arenite.firmware.sizes.generated_c import definitions, longest_first, mark
from arenite.firmware.sizes.measure import compile_units, compiler_version, library_of
from arenite.firmware.sizes.object_files import ObjectSet, read_objects
from arenite.profiles.boards import load_board

#: The most calls of kernels for which the function that makes them is measured.
_CALLS = 40


def measure_apps(board_name: str, folders: Sequence[Path], scratch: Path) -> dict[str, Any]:
    """Return the table of one board, from the generated applications in ``folders``."""
    board = load_board(board_name)
    units: dict[str, Any] = {}
    slopes: dict[str, Any] = {}
    functions: dict[str, Any] = {}
    structs: dict[str, int] = {}
    merged = ObjectSet()
    modes: set[tuple[str, ...]] = set()
    for number, path in enumerate(folders):
        folder = AppFolder.read(path)
        objects = _compiled(folder, scratch / f"o{number}")
        merged.sections.update({f"{number}/{n}": s for o in objects.values() for n, s in o.sections.items()})
        larger = None
        for source, flags in folder.units:
            own = objects[source]
            if folder.is_generated(source):
                modes |= {flags} if source.startswith("lib/model/") else set()
                _measure_generated(folder, source, flags, own, functions, structs)
                continue
            key = folder.key(source, flags)
            if key in units:
                continue
            units[key] = _renamed(own, folder.prefixes).to_json()
            if "app_settings.h" in folder.text(source):
                larger = larger or _with_larger_buffers(folder, scratch / f"l{number}")
                slopes[key] = _slopes(key, folder, own, larger, source, units)
    for flags in sorted(modes):
        functions |= _measure_invoke(AppFolder.read(folders[0]), flags, scratch)
    library = library_of(board.core)
    refs = sorted({ref for s in merged.sections.values() for ref in s.refs})
    used = library.reachable([r for r in refs if r in library.symbols])
    return {
        "schema": "arenite.app-sizes/1",
        "board": board_name,
        "compiler": compiler_version(board.core, GCC),
        "units": units,
        "slopes": {key: value for key, value in slopes.items() if value},
        "functions": functions,
        "structs": structs,
        "library": ObjectSet(
            {n: s for n, s in library.sections.items() if n in used},
            {s: n for s, n in library.symbols.items() if n in used},
        ).to_json(),
    }


def write_table(board: str, table: dict[str, Any]) -> None:
    """Store the table of one board."""
    write_atomic(FOLDER / f"{board}.json", json.dumps(table, separators=(",", ":"), sort_keys=True) + "\n")


def _compiled(folder: AppFolder, output: Path) -> dict[str, ObjectSet]:
    """Compile all sources, and return the sections of each."""
    build = dict(folder.manifest["build"])
    shutil.copytree(folder.path, output)
    paths = compile_units(build, build["units"], output)
    return {source: read_objects({Path(source).name: obj}) for source, obj in paths.items()}


def _renamed(objects: ObjectSet, prefixes: Sequence[str]) -> ObjectSet:
    """Return the sections with the marks of the models in place of their names in references."""

    def renamed(ref: str) -> str:
        for number, prefix in longest_first(prefixes):
            if ref.startswith(prefix):
                return f"{mark(number)}_{ref.removeprefix(prefix)}"
        return ref

    return ObjectSet(
        {n: replace(s, refs=tuple(map(renamed, s.refs))) for n, s in objects.sections.items()},
        dict(objects.symbols),
    )


def _measure_generated(
    folder: AppFolder,
    source: str,
    flags: tuple[str, ...],
    own: ObjectSet,
    functions: dict[str, Any],
    structs: dict[str, int],
) -> None:
    """Add the sizes of the generated functions of a source, and of the structures of its variables."""

    def size_of(c_type: str) -> int:
        return 1  # not known yet: the size of an array is then the number of its elements

    for d in definitions(folder.text(source), size_of):
        node = next((n for n in own.sections if n.split(":.", 1)[1].split(".", 1)[-1] == d.name), None)
        section = own.sections.get(node or "")
        if d.kind == "text":
            refs = () if section is None else section.refs
            library = sorted(r for r in refs if r.startswith(("__", "mem")))
            size, stack = (0, 0) if section is None else (section.size, section.stack)
            functions[function_key(d.text, folder.prefix_of(source), flags)] = [size, stack, library]
        elif section is not None and d.c_type.startswith("ar_"):
            structs[d.c_type] = section.size // d.size


def _with_larger_buffers(folder: AppFolder, output: Path) -> dict[str, ObjectSet]:
    """Return the sections of each source of the application with buffers twice as large."""
    shutil.copytree(folder.path, output / "p")
    header = output / "p/lib/app/app_settings.h"
    text = header.read_text("utf-8")
    for name in BUFFERS:
        text = re.sub(rf"#define {name} (\d+)", lambda m: m[0].replace(m[1], str(2 * int(m[1]))), text)
    header.write_text(text)
    return _compiled(AppFolder.read(output / "p"), output / "o")


def _slopes(
    key: str,
    folder: AppFolder,
    own: ObjectSet,
    larger: dict[str, ObjectSet],
    source: str,
    units: dict[str, Any],
) -> dict[str, dict[str, int]]:
    """Return how sections grow with a buffer, and subtract the buffer from their sizes in ``units``."""
    grown: dict[str, dict[str, int]] = {}
    text = folder.text(source)
    names = [name for name in BUFFERS if name in text and folder.setting(name)]
    for node, section in own.sections.items():
        growth = larger[source].sections[node].size - section.size
        if not growth:
            continue
        if section.kind != "bss" or len(names) != 1:
            raise AssertionError(
                f"The size of {key}, {node} depends on {names}: use a constant of app_settings.c."
            )
        per = growth // folder.setting(names[0])
        grown[node] = {names[0]: per}
        units[key]["sections"][node][1] -= growth
    return grown


def _measure_invoke(folder: AppFolder, flags: tuple[str, ...], scratch: Path) -> dict[str, Any]:
    """Return the sizes of functions that call 1, 2, 3, ... kernels, each from a function of its own."""
    lines = []
    for count in range(1, _CALLS + 1):
        calls = ""
        for k in range(count):
            lines += [
                f"extern const int p_{count}_{k}[2]; extern void kernel_{count}_{k}(const int *p);",
                f"static void layer_{count}_{k}(void) {{ kernel_{count}_{k}(&p_{count}_{k}[0]); }}",
            ]
            calls += f"    layer_{count}_{k}();\n"
        table = ", ".join(f"layer_{count}_{k}" for k in range(count))
        lines += [
            f"extern void (*const t_{count}[])(void); void (*const t_{count}[])(void) = {{{table}}};",
            f"extern void invoke_{count}(void); void invoke_{count}(void)\n{{\n{calls}}}",
        ]
    lines += [
        "static void layer_twice(void) { kernel_1_0(&p_1_0[0]); kernel_2_0(&p_2_0[0]); }",
        "extern void (*const t_twice[])(void); void (*const t_twice[])(void) = {layer_twice};",
    ]
    place = scratch / f"invoke{flags[0]}"
    place.mkdir(parents=True)
    (place / "invoke.c").write_text("\n".join(lines) + "\n")
    build = dict(folder.manifest["build"])
    paths = compile_units(build, [{"source": "invoke.c", "flags": list(flags)}], place)
    objects = read_objects({"invoke.c": paths["invoke.c"]})
    mode = " ".join(flags)
    found: dict[str, Any] = {}
    is_inlined = True
    for count in range(1, _CALLS + 1):
        section = objects.sections[f"invoke.c:.text.invoke_{count}"]
        found[f"invoke {mode} {count}"] = [section.size, section.stack, []]
        is_inlined &= not any(ref.startswith("invoke.c:.text.layer") for ref in section.refs)
    for number, name in ((1, "layer_1_0"), (2, "layer_twice")):
        section = objects.sections[f"invoke.c:.text.{name}"]
        found[f"layer {mode} {number}"] = [0, 0, []] if is_inlined else [section.size, section.stack, []]
    return found
