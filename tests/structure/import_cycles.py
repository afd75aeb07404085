"""Print import cycles: files that import or include each other, directly or through other files.

    python -m tests.structure.import_cycles

Every import counts, also one inside a function or only for type checking. A C source and the header of the same name
are one unit, and an ``#include`` of either one leads to the unit. The exit code is 1 if there is a cycle.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("converters", "firmware", "host", "models", "profiles")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_SKIPPED = {"__pycache__", ".venv"}


def python_imports() -> dict[str, set[str]]:
    """Return the imports of each Python file of the package, the tests and the benchmarks: a map from its path to the
    paths of the files that it imports. Other imports are left out."""
    paths = {_module(path): path for path in _files(("arenite", *FOLDERS, "tests", "benchmarks"), (".py",))}
    return {
        str(path.relative_to(ROOT)): {
            str(paths[name].relative_to(ROOT)) for name in _imported(path, paths) if paths[name] != path
        }
        for path in paths.values()
    }


def c_includes() -> dict[str, set[str]]:
    """Return a map from each C unit to the units that it includes. A unit is a source with its header, named by their
    path without suffix."""
    paths = list(_files(FOLDERS, (".c", ".h", ".cpp")))
    units = {path.name: str(path.relative_to(ROOT).with_suffix("")) for path in paths}
    graph: dict[str, set[str]] = {unit: set() for unit in units.values()}
    for path in paths:
        here = units[path.name]
        for included in _INCLUDE.findall(path.read_text("utf-8")):
            unit = units.get(Path(included).name)
            if unit is not None and unit != here:
                graph[here].add(unit)
    return graph


def import_cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the cycles in ``graph`` as lists of names: its strongly connected components with more than one file.
    This is Tarjan's algorithm without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    components: list[list[str]] = []
    for start in sorted(graph):
        if start in index:
            continue
        work: list[tuple[str, Iterator[str]]] = []

        def enter(node: str, work: list[tuple[str, Iterator[str]]] = work) -> None:
            index[node] = low[node] = len(index)
            stack.append(node)
            on_stack.add(node)
            work.append((node, iter(sorted(graph[node]))))

        enter(start)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in index:
                    enter(other)
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        components.append(sorted(component))
    return sorted(components)


def _files(folders: tuple[str, ...], endings: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files with one of the suffixes. Skip those below the symbolic links of the folder ``arenite``."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            linked = folder == "arenite" and path.parent != ROOT / "arenite"
            if path.suffix in endings and path.is_file() and not linked and not _SKIPPED & set(path.parts):
                yield path


def _module(path: Path) -> str:
    """Return the name with which Python imports a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(("arenite", *parts) if parts[0] in FOLDERS else parts)


def _imported(path: Path, paths: Mapping[str, Path]) -> Iterator[str]:
    """Yield the names of the modules in ``paths`` that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # Both `from package import module` and `from module import name` lead to the module.
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in paths else node.module for name in submodules]
        else:
            continue
        yield from (name for name in names if name in paths)


def main() -> int:
    cycles = [*import_cycles(python_imports()), *import_cycles(c_includes())]
    for component in cycles:
        print("import cycle: " + ", ".join(component))
    print(f"import cycles: {len(cycles)}")
    return 1 if cycles else 0


if __name__ == "__main__":
    sys.exit(main())
