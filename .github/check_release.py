"""Check that a tag, the version in pyproject.toml and the changelog name the same release: check_release.py v0.2.0.

Exits with 1 and a sentence when they do not.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problem(tag: str, root: Path = ROOT) -> str | None:
    """Why ``tag`` cannot be released from the tree at ``root``, as a sentence; ``None`` when it can."""
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if tag != f"v{version}":
        return f"The tag is {tag}, but pyproject.toml has version {version}, so the tag should be v{version}."
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        return f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'. Write one before tagging."
    citation = (root / "CITATION.cff").read_text("utf-8")
    if not re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE):
        return f"CITATION.cff does not name version {version}. Change its version and date-released."
    return None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: check_release.py TAG")
    sys.exit(problem(sys.argv[1]))
