"""Tests that the bill of materials of a release lists the locked packages with their hashes."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.converters.importers.make_locks import entries
from tests.supply_chain.bill_of_materials import NAMES, VERSION, bill_of_materials
from tests.supply_chain.project_locks import CORE, FOLDER, ROOT, project

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("cyclonedx_py") is None, reason="cyclonedx-bom makes the bill of materials"
)


@pytest.mark.slow
def test_the_bill_lists_every_locked_package_with_its_hashes() -> None:
    lock = FOLDER / f"{CORE}.txt"
    text = bill_of_materials(lock)
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", VERSION)
    main = bill["metadata"]["component"]
    assert (main["name"], main["version"]) == ("arenite", project()["project"]["version"])
    assert main["licenses"] == [{"acknowledgement": "declared", "expression": "Apache-2.0 AND MIT"}]
    listed = {
        (component["purl"], component["version"]): {
            each["content"] for reference in component["externalReferences"] for each in reference["hashes"]
        }
        for component in bill["components"]
    }
    locked = {}
    for entry in entries(lock.read_text("utf-8")):
        name, version = re.split("==", entry.split()[0])
        locked[f"pkg:pypi/{name}@{version}", version] = set(re.findall(r"sha256:(\w+)", entry))
    assert listed == locked and len(locked) > 10
    # The same lock file gives the same bytes, so that anyone can make the file again.
    assert bill_of_materials(lock) == text


@pytest.mark.slow
def test_the_documented_command_writes_all_bills(tmp_path: Path) -> None:
    command = "-m tests.supply_chain.bill_of_materials"
    assert command in (ROOT / "Makefile").read_text("utf-8")
    run = subprocess.run(
        [sys.executable, *command.split(), str(tmp_path / "sbom")], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert {path.name for path in (tmp_path / "sbom").iterdir()} == {f"{name}.cdx.json" for name in NAMES}


def test_a_lock_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    from arenite.errors import ToolError

    with pytest.raises(ToolError, match=r"no bill of materials of nothing\.txt"):
        bill_of_materials(tmp_path / "nothing.txt")
