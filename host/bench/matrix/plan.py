"""``bench.toml``: boards × models × modes, read into cells.

models = ["kws.tflite", { path = "person.tflite", data = "people.npz" }]
boards = ["qemu_mps2_an386", { name = "nucleo_l4r5zi", ports = ["/dev/ttyACM0"] }]
optimise = ["speed", "ram"]
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.project import PROTOCOLS
from arenite.host.bench.matrix.cell import Cell
from arenite.host.bench.store.run_rows import BuildMode
from arenite.profiles.boards import Board, load_board

_MODES = ("optimise", "protocol", "passes", "stream_input", "mark", "cores", "health", "fast_ram")
_KEYS = ("models", "boards", *_MODES, "data", "samples", "cycles", "exclude")
_EXCLUDED_BY = ("model", "board", *_MODES)


@dataclass(frozen=True)
class MatrixPlan:
    """``skipped``: sentences about combinations that cannot run."""

    path: Path
    cells: tuple[Cell, ...]
    skipped: tuple[str, ...]


class _Reader:
    """A TOML table of one file; every error names the file and the key."""

    def __init__(self, path: Path, table: dict[str, Any]) -> None:
        self.path, self._table = path, table

    def wrong(self, key: str, value: object, requirement: str) -> UsageError:
        return UsageError(f"{self.path}: {key} is {value!r}.", f"Write {requirement}.")

    def several(self, key: str, kinds: type | tuple[type, ...], requirement: str) -> list[Any]:
        """One value or an array of values; empty when the key is missing."""
        value = self._table.get(key, [])
        values = value if isinstance(value, list) else [value]
        for item in values:
            if not isinstance(item, kinds) or (isinstance(item, bool) and kinds is not bool):
                raise self.wrong(key, item, requirement)
        if key in self._table and not values:
            raise self.wrong(key, value, requirement)
        return values

    def choice(self, key: str, allowed: tuple[str, ...]) -> list[str]:
        values = self.several(key, str, f"one or more of {', '.join(allowed)}")
        for item in values:
            if item not in allowed:
                raise self.wrong(key, item, f"one or more of {', '.join(allowed)}")
        return values

    def count(self, key: str) -> int | None:
        value = self._table.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise self.wrong(key, value, "a number of 1 or more")
        return value

    def counts(self, key: str, minimum: int, maximum: int | None = None) -> list[int]:
        """One number or an array of them."""
        requirement = f"numbers from {minimum} " + ("on" if maximum is None else f"to {maximum}")
        values = self.several(key, int, requirement)
        for item in values:
            if isinstance(item, bool) or item < minimum or (maximum is not None and item > maximum):
                raise self.wrong(key, item, requirement)
        return values

    def flag(self, key: str) -> bool | None:
        value = self._table.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def only(self, allowed: tuple[str, ...], where: str = "") -> None:
        for key in self._table:
            if key not in allowed:
                raise UsageError(
                    f"{self.path}{where} has an unknown key '{key}'.",
                    f"The keys are {', '.join(allowed)}.",
                )

    def existing(self, key: str, value: object) -> Path:
        """An existing path, relative to the file that names it."""
        if not isinstance(value, str):
            raise self.wrong(key, value, "a path")
        path = (self.path.parent / Path(value).expanduser()).resolve()
        if not path.exists():
            raise UsageError(
                f"{self.path}: {key} names {value}, but {path} does not exist.",
                "Paths are relative to the file that names them.",
            )
        return path


def read_plan(path: Path) -> MatrixPlan:
    """The cells of a file.

    Raises ``UsageError`` that names the file and the key, ``ProfileError`` for an unknown board.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(
            f"Cannot read {path}: {error.strerror}.", "Name a bench.toml; see docs/bench-matrix.md."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}.", "docs/bench-matrix.md has an example.") from error
    top = _Reader(path, table)
    top.only(_KEYS)
    models = [_model(top, item) for item in top.several("models", (str, dict), "paths of models")]
    boards = [_board(top, item) for item in top.several("boards", (str, dict), "names of boards")]
    for name, found in (("models", models), ("boards", boards)):
        if not found:
            raise UsageError(f"{path} does not have {name}.", f'Write {name} = ["..."].')
    modes = _modes(top)
    data: list[Path | None] = [
        top.existing("data", item) for item in top.several("data", str, "paths of samples")
    ]
    general = (data or [None], top.count("samples"), top.flag("cycles"))
    rules = _rules(top, table.get("exclude", []), models, boards)
    cells, skipped = [], []
    for (model, own, few), (board, ports), mode in itertools.product(models, boards, modes):
        for given in [own] if own is not None else general[0]:
            cell = Cell(model, board, mode, given, few or general[1], general[2], ports)
            if mode.protocol == "mlperf" and mode.stream_input:
                skipped.append(f"{cell.name}: the MLPerf monitor stores the whole input.")
            elif not _excluded(rules, cell):
                cells.append(cell)
    unique = tuple(dict.fromkeys(cells))
    if not unique:
        raise UsageError(f"{path} excludes every cell.", "Remove some of [[exclude]].")
    return MatrixPlan(path.resolve(), unique, tuple(skipped))


def _modes(top: _Reader) -> list[BuildMode]:
    """Every combination of the options of build and run."""
    options: dict[str, list[Any]] = {
        "optimise": top.choice("optimise", OPTIMISE_MODES),
        "protocol": top.choice("protocol", PROTOCOLS),
        "passes": top.several("passes", bool, "true, false or both"),
        "stream_input": top.several("stream_input", bool, "true, false or both"),
        "mark": top.several("mark", str, "names of pins"),
        "cores": top.counts("cores", 1, 2),
        "health": top.several("health", bool, "true, false or both"),
        "fast_ram": top.counts("fast_ram", 0),
    }
    chosen = {key: values for key, values in options.items() if values}
    return [
        BuildMode(**dict(zip(chosen, combination, strict=True)))
        for combination in itertools.product(*chosen.values())
    ]


def _model(top: _Reader, item: str | dict[str, Any]) -> tuple[Path, Path | None, int | None]:
    if isinstance(item, str):
        return top.existing("models", item), None, None
    own = _Reader(top.path, item)
    own.only(("path", "data", "samples"), ", in models,")
    path = own.existing("models.path", item.get("path"))
    data = None if item.get("data") is None else own.existing("models.data", item["data"])
    return path, data, own.count("samples")


def _board(top: _Reader, item: str | dict[str, Any]) -> tuple[Board, tuple[str, ...]]:
    if isinstance(item, str):
        item = {"name": item}
    own = _Reader(top.path, item)
    own.only(("name", "ports"), ", in boards,")
    if not isinstance(item.get("name"), str):
        raise own.wrong("boards.name", item.get("name"), "a board of `arenite boards`")
    board = load_board(item["name"])
    ports = tuple(own.several("ports", str, "serial ports"))
    if not board.emulated and not ports:
        raise UsageError(
            f"{top.path}: {board.name} is a real board without a port.",
            f'Write {{ name = "{board.name}", ports = ["/dev/ttyACM0"] }} in boards.',
        )
    return board, ports


def _rules(
    top: _Reader, rules: object, models: Sequence[tuple[Path, Any, Any]], boards: Sequence[tuple[Board, Any]]
) -> list[dict[str, Any]]:
    """The tables of ``[[exclude]]``; the values that they name must be in the file."""
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise top.wrong("exclude", rules, "[[exclude]] tables")
    known = {"model": [path.stem for path, *_ in models], "board": [board.name for board, _ in boards]}
    for rule in rules:
        _Reader(top.path, rule).only(_EXCLUDED_BY, ", in exclude,")
        for key, names in known.items():
            if key in rule and rule[key] not in names:
                raise top.wrong(f"exclude.{key}", rule[key], f"one of {', '.join(names)}")
    return rules


def _excluded(rules: Sequence[dict[str, Any]], cell: Cell) -> bool:
    """Whether all values of a rule of ``[[exclude]]`` match the cell."""
    facts = cell.to_json()
    return any(rule and all(facts[key] == value for key, value in rule.items()) for rule in rules)
