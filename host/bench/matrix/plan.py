"""Read ``bench.toml``, and combine its boards, models and build options into cells. An example of the file:

models = ["kws.tflite", { path = "person.tflite", data = "people.npz" }]
boards = ["qemu_mps2_an386", { name = "nucleo_l4r5zi", ports = ["/dev/ttyACM0"] }]
optimise = ["speed", "ram"]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.project import PROTOCOLS
from arenite.host.bench.matrix.cell import Cell
from arenite.host.bench.store.run_rows import BuildMode
from arenite.input_files import parse_toml, read_text
from arenite.profiles.boards import Board, load_board

_MODES = ("optimise", "protocol", "passes", "stream_input", "mark", "cores", "health", "fast_ram")
_KEYS = ("models", "boards", *_MODES, "data", "samples", "cycles", "exclude")
_EXCLUDE_KEYS = ("model", "board", *_MODES)


@dataclass(frozen=True)
class MatrixPlan:
    """The cells of the file ``path``. ``skipped`` has one sentence for each combination that cannot run."""

    path: Path
    cells: tuple[Cell, ...]
    skipped: tuple[str, ...]


class _Reader:
    """Reads the keys of a TOML table. Every error names the file and the key."""

    def __init__(self, path: Path, table: dict[str, Any]) -> None:
        self.path, self._table = path, table

    def error_for(self, key: str, value: object, requirement: str) -> UsageError:
        return UsageError(f"{self.path}: {key} is {value!r}.", f"Write {requirement}.")

    def values_of(self, key: str, kinds: type | tuple[type, ...], requirement: str) -> list[Any]:
        """Return one value or an array of values as a list. The list is empty if the key is missing."""
        value = self._table.get(key, [])
        values = value if isinstance(value, list) else [value]
        for item in values:
            if not isinstance(item, kinds) or (isinstance(item, bool) and kinds is not bool):
                raise self.error_for(key, item, requirement)
        if key in self._table and not values:
            raise self.error_for(key, value, requirement)
        return values

    def choice(self, key: str, allowed: tuple[str, ...]) -> list[str]:
        values = self.values_of(key, str, f"one or more of {', '.join(allowed)}")
        for item in values:
            if item not in allowed:
                raise self.error_for(key, item, f"one or more of {', '.join(allowed)}")
        return values

    def count(self, key: str) -> int | None:
        value = self._table.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise self.error_for(key, value, "a number of 1 or more")
        return value

    def counts(self, key: str, minimum: int, maximum: int | None = None) -> list[int]:
        """Return one number or an array of numbers as a list."""
        requirement = f"numbers from {minimum} " + ("on" if maximum is None else f"to {maximum}")
        values = self.values_of(key, int, requirement)
        for item in values:
            if isinstance(item, bool) or item < minimum or (maximum is not None and item > maximum):
                raise self.error_for(key, item, requirement)
        return values

    def flag(self, key: str) -> bool | None:
        value = self._table.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.error_for(key, value, "true or false")
        return value

    def reject_unknown_keys(self, allowed: tuple[str, ...], where: str = "") -> None:
        for key in self._table:
            if key not in allowed:
                raise UsageError(
                    f"{self.path}{where} has an unknown key '{key}'.",
                    f"The keys are {', '.join(allowed)}.",
                )

    def existing_path(self, key: str, value: object) -> Path:
        """Return an existing path. A relative path starts at the folder of the file that names it."""
        if not isinstance(value, str):
            raise self.error_for(key, value, "a path")
        path = (self.path.parent / Path(value).expanduser()).resolve()
        if not path.exists():
            raise UsageError(
                f"{self.path}: {key} names {value}, but {path} does not exist.",
                "Relative paths start at the folder of this file.",
            )
        return path


def read_plan(path: Path) -> MatrixPlan:
    """Return the cells of a file.

    Raises ``UsageError`` that names the file and the key if a value is invalid, and ``ProfileError`` for an unknown
    board.
    """
    try:
        table = parse_toml(read_text(path))
    except OSError as error:
        raise UsageError(
            f"Cannot read {path}: {error.strerror}.", "Name a bench.toml; see docs/bench-matrix.md."
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}.", "docs/bench-matrix.md has an example.") from error
    reader = _Reader(path, table)
    reader.reject_unknown_keys(_KEYS)
    models = [_model(reader, item) for item in reader.values_of("models", (str, dict), "paths of models")]
    boards = [_board(reader, item) for item in reader.values_of("boards", (str, dict), "names of boards")]
    for key, entries in (("models", models), ("boards", boards)):
        if not entries:
            raise UsageError(f"{path} has no {key}.", f'Write {key} = ["..."].')
    modes = _modes(reader)
    data: list[Path | None] = [
        reader.existing_path("data", item) for item in reader.values_of("data", str, "paths of samples")
    ]
    all_samples, all_cycles = reader.count("samples"), reader.flag("cycles")
    rules = _exclude_rules(reader, table.get("exclude", []), models, boards)
    cells, skipped = [], []
    for (model, model_data, model_samples), (board, ports), mode in itertools.product(models, boards, modes):
        for samples in [model_data] if model_data is not None else data or [None]:
            cell = Cell(model, board, mode, samples, model_samples or all_samples, all_cycles, ports)
            if mode.protocol == "mlperf" and mode.stream_input:
                skipped.append(
                    f"{cell.name}: stream_input does not apply, because the MLPerf monitor stores the whole input."
                )
            elif not _is_excluded(rules, cell):
                cells.append(cell)
    unique = tuple(dict.fromkeys(cells))
    if not unique:
        raise UsageError(f"{path} excludes every cell.", "Remove at least one of its [[exclude]] tables.")
    return MatrixPlan(path.resolve(), unique, tuple(skipped))


def _modes(reader: _Reader) -> list[BuildMode]:
    """Return every combination of the options for build and run."""
    options: dict[str, list[Any]] = {
        "optimise": reader.choice("optimise", OPTIMISE_MODES),
        "protocol": reader.choice("protocol", PROTOCOLS),
        "passes": reader.values_of("passes", bool, "true, false or both"),
        "stream_input": reader.values_of("stream_input", bool, "true, false or both"),
        "mark": reader.values_of("mark", str, "names of pins"),
        "cores": reader.counts("cores", 1, 2),
        "health": reader.values_of("health", bool, "true, false or both"),
        "fast_ram": reader.counts("fast_ram", 0),
    }
    listed = {key: values for key, values in options.items() if values}
    return [
        BuildMode(**dict(zip(listed, combination, strict=True)))
        for combination in itertools.product(*listed.values())
    ]


def _model(reader: _Reader, item: str | dict[str, Any]) -> tuple[Path, Path | None, int | None]:
    """Return (path of the model, its samples or None, number of samples or None) from an entry of ``models``."""
    if isinstance(item, str):
        return reader.existing_path("models", item), None, None
    item_reader = _Reader(reader.path, item)
    item_reader.reject_unknown_keys(("path", "data", "samples"), ", in models,")
    path = item_reader.existing_path("models.path", item.get("path"))
    data = None if item.get("data") is None else item_reader.existing_path("models.data", item["data"])
    return path, data, item_reader.count("samples")


def _board(reader: _Reader, item: str | dict[str, Any]) -> tuple[Board, tuple[str, ...]]:
    """Return (board, its ports) from an entry of ``boards``."""
    if isinstance(item, str):
        item = {"name": item}
    item_reader = _Reader(reader.path, item)
    item_reader.reject_unknown_keys(("name", "ports"), ", in boards,")
    if not isinstance(item.get("name"), str):
        raise item_reader.error_for("boards.name", item.get("name"), "a board of `arenite boards`")
    board = load_board(item["name"])
    ports = tuple(item_reader.values_of("ports", str, "serial ports"))
    if not board.emulated and not ports:
        raise UsageError(
            f"{reader.path}: {board.name} is a real board without a port.",
            f'Write {{ name = "{board.name}", ports = ["/dev/ttyACM0"] }} in boards.',
        )
    return board, ports


def _exclude_rules(
    reader: _Reader,
    rules: object,
    models: Sequence[tuple[Path, Any, Any]],
    boards: Sequence[tuple[Board, Any]],
) -> list[dict[str, Any]]:
    """Return the ``[[exclude]]`` tables. The models and boards that they name must be in the file."""
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise reader.error_for("exclude", rules, "[[exclude]] tables")
    known_names = {"model": [path.stem for path, *_ in models], "board": [board.name for board, _ in boards]}
    for rule in rules:
        _Reader(reader.path, rule).reject_unknown_keys(_EXCLUDE_KEYS, ", in exclude,")
        for key, names in known_names.items():
            if key in rule and rule[key] not in names:
                raise reader.error_for(f"exclude.{key}", rule[key], f"one of {', '.join(names)}")
    return rules


def _is_excluded(rules: Sequence[dict[str, Any]], cell: Cell) -> bool:
    """Return whether there is an ``[[exclude]]`` table whose values all match the cell."""
    facts = cell.to_json()
    return any(rule and all(facts[key] == value for key, value in rule.items()) for rule in rules)
