"""`arenite fit --agent` shows what the agent of a fleet adds."""

from __future__ import annotations

from pathlib import Path

from arenite.firmware.update.program import AgentShape
from arenite.host.update.agent_cost import ram_bytes
from arenite.profiles.boards import all_boards
from tests.host.cli.conftest import Arenite, arenite
from tests.host.small_graphs import CLASSES, classifier, save

__all__ = ["arenite"]


def test_the_agent_is_in_the_output(tmp_path: Path, arenite: Arenite) -> None:
    model = save(classifier(), tmp_path / "model.tflite")
    ram = ram_bytes(AgentShape(CLASSES, True))
    shown = arenite("fit", model, "--board", "qemu_microbit", "--agent")
    assert (
        f"qemu_microbit: the agent of a fleet adds {ram} bytes of RAM and ~1,512 bytes of flash" in shown.out
    )
    boards = {entry["board"]: entry for entry in arenite("fit", model, "--agent", "--json").json["boards"]}
    chips = {board.name for board in all_boards() if board.espressif is not None}
    assert {name for name, entry in boards.items() if "agent" in entry} == {
        *("qemu_microbit", "qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"),
        *chips,
    }
    for board, flash in (("qemu_mps2_an500", 1436), ("esp32-c3-devkitm-1", 2155), ("esp32dev", 1936)):
        assert boards[board]["agent"] == {"ram": ram, "flash": {"value": flash, "kind": "estimated"}}
    assert "agent of a fleet" not in arenite("fit", model, "--board", "qemu_microbit").out


def test_mistakes_are_explained(tmp_path: Path, arenite: Arenite) -> None:
    model = save(classifier(), tmp_path / "model.tflite")
    arenite("fit", model, "--board", "qemu_mps2_an505", "--agent").refused(
        2, "no firmware with an agent for qemu_mps2_an505"
    )
    arenite("fit", model, "--board", "wasm", "--agent").refused(2, "--agent predicts the program")
    arenite("fit", tmp_path, "--agent").refused(2, "--agent predicts the program")
