"""Check that a tag, the version in pyproject.toml and the changelog name the same release.

Usage: check_release.py v0.2.0. If they differ, the exit code is 1, and a sentence says why.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problem(tag: str, root: Path = ROOT) -> str | None:
    """Return a sentence that says why ``tag`` cannot be released from the tree at ``root``, or None if it can."""
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
