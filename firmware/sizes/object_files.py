"""Read compiled object files: every section that would reach flash or RAM, its size and what it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Flags of an ELF section: SHF_EXECINSTR, SHF_WRITE and SHF_ALLOC.
_EXEC, _WRITE, _ALLOC = 4, 1, 2

#: Sections that Arenite's linker scripts discard.
_DISCARDED = re.compile(r"\.(comment|note|eh_frame|ARM\.(exidx|extab)|xtensa\.info|xt\.)")


#: Prefix of the absolute symbol that states the stack frame of a function written in assembly.
_ASSEMBLY_FRAME = "ar_stack_"


#: The first part of the node names of the compilers' runtime libraries.
LIBRARIES = ("libgcc/", "compiler_rt/")


def is_library(node: str) -> bool:
    """Return whether a node is a section of a compiler's runtime library."""
    return node.startswith(LIBRARIES)


@dataclass(frozen=True)
class Section:
    """One input section of the linker. Sections of one file with the same name count as one section.

    ``kind``: "text", "rodata", "data", "bss", "arena", "noinit", "weights" or "vectors". ``size`` and ``stack`` are in
    bytes; ``stack`` is the largest stack frame of its functions. ``refs``: what the section refers to, as the names of
    other sections in the form ``file:section`` (node names), or as symbols of other files.
    """

    name: str
    kind: str
    size: int
    stack: int
    refs: tuple[str, ...]


@dataclass
class ObjectSet:
    """The graph of the sections: ``sections`` by node name (``file:section``), and in ``symbols`` the node name of the
    section that defines each global symbol."""

    sections: dict[str, Section] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the set in the form in which ``profiles/sizes/`` stores it."""
        return {
            "sections": {
                node: [s.kind, s.size, s.stack, *sorted(s.refs)] for node, s in sorted(self.sections.items())
            },
            "symbols": dict(sorted(self.symbols.items())),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ObjectSet:
        """Return the set that ``to_json`` converted to ``data``."""
        sections = {
            node: Section(node.split(":", 1)[1], row[0], row[1], row[2], tuple(row[3:]))
            for node, row in data["sections"].items()
        }
        return ObjectSet(sections, dict(data["symbols"]))

    def reachable(self, roots: Iterable[str]) -> set[str]:
        """Return the nodes that the linker's garbage collection keeps if it starts from ``roots``, symbols or nodes."""
        reached: set[str] = set()
        queue = [self.symbols.get(r, r) for r in roots]
        while queue:
            node = queue.pop()
            if node in reached or node not in self.sections:
                continue
            reached.add(node)
            queue += [self.symbols.get(r, r) for r in self.sections[node].refs]
        return reached


def read_objects(files: Mapping[str, Path]) -> ObjectSet:
    """Return the sections of object files that reach flash or RAM, and the global symbols that they define.

    ``files`` maps the first part of the node names (``file:section``) to the path of an object file. Files of libraries
    must come last, because the first definition of a symbol is used.

    The stack frames of functions are listed in the ``.su`` file beside the object file (gcc's -fstack-usage), or in the
    section .stack_sizes of the object file (clang's -fstack-size-section). For a function with inline assembly, an
    absolute symbol ``ar_stack_<function>`` replaces the compiler's value: ``.set ar_stack_f, 44`` states 44 bytes for
    ``f``.
    """
    from elftools.elf.elffile import ELFFile

    objects = ObjectSet()
    for label, path in files.items():
        with path.open("rb") as stream:
            _read(ELFFile(stream), label, _stack_usage(path), objects)
    return objects


def _stack_usage(obj: Path) -> dict[str, int]:
    """Return the stack bytes of each function in the ``.su`` file beside an object; an empty dictionary if there is no
    such file."""
    su = obj.with_suffix(".su")
    usage: dict[str, int] = {}
    if su.exists():
        for line in su.read_text().splitlines():
            location, size, _ = line.split("\t")
            usage[location.rsplit(":", 1)[1]] = int(size)
    return usage


def _assembly_frames(symbols: Iterable[Any]) -> dict[str, int]:
    """Return the stack bytes of each function that an absolute symbol ``ar_stack_<function>`` of an object states."""
    return {
        s.name.removeprefix(_ASSEMBLY_FRAME): s["st_value"]
        for s in symbols
        if s["st_shndx"] == "SHN_ABS" and s.name.startswith(_ASSEMBLY_FRAME)
    }


def _listed_frames(data: bytes) -> list[int]:
    """Return the stack bytes of each function in a section .stack_sizes: its entries are an address of four bytes, and
    the bytes as a ULEB128 number."""
    frames, position = [0], 0
    while position < len(data):
        position, value, shift = position + 4, 0, 0
        while True:
            byte = data[position]
            value |= (byte & 127) << shift
            position, shift = position + 1, shift + 7
            if byte < 128:
                break
        frames.append(value)
    return frames


def _kind(name: str, flags: int, nobits: bool) -> str:
    """Return ``Section.kind``. ``nobits``: the section has no contents in the file."""
    if name.startswith(".vectors"):
        return "vectors"
    if name.startswith(".noinit"):
        return "noinit"
    if ".ar_weights" in name:
        return "weights"
    if ".bss.ar_arena" in name:
        return "arena"
    if nobits:
        return "bss"
    if flags & _WRITE:
        return "data"
    return "text" if flags & _EXEC else "rodata"


def _read(elf: Any, label: str, stack: Mapping[str, int], objects: ObjectSet) -> None:
    """Add the sections and symbols of one object file to ``objects``. ``stack``: stack bytes by function."""
    from elftools.elf.relocation import RelocationSection
    from elftools.elf.sections import SymbolTableSection

    sections = list(elf.iter_sections())
    table = next((s for s in sections if isinstance(s, SymbolTableSection)), None)
    if table is None:
        return
    symbols = list(table.iter_symbols())
    loaded = {
        k: s
        for k, s in enumerate(sections)
        if s["sh_flags"] & _ALLOC and s["sh_size"] and not _DISCARDED.match(s.name)
    }
    stack = {**stack, **_assembly_frames(symbols)}
    frames: dict[int, int] = {}
    for symbol in symbols:
        index = symbol["st_shndx"]
        if not isinstance(index, int) or index not in loaded:
            continue
        node = f"{label}:{sections[index].name}"
        if symbol["st_info"]["bind"] != "STB_LOCAL":
            # The linker does not use a library's definition of a symbol that is already defined.
            objects.symbols.setdefault(symbol.name, node)
        if symbol["st_info"]["type"] == "STT_FUNC":
            # gcc adds these endings to the names of functions that it has specialized or split.
            base = re.sub(r"\.(constprop|isra|part|cold)(\.\d+)*", "", symbol.name)
            frames[index] = max(frames.get(index, 0), stack.get(symbol.name, stack.get(base, 0)))
    for section in sections:
        if section.name == ".stack_sizes":
            code = section["sh_link"]  # the section of the functions
            frames[code] = max(frames.get(code, 0), *_listed_frames(section.data()))
    refs: dict[int, set[str]] = {k: set() for k in loaded}
    for section in sections:
        if isinstance(section, RelocationSection) and section["sh_info"] in loaded:
            for relocation in section.iter_relocations():
                target = symbols[relocation["r_info_sym"]]
                index = target["st_shndx"]
                # Another file's definition replaces a weak one.
                is_weak = target["st_info"]["bind"] == "STB_WEAK"
                if (
                    isinstance(index, int)
                    and index in loaded
                    and not (is_weak and label.startswith("compiler_rt/"))
                ):
                    refs[section["sh_info"]].add(f"{label}:{sections[index].name}")
                elif target.name:
                    refs[section["sh_info"]].add(target.name)
    for k, s in loaded.items():
        node = f"{label}:{s.name}"
        kind = _kind(s.name, s["sh_flags"], s["sh_type"] == "SHT_NOBITS")
        old = objects.sections.get(node)
        # If another section of this file has the same name, this section begins after it, at a multiple of 4.
        size = s["sh_size"] + (-(-old.size // 4) * 4 if old else 0)
        joined = set(refs[k]) | (set(old.refs) if old else set())
        joined.discard(node)
        objects.sections[node] = Section(
            s.name, kind, size, max(frames.get(k, 0), old.stack if old else 0), tuple(sorted(joined))
        )
