"""The udev rules contain every USB id of every profile once, in a file that udev accepts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.host.cli.main import main
from arenite.host.link.udev import rules
from arenite.profiles.boards import all_boards

_TERM = re.compile(r'(?:[A-Z]+(?:\{\w+\})?(?:==|!=|=|\+=)"[^"]*")')


def test_every_id_has_one_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boards", "--udev"]) == 0
    text = capsys.readouterr().out
    id_pairs = re.findall(r'idVendor\}=="(\w{4})", ATTRS\{idProduct\}=="(\w{4})"', text)
    assert len(id_pairs) == len(set(id_pairs))
    ids = {f"{vendor}:{product}" for vendor, product in id_pairs}
    for board in all_boards():
        assert {*board.usb.ids, *board.usb.boot} <= ids, board.name


def test_the_json_contains_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boards", "--udev", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": "arenite.udev/1", "rules": rules()}


def test_udev_and_ports_exclude_each_other() -> None:
    assert main(["boards", "--udev", "--ports"]) == 2


def test_each_line_consists_of_conditions_and_assignments() -> None:
    lines = [line for line in rules().splitlines() if not line.startswith("#")]
    for line in lines:
        assert all(_TERM.fullmatch(term) for term in line.split(", ")), line
    assert lines[-1] == 'LABEL="arenite_end"' and sum("GOTO" in line for line in lines) == 2


def test_udev_accepts_the_rules(tmp_path: Path) -> None:
    udevadm = shutil.which("udevadm")
    if udevadm is None:
        pytest.skip("udevadm is not installed")
    path = tmp_path / "70-arenite.rules"
    path.write_text(rules())
    process = subprocess.run([udevadm, "verify", str(path)], capture_output=True, text=True)
    if "Unknown command" in process.stderr or "nvalid" in process.stderr:
        pytest.skip("this udevadm is older than its `verify`")
    assert process.returncode == 0, process.stdout + process.stderr
