"""Make the constants of a model into data that may be at any address (``esp32/model_data.h``).

The compiler of a 32-bit core compiles the generated C of the model. Its object files have every constant in a section
of its own, with a relocation for each address in it. The code in them is not used.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from arenite.errors import ToolError
from arenite.firmware.boards.cores import Core
from arenite.firmware.boards.toolchains import GCC, is_installed
from arenite.firmware.sources import ENGINE, UPDATE
from arenite.processes import temporary_folder

_MAGIC, _VERSION, _HEADER_WORDS, _ALIGN = 0x41524D44, 1, 9, 16
_IN_PAYLOAD, _IN_BLOCK, _IN_ARENA, _FUNCTION = range(4)
_FLAGS: tuple[str, ...] = ("-std=c99", "-ffreestanding", "-O0", "-fno-common", "-fkeep-static-consts")
_FLAGS += ("-fdata-sections", "-ffunction-sections", "-fno-section-anchors", "-fno-pic", "-w")
#: The variable with the arena and its guard words, and the names of the description and of the samples.
_ARENA, _MODEL, _GOLDEN = "model_memory", "model", "golden"
#: The words of addresses in data, for RISC-V and for Xtensa.
_WORD_RELOCATION = 1
_CONSTANTS = ".rodata."
#: The name of small constants of RISC-V.
_SMALL = ".srodata."


@dataclass(frozen=True)
class Constant:
    """A constant in the block that is copied to RAM. ``offset`` and ``size`` are in bytes."""

    offset: int
    size: int


@dataclass(frozen=True)
class ModelData:
    """The payload of a model, and what a firmware must know about it.

    Attributes:
        payload: The bytes that ``model_data_load`` reads.
        constants: The constants of ``model.c`` in the block that is copied to RAM, by name.
        fixed_bytes: The bytes of these constants. Behind them, the block has the name and the samples.
        block_bytes: The bytes of the block.
        arena_bytes: The bytes of the arena with its guard words.
        functions: The names of the functions that the block refers to, in the order of their numbers.
    """

    payload: bytes
    constants: Mapping[str, Constant]
    fixed_bytes: int
    block_bytes: int
    arena_bytes: int
    functions: tuple[str, ...]


@dataclass(frozen=True)
class _Section:
    """A section of an object file. ``fixups`` are the target's name and offset by the offset of each address."""

    data: bytes
    size: int
    align: int
    fixups: Mapping[int, tuple[str, int]]


def compile_model_data(sources: Mapping[str, str], core: Core) -> ModelData:
    """Return the data of the model whose generated C is ``sources``: text by file name, among them ``model.c`` and
    ``golden.c``. ``core`` is a RISC-V or Xtensa core.

    Raises ``ToolError`` if the compiler is not installed or fails.
    """
    sections: dict[str, dict[str, _Section]] = {}
    with temporary_folder("arenite-model-") as folder:
        for name, text in sources.items():
            (folder / name).write_text(text)
        for name in sources:
            if name.endswith(".c"):
                sections[name] = _read(_compile(folder, name, core))
    return _lay_out(sections)


def _compile(folder: Path, name: str, core: Core) -> Path:
    """Compile a file. Return the object file."""
    compiler = f"{core.prefix}gcc"
    if not is_installed(core, GCC):
        raise ToolError(f"{compiler} is not installed.", f"Install it: apt install {core.package}")
    output = folder / f"{name}.o"
    include = (f"-I{folder}", *ENGINE.include_flags, *UPDATE.include_flags)
    command = [compiler, *core.architecture, *_FLAGS, *include, "-c", str(folder / name), "-o", str(output)]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["it printed no message"]
        raise ToolError(f"{compiler} failed: {next((x for x in lines if 'error' in x), lines[-1])}.")
    return output


def _read(path: Path) -> dict[str, _Section]:
    """Return the sections with constants and variables of an object file by name."""
    found: dict[str, _Section] = {}
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        symbols = elf.get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        names = [section.name.replace(_SMALL, _CONSTANTS) for section in elf.iter_sections()]
        functions = {
            (symbol["st_shndx"], symbol["st_value"]): symbol.name
            for symbol in symbols.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
        }
        fixups: dict[int, dict[int, tuple[str, int]]] = {}
        for section in elf.iter_sections():
            if not isinstance(section, RelocationSection):
                continue
            target = elf.get_section(section["sh_info"])
            if not names[section["sh_info"]].startswith(_CONSTANTS):
                continue
            content, places = target.data(), fixups.setdefault(section["sh_info"], {})
            for relocation in section.iter_relocations():
                if relocation["r_info_type"] != _WORD_RELOCATION:
                    raise ToolError(f"The compiler made a relocation of another kind in {target.name}.")
                symbol = symbols.get_symbol(relocation["r_info_sym"])
                # An assembler may leave a part of the offset in the section itself.
                offset = relocation["r_addend"] + int.from_bytes(
                    content[relocation["r_offset"] :][:4], "little"
                )
                if not isinstance(symbol["st_shndx"], int):
                    places[relocation["r_offset"]] = (f"*{symbol.name}", offset)
                    continue
                offset += symbol["st_value"]
                function = functions.get((symbol["st_shndx"], offset))
                places[relocation["r_offset"]] = (
                    (names[symbol["st_shndx"]], offset) if function is None else (f"*{function}", 0)
                )
        for number, section in enumerate(elf.iter_sections()):
            kinds = (".rodata", ".data", ".bss", ".sdata", ".sbss")
            if section["sh_size"] and names[number].startswith(kinds):
                data = b"" if section["sh_type"] == "SHT_NOBITS" else section.data()
                found[names[number]] = _Section(
                    data, section["sh_size"], section["sh_addralign"], fixups.get(number, {})
                )
    return found


def _lay_out(files: Mapping[str, Mapping[str, _Section]]) -> ModelData:
    """Return the data of the sections of the object files."""
    arena = [s for sections in files.values() for name, s in sections.items() if name.startswith(".bss")]
    constants = {
        (file, name): section
        for file, sections in files.items()
        for name, section in sections.items()
        if name.startswith(_CONSTANTS)
    }
    if len(arena) != 1 or len(constants) + 1 != sum(map(len, files.values())):
        raise ToolError("The compiler made other sections than one for each constant and one for the arena.")
    exported = {key[1].rpartition(".")[2]: key for key in constants}
    moved = [key for key, section in constants.items() if section.fixups or key[0] == "model.c"]
    # The firmware knows the places of the first ones, so they may not depend on the name or on the samples.
    fixed = [key for key in moved if key[0] == "model.c" and key[1] != _CONSTANTS + "name"]
    moved = [*fixed, *(key for key in moved if key not in fixed)]
    places, block_bytes = _place(moved, constants, 0)
    fixed_bytes = max((places[key] + constants[key].size for key in fixed), default=0)
    block_at = _up(4 * _HEADER_WORDS)
    count = sum(len(constants[key].fixups) for key in moved)
    fixups_at = block_at + _up(block_bytes)
    stays = [key for key in constants if key not in moved]
    stay_places, end = _place(stays, constants, _up(fixups_at + 4 * count))
    block, words = bytearray(_up(block_bytes)), list[int]()
    functions: list[str] = []
    for key in moved:
        section, at = constants[key], places[key]
        block[at : at + section.size] = section.data
        for offset, (name, addend) in section.fixups.items():
            kind, value = _target(key[0], name, addend, exported, places, stay_places, functions)
            block[at + offset : at + offset + 4] = struct.pack("<I", value)
            words.append(kind << 30 | (at + offset))
    payload = bytearray(end)
    model, golden = places[exported[_MODEL]], places[exported[_GOLDEN]]
    header = (_MAGIC, _VERSION, end, block_at, block_bytes, fixups_at, count, model, golden)
    payload[: 4 * _HEADER_WORDS] = struct.pack(f"<{_HEADER_WORDS}I", *header)
    payload[block_at : block_at + len(block)] = block
    payload[fixups_at : fixups_at + 4 * count] = struct.pack(f"<{count}I", *words)
    for key, at in stay_places.items():
        payload[at : at + constants[key].size] = constants[key].data
    return ModelData(
        bytes(payload),
        {key[1].removeprefix(_CONSTANTS): Constant(places[key], constants[key].size) for key in fixed},
        fixed_bytes,
        block_bytes,
        arena[0].size,
        tuple(functions),
    )


def _target(
    file: str,
    name: str,
    addend: int,
    exported: Mapping[str, tuple[str, str]],
    places: Mapping[tuple[str, str], int],
    stay_places: Mapping[tuple[str, str], int],
    functions: list[str],
) -> tuple[int, int]:
    """Return the kind and the value of an address: ``addend`` bytes behind the start of section ``name`` of ``file``,
    or of a symbol of another file whose name follows an asterisk. New functions are added to ``functions``."""
    if name.startswith(".bss") or name == f"*{_ARENA}":
        return _IN_ARENA, addend
    key = exported.get(name[1:], ("", "")) if name.startswith("*") else (file, name)
    if key in places:
        return _IN_BLOCK, places[key] + addend
    if key in stay_places:
        return _IN_PAYLOAD, stay_places[key] + addend
    function = name[1:]
    if addend or not name.startswith("*"):
        raise ToolError(f"A constant of the model refers to {name}, which is neither data nor a function.")
    if function not in functions:
        functions.append(function)
    return _FUNCTION, functions.index(function)


def _place(
    keys: Sequence[tuple[str, str]], sections: Mapping[tuple[str, str], _Section], at: int
) -> tuple[dict[tuple[str, str], int], int]:
    """Return the offsets of sections that follow each other from ``at`` on, and their end."""
    places = {}
    for key in keys:
        align = max(sections[key].align, 4)
        at = -(-at // align) * align
        places[key] = at
        at += sections[key].size
    return places, at


def _up(value: int) -> int:
    return -(-value // _ALIGN) * _ALIGN
