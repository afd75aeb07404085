"""For all tests: a store of their own, compilers that remember, and no clock that decides.

The same engine sources are compiled for the same core by hundreds of tests: ccache, where it is installed, gives the
very object that the compiler made the first time.  Commands are started nearly as often: Python keeps what it made of
the sources, also where the user's settings say otherwise.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser import BROWSER
from tests.session_builds import ToyFirmware, toy_firmware_of

PREFIXES = ("arm-none-eabi-", "riscv64-unknown-elf-", "xtensa-lx106-elf-", "")
CACHE = Path(__file__).resolve().parent.parent / ".cache"

# How long an example takes says more about what else the computer does.
settings.register_profile("arenite", deadline=None)
settings.load_profile("arenite")


def pytest_configure() -> None:
    """Let processes that tests start be interrupted, also where the tests themselves run in the background.

    A shell makes a background command ignore SIGINT, and whatever that command starts inherits it. A signal that has a
    handler of Python, however, is reset to its default when another program is started.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of a browser or of an Xtensa core where what it needs is not installed.

    `make test` does without the Xtensa compiler, and the same tests run on other cores. An Xtensa board is a parameter
    of such a test, so that it stands in the test's name.
    """
    if "xtensa" in item.name and shutil.which("xtensa-lx106-elf-gcc") is None:
        pytest.skip("needs xtensa-lx106-elf-gcc")
    if item.get_closest_marker("browser"):
        if BROWSER is None:
            pytest.skip("needs Chromium or Chrome")
        if importlib.util.find_spec("websocket") is None:
            pytest.skip("needs the Python package websocket-client")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say why tests were skipped, and which ones were not asked for."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("tests that were skipped, and why")
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
    """``$ARENITE_STORE``, for processes that tests start as well."""
    path = tmp_path_factory.mktemp("store") / "bench.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENITE_STORE", str(path))
        yield path


@pytest.fixture(autouse=True, scope="session")
def kept_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """``PATH`` begins with a folder in which compilers are ccache; nothing keeps Python from its bytecode."""
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
            # Projects are made in a new folder each time: its name is not in what is compiled.
            patch.setenv("CCACHE_BASEDIR", str(tmp_path_factory.getbasetemp()))
            patch.setenv("CCACHE_NOHASHDIR", "1")
        yield


@pytest.fixture(scope="session")
def toy_firmware(tmp_path_factory: pytest.TempPathFactory) -> ToyFirmware:
    """``toy_firmware(board, ...)``: the ELF of the toy model, built once per session."""
    return toy_firmware_of(tmp_path_factory)
