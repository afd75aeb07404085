"""Set up all tests: a separate store for benchmark results, compilers with ccache, and Hypothesis without
limits of time.

Hundreds of tests compile the same engine sources for the same core. If ccache is installed, it returns the object
file of the first compilation. Tests start commands nearly as often, so Python stores bytecode even if the user's
settings forbid it.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import passed_tests
from tests.browser import BROWSER
from tests.session_builds import ToyFirmware, toy_firmware_of

PREFIXES = ("arm-none-eabi-", "riscv64-unknown-elf-", "xtensa-lx106-elf-", "")
CACHE = Path(__file__).resolve().parent.parent / ".cache"

# The time of a Hypothesis example depends mostly on the load of the computer, so it has no limit.
settings.register_profile("arenite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A run without slow tests tries fewer examples; `make test-all` tries all.
settings.register_profile("fast", settings.get_profile("arenite"), max_examples=20)
settings.load_profile("arenite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of two runs that share the tests."""
    passed_tests.add_options(parser)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that passed in an earlier run."""
    passed_tests.deselect(config, items)


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile of a run without slow tests, and make processes that tests start react to SIGINT, SIGQUIT and
    SIGHUP, even if the tests run in the background.

    A shell makes a background command ignore SIGINT and SIGQUIT, nohup makes it ignore SIGHUP, and the processes that
    the command starts inherit this. A signal that has a Python handler, however, is reset to its default when another
    program is started.
    """
    if "not slow" in config.option.markexpr:
        settings.load_profile("fast")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "win32":
        return
    for ignored in (signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(ignored) is signal.SIG_IGN:
            signal.signal(ignored, lambda *_: None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of a browser or of an Xtensa core if the browser or the compiler is not installed.

    `make test` does not need the Xtensa compiler, because the same tests run on other cores. An Xtensa board is a
    parameter of such a test, so the test's name contains "xtensa".
    """
    if "xtensa" in item.name and shutil.which("xtensa-lx106-elf-gcc") is None:
        pytest.skip("needs xtensa-lx106-elf-gcc")
    if item.get_closest_marker("browser"):
        if BROWSER is None:
            pytest.skip("needs Chromium or Chrome")
        if importlib.util.find_spec("websocket") is None:
            pytest.skip("needs the Python package websocket-client")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print why tests were skipped, and which tests the marker expression left out. Write which tests passed."""
    passed_tests.write(config, terminalreporter.stats.get("passed", []))
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("skipped tests by reason")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count:4}  {reason}")
    if "not slow" in config.option.markexpr:
        terminalreporter.write_line("")
        terminalreporter.write_line(
            "The slow tests, and those that convert with TensorFlow, PyTorch or ONNX, were left out: "
            "`make test-all` runs them too."
        )


@pytest.fixture(autouse=True, scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Set ``$ARENITE_STORE`` to a new file, for the tests and for processes that they start."""
    path = tmp_path_factory.mktemp("store") / "bench.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENITE_STORE", str(path))
        yield path


@pytest.fixture(autouse=True, scope="session")
def compiler_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put a folder first in ``PATH`` in which the names of the compilers are links to ccache, and let Python store
    bytecode."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        ccache = shutil.which("ccache")
        if ccache is not None and "CCACHE_DISABLE" not in os.environ:
            folder = tmp_path_factory.mktemp("compilers")
            for prefix, end in itertools.product(PREFIXES, ("gcc", "g++")):
                if shutil.which(prefix + end):
                    (folder / (prefix + end)).symlink_to(ccache)
            patch.setenv("PATH", str(folder), prepend=os.pathsep)
            patch.setenv("CCACHE_DIR", str(CACHE / "ccache"))
            patch.setenv("CCACHE_MAXSIZE", "1G")
            # Each project is in a new folder. These settings keep the folder's name out of the cache key.
            patch.setenv("CCACHE_BASEDIR", str(tmp_path_factory.getbasetemp()))
            patch.setenv("CCACHE_NOHASHDIR", "1")
        yield


@pytest.fixture(scope="session")
def toy_firmware(tmp_path_factory: pytest.TempPathFactory) -> ToyFirmware:
    """Return ``toy_firmware(board, ...)``, which builds the toy model's ELF once per session."""
    return toy_firmware_of(tmp_path_factory)
