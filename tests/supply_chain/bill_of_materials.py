"""Write the bills of materials of a release in CycloneDX: ``python -m tests.supply_chain.bill_of_materials [FOLDER]``.

One file lists the locked packages, with their hashes, that a lock file in ``requirements/`` installs: ``core`` is the
package without extras, ``camera`` has those of the camera, ``release`` the tools that build a release. They come from
lock files, so they need no network and are the same on every computer. The default folder is ``out/sbom``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import write_atomic
from tests.supply_chain.project_locks import CORE, FOLDER, ROOT

VERSION = "1.6"
NAMES = (CORE, "camera", "release")


def bill_of_materials(lock: Path) -> bytes:
    """Return the bill of materials of the packages in ``lock`` as JSON. Raises ``ToolError`` if cyclonedx-bom is not
    installed or refuses the file."""
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", str(lock)]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library", "--sv", VERSION]
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        file = Path(folder) / "sbom.json"
        run = subprocess.run(
            [*command, "--output-reproducible", "--validate", "-o", str(file)], capture_output=True, text=True
        )
        if run.returncode != 0:
            raise ToolError(
                f"cyclonedx-bom made no bill of materials of {lock.name}: {run.stderr.strip()}",
                "Install it with the locked packages: ./setup.sh dev.",
            )
        bill = json.loads(file.read_bytes())
    for component in bill["components"]:
        del component["description"]  # it repeats the lines of the lock file
    return json.dumps(bill, indent=1).encode() + b"\n"


def main(folder: Path) -> None:
    for name in NAMES:
        path = folder / f"{name}.cdx.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, bill_of_materials(FOLDER / f"{name}.txt"))
        print(path)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out/sbom")
    except ToolError as error:
        sys.exit(str(error))
