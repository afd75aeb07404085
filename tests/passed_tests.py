"""Two test runs of one tree that share the work: the first writes which tests passed, the second leaves those out.

``.ci/run`` runs ``make test`` and then ``make test-all`` on the same files, with more packages in the second run. A
test that was skipped in the first run is not in its file, so the second run tries it again. A property-based test also
runs again, because the first run tries fewer examples.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def add_options(parser: pytest.Parser) -> None:
    """Add ``--write-passed FILE`` and ``--skip-passed FILE``."""
    group = parser.getgroup("passed tests")
    group.addoption(
        "--write-passed", type=Path, metavar="FILE", help="write the names of the tests that passed"
    )
    group.addoption(
        "--skip-passed", type=Path, metavar="FILE", help="leave out the tests that such a file names"
    )


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take the tests that the file of ``--skip-passed`` names out of ``items``.

    Raises:
        pytest.UsageError: the file does not exist.
    """
    path: Path | None = config.getoption("--skip-passed")
    if path is None:
        return
    if not path.is_file():
        raise pytest.UsageError(
            f"--skip-passed: {path} does not exist. Run `make test WRITE_PASSED={path}` first."
        )
    passed = set(path.read_text("utf-8").splitlines())
    left_out = [item for item in items if item.nodeid in passed and not _has_examples(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        names = {item.nodeid for item in left_out}
        items[:] = [item for item in items if item.nodeid not in names]


def write(config: pytest.Config, reports: list[pytest.TestReport]) -> None:
    """Write the names of the tests of ``reports`` that passed to the file of ``--write-passed``, one in each line."""
    path: Path | None = config.getoption("--write-passed")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{report.nodeid}\n" for report in reports), "utf-8")


def _has_examples(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and getattr(item.obj, "is_hypothesis_test", False)
