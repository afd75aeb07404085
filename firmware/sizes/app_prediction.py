"""Predict the flash, RAM and stack of an application in bytes, without a compiler, from the text of its sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.errors import UsageError
from arenite.firmware.app.project import MAIN
from arenite.firmware.generator.model_source import GUARD_BYTES
from arenite.firmware.generator.shared_arena import ARENA_STEM
from arenite.firmware.sizes.app_table import BUFFERS, AppFolder, AppTable, app_table, function_key
from arenite.firmware.sizes.generated_c import Definition, definitions, mark
from arenite.firmware.sizes.object_files import ObjectSet, Section, read_objects
from arenite.firmware.sizes.prediction import size_table
from arenite.firmware.sizes.stacks import direct_depth
from arenite.firmware.sizes.targets import target_of
from arenite.profiles.boards import load_board

_LAYER = re.compile(r"layer_\d+(_\w+)?$")


@dataclass(frozen=True)
class AppPrediction:
    """The predicted bytes of an application.

    ``data`` and ``bss`` are RAM with and without initial values; ``bss`` includes the guard words around the arena.
    ``stack`` is an upper bound and ``stack_reserved`` what the linker script reserves. ``text`` is all flash but the
    weights and the initial values of ``data``; ``kernels`` is the part of it in the sources of operators, features and
    decisions and the compiler's routines that they call, and ``tables`` that in the constants of the model and its
    features.

    ``unknown`` lists the sources and functions that were never measured: if there are any, the sizes are too small.
    ``main`` says which src/main.c the sizes are for: "shipped"; "measured" if the program was edited and built; or
    "edited" if it was edited and not built, so the sizes are those of the shipped program.
    """

    arena: int
    data: int
    bss: int
    stack: int
    stack_reserved: int
    text: int
    weights: int
    kernels: int
    tables: int
    unknown: tuple[str, ...]
    main: str

    @property
    def application(self) -> int:
        """The bytes of ``text`` that are neither kernels nor tables: start-up, sensor, loop, serial port, text."""
        return self.text - self.kernels - self.tables

    @property
    def ram(self) -> int:
        return self.arena + self.data + self.bss + self.stack_reserved

    @property
    def flash(self) -> int:
        return self.text + self.weights + self.data


def predict_app(path: Path) -> AppPrediction:
    """Return the predicted sizes of the application in the folder ``path``.

    Raises ``UsageError`` if no sizes of applications were measured for its board.
    """
    folder = AppFolder.read(path)
    board = load_board(folder.manifest["board"])
    table = app_table(board.name)
    if table is None:
        raise UsageError(
            f"No sizes of applications are stored for {board.name}.",
            "Choose one of the boards qemu_mps2_*, or build the application.",
        )
    optimise = next(flags for source, flags in folder.units if source.startswith("lib/model/"))[0].lstrip("-")
    engine = size_table(target_of(board).name).engine[optimise]
    objects, unknown = _collect(folder, table, engine)
    main = "measured" if folder.main_object else "edited" if folder.is_edited else "shipped"
    return prediction_of(folder, objects, tuple(unknown), main)


def prediction_of(
    folder: AppFolder, objects: ObjectSet, unknown: tuple[str, ...], main: str
) -> AppPrediction:
    """Return the sizes of an application whose sections are ``objects``. The sections of sources that are written for
    one model are named ``generated:SECTION``."""
    live = objects.reachable(["ar_start", *(n for n, s in objects.sections.items() if s.kind == "vectors")])
    sections = {n: objects.sections[n] for n in live}

    def total(*kinds: str) -> int:
        return sum(-(-s.size // 4) * 4 for s in sections.values() if s.kind in kinds)

    reserved = -(-int(folder.manifest["stack_bytes"]) // 16) * 16
    # The call graph of a camera has every function that a row may start below every other one. What is reserved was
    # predicted from the layers, as for a bench.
    stack = reserved if folder.manifest.get("sensor") == "camera" else _stack(objects, sections)
    kernel_files = {Path(s).name for s, _ in folder.units if s.startswith("lib/model/arenite/")}
    # The compiler's routines that kernels call count as kernels: a library has them too.
    own = {n for n in live if n.split(":")[0] in kernel_files}
    used = objects.reachable(n for n in own) & {n for n in live if n.startswith("libgcc/")}
    kernels = sum(-(-sections[n].size // 4) * 4 for n in own | used if sections[n].kind in ("text", "rodata"))
    return AppPrediction(
        arena=_arena_bytes(folder),
        data=total("data"),
        bss=total("bss", "noinit") + GUARD_BYTES,
        stack=stack,
        stack_reserved=reserved,
        text=total("text", "rodata", "vectors"),
        weights=total("weights"),
        kernels=kernels,
        tables=sum(
            -(-s.size // 4) * 4
            for n, s in sections.items()
            if n.startswith("generated:") and s.kind == "rodata"
        ),
        unknown=unknown,
        main=main,
    )


def _arena_bytes(folder: AppFolder) -> int:
    """Return the bytes of the arena that all models share, or of all their arenas with the guard words between
    them."""
    texts = [folder.text(f"lib/model/{prefix}model.c") for prefix in folder.prefixes]
    found = [match for text in texts if (match := re.search(r"\.arena_bytes = (\d+)", text)) is not None]
    arenas = [int(match[1]) for match in found]
    if any(Path(source).stem == ARENA_STEM for source, _ in folder.units):
        return max(arenas, default=0)
    return sum(arenas) + GUARD_BYTES * max(len(arenas) - 1, 0)


def stack_bound(path: Path) -> int:
    """Return the upper bound of the stack of the application in ``path``, in bytes; 0 if its sizes are not known."""
    if app_table(AppFolder.read(path).manifest["board"]) is None:
        return 0
    prediction = predict_app(path)
    return 0 if prediction.unknown else prediction.stack


def _collect(folder: AppFolder, table: AppTable, engine: ObjectSet) -> tuple[ObjectSet, list[str]]:
    """Return the sections of an application, and the names of those whose size is not known."""
    objects = ObjectSet(dict(table.library.sections), dict(table.library.symbols))
    for node, section in engine.sections.items():
        if node.startswith("libgcc/"):
            objects.sections.setdefault(node, section)
    for symbol, node in engine.symbols.items():
        if node.startswith("libgcc/"):
            objects.symbols.setdefault(symbol, node)
    unknown: list[str] = []

    def size_of(c_type: str) -> int:
        if c_type in table.structs:
            return table.structs[c_type]
        node = engine.symbols.get(f"sizeof_{c_type}")
        if node is None:
            unknown.append(c_type)
            return 0
        return engine.sections[node].size

    generated: list[tuple[Definition, tuple[str, ...], str]] = []
    for source, flags in folder.units:
        if folder.is_generated(source):
            prefix = folder.prefix_of(source)
            generated += [(d, flags, prefix) for d in definitions(folder.text(source), size_of)]
            continue
        name = Path(source).name
        if source == MAIN and folder.main_object is not None:
            measured = read_objects({name: folder.main_object})
            objects.sections.update(measured.sections)
            objects.symbols.update(measured.symbols)
            continue
        key = folder.key(source, flags)
        if key in table.units:
            _add_unit(objects, table.units[key], folder, table.slopes.get(key, {}))
            continue
        own = {n: s for n, s in engine.sections.items() if n.startswith(f"{name}:")}
        if not own or not source.startswith("lib/model/arenite/"):
            unknown.append(source)
        objects.sections.update(own)
        objects.symbols.update({s: n for s, n in engine.symbols.items() if n in own})
    names = {d.name: d for d, _, _ in generated}
    for definition, flags, prefix in generated:
        section = Section(definition.name, definition.kind, definition.size, 0, definition.refs)
        if definition.kind == "text":
            size, stack, library = _function(definition, flags, prefix, table, names, unknown)
            section = replace(section, size=size, stack=stack, refs=(*definition.refs, *library))
        node = f"generated:{definition.name}"
        objects.sections[node] = section
        objects.symbols[definition.name] = node
    return objects, unknown


def _add_unit(
    objects: ObjectSet, unit: ObjectSet, folder: AppFolder, slopes: Mapping[str, Mapping[str, int]]
) -> None:
    """Add the sections of a measured source. Marks in its references stand for the models' names."""
    marks = {f"{mark(number)}_": prefix for number, prefix in enumerate(folder.prefixes)}

    def named(ref: str) -> str:
        begin = next((m for m in marks if ref.startswith(m)), "")
        return marks[begin] + ref.removeprefix(begin) if begin else ref

    for node, section in unit.sections.items():
        size = section.size
        for setting in BUFFERS:
            if slope := slopes.get(node, {}).get(setting):
                size += slope * folder.setting(setting)
        objects.sections[node] = replace(section, size=size, refs=tuple(map(named, section.refs)))
    objects.symbols.update(unit.symbols)


def _function(
    definition: Definition,
    flags: tuple[str, ...],
    prefix: str,
    table: AppTable,
    names: Mapping[str, Definition],
    unknown: list[str],
) -> tuple[int, int, tuple[str, ...]]:
    """Return the bytes, stack and library routines of a generated function. If the
    compiler inlines the layers, their size is part of the function that calls all of them."""
    if _LAYER.match(definition.name.removeprefix(prefix)):
        return table.functions.get(f"layer {' '.join(flags)} {definition.text.count('(&')}", (0, 0, ()))
    layers = [
        n for n in re.findall(r"\w+", definition.text) if _LAYER.match(n.removeprefix(prefix)) and n in names
    ]
    if layers:
        is_inlined = table.functions[f"layer {' '.join(flags)} 1"][0] == 0
        calls = sum(names[n].text.count("(&") if is_inlined else 1 for n in layers)
        return (*invoke_size(table, flags, calls), ())
    key = function_key(definition.text, prefix, flags)
    if key not in table.functions:
        unknown.append(definition.name)
        return 0, 0, ()
    return table.functions[key]


def invoke_size(table: AppTable, flags: tuple[str, ...], calls: int) -> tuple[int, int]:
    """Return the bytes and the stack of a function that makes ``calls`` calls of kernels. Beyond the measured numbers,
    each call adds as many bytes as the last ones."""
    mode = " ".join(flags)
    most = max(int(k.split()[-1]) for k in table.functions if k.startswith(f"invoke {mode} "))
    size, stack, _ = table.functions[f"invoke {mode} {most - (most - calls) % 2 if calls > most else calls}"]
    if calls > most:
        top = most - (most - calls) % 2
        step = size - table.functions[f"invoke {mode} {top - 2}"][0]
        size += (calls - top) // 2 * step
    return size, stack


def _stack(objects: ObjectSet, live: Mapping[str, Section]) -> int:
    """Return an upper bound of the stack: the deepest chain of calls, and below it the deepest chain of each function
    whose address is stored, because nothing calls itself."""
    stored = {
        objects.symbols.get(ref, ref)
        for node, s in live.items()
        if s.kind in ("rodata", "data")
        for ref in s.refs
    }
    depths = direct_depth(objects)
    total = depths(objects.symbols["ar_start"])
    total += sum(depths(n) for n in stored if n in live and live[n].kind == "text")
    return -(-(total + 4) // 16) * 16
