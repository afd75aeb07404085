"""The measured sizes of the sources of applications, by the text that the compiler saw.

Each source file, compiled as applications compile it, is stored under a key: a digest of its text with all headers
that it includes, in which the model's name and the sizes of its buffers do not count. Functions that are generated for
a model are stored one by one, under a digest of their text without numbers. A source that was never measured has no
key, so an old table is never used for a new source. ``make sizes`` writes the tables.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from arenite.firmware.app.project import MAIN, shipped_main
from arenite.firmware.generator.output_folder import MANIFEST
from arenite.firmware.generator.shared_arena import ARENA_STEM
from arenite.firmware.sizes.generated_c import normalized, without_comments
from arenite.firmware.sizes.object_files import ObjectSet
from arenite.firmware.sizes.targets import SIZES

FOLDER = SIZES.parent / "app_sizes"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.MULTILINE)
#: The settings that are only sizes of arrays.
BUFFERS = ("SENSOR_ROOM", "APP_EVENTS")


@dataclass(frozen=True)
class AppTable:
    """The sizes of one board.

    ``units`` are the sections of each source by its key, and ``slopes`` the bytes that a section of a source grows with
    each setting of ``BUFFERS``. ``functions`` has the bytes, stack and library routines of a generated function by its
    key, and those of a function that calls N layers by the key "invoke FLAGS N". ``structs`` are the bytes of
    structures, and ``library`` the routines of the compiler that applications use.
    """

    compiler: str
    units: Mapping[str, ObjectSet]
    slopes: Mapping[str, Mapping[str, Mapping[str, int]]]
    functions: Mapping[str, tuple[int, int, tuple[str, ...]]]
    structs: Mapping[str, int]
    library: ObjectSet


@cache
def app_table(board: str) -> AppTable | None:
    """Return the table of a board, or None if there is none."""
    path = FOLDER / f"{board}.json"
    if not path.is_file():
        return None
    data = json.loads(path.read_text())
    return AppTable(
        data["compiler"],
        {key: ObjectSet.from_json(value) for key, value in data["units"].items()},
        data["slopes"],
        {key: (row[0], row[1], tuple(row[2])) for key, row in data["functions"].items()},
        data["structs"],
        ObjectSet.from_json(data["library"]),
    )


@dataclass(frozen=True)
class AppFolder:
    """The folder of an application: its manifest, and the text of its files when they are needed."""

    path: Path
    manifest: Mapping[str, Any]

    @staticmethod
    def read(path: Path) -> AppFolder:
        """Return the application in ``path``, which has a manifest."""
        return AppFolder(path, json.loads((path / MANIFEST).read_text("utf-8")))

    @property
    def shipped_main(self) -> str:
        """The program that `arenite app` writes for this sensor."""
        return shipped_main(self.manifest.get("sensor") == "camera")

    @property
    def is_edited(self) -> bool:
        """Whether the user changed the program."""
        return (self.path / MAIN).read_text("utf-8") != self.shipped_main

    @property
    def main_object(self) -> Path | None:
        """The object file of a changed program, if it was built since the change."""
        path = self.path / ".pio/build/direct" / f"{MAIN}.o"
        if not self.is_edited or not path.is_file():
            return None
        return path if path.stat().st_mtime >= (self.path / MAIN).stat().st_mtime else None

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes of the models' C names."""
        entries = (self.manifest["model"], self.manifest.get("cascade"))
        return tuple(f"{entry['name']}_" for entry in entries if entry is not None)

    def prefix_of(self, source: str) -> str:
        """Return the prefix of the model that a generated source belongs to; the first one for a source of none."""
        return next(
            (p for p in self.prefixes if Path(source).name in self._own_names(p, ".c")), self.prefixes[0]
        )

    def _own_names(self, prefix: str, suffix: str) -> set[str]:
        """Return the names of the files that are written for the model with this prefix."""
        return {f"{prefix}{part}{suffix}" for part in ("model", "weights", "processing")}

    @property
    def units(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The path of each source in the build, and its compiler flags."""
        for unit in self.manifest["build"]["units"]:
            yield unit["source"], tuple(unit["flags"])

    def text(self, source: str) -> str:
        """Return the text of a file; for the user's program, that of the one that `arenite app` writes."""
        if source == MAIN:
            return self.shipped_main
        return (self.path / source).read_text("utf-8")

    def is_generated(self, source: str) -> bool:
        """Return whether a source is written for one model, so that only its functions can be measured."""
        own = {name for prefix in self.prefixes for name in self._own_names(prefix, ".c")}
        return Path(source).name in own | {"app_model.c", "app_settings.c", "golden.c", f"{ARENA_STEM}.c"}

    def setting(self, name: str) -> int:
        """Return a setting of ``BUFFERS``; 0 if the application has none of that name."""
        match = re.search(rf"#define {name} (\d+)u?", self.text("lib/app/app_settings.h"))
        return int(match[1]) if match else 0

    def key(self, source: str, flags: tuple[str, ...]) -> str:
        """Return the key of a source."""
        own_headers = {f"{p}{part}.h" for p in self.prefixes for part in ("model", "processing")}
        own_headers.add(f"{ARENA_STEM}.h")
        parts, names = [" ".join(flags)], set[Path]()
        waiting = [Path(source)]
        while waiting:
            path = waiting.pop(0)
            if path in names:
                continue
            names.add(path)
            text = self.text(str(path))
            waiting += [found for name in _INCLUDE.findall(text) if (found := self._header(path, name))]
            is_own = path.name in own_headers
            text = re.sub(rf"#define ({'|'.join(BUFFERS)}) \d+u?", r"#define \1 0", without_comments(text))
            parts.append(
                f"{normalized(path.name, self.prefixes, True)}: {normalized(text, self.prefixes, not is_own)}"
            )
        defines = [f for f in self.manifest["build"]["flags"] if f.startswith("-D")]
        parts += [d for d in defines if not d.startswith(tuple(f"-D{p.upper()}" for p in self.prefixes))]
        return f"{Path(source).name} {hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"

    def _header(self, source: Path, name: str) -> Path | None:
        """Return the path of an included header in the folder."""
        places = (
            source.parent,
            *(Path(f[2:]) for f in self.manifest["build"]["flags"] if f.startswith("-I")),
        )
        for place in places:
            if (self.path / place / name).is_file():
                return place / name
        return None


def function_key(text: str, prefix: str, flags: tuple[str, ...]) -> str:
    """Return the key of a generated function."""
    return hashlib.sha256(f"{' '.join(flags)}: {normalized(text, [prefix])}".encode()).hexdigest()[:16]
