"""Tests of ``arenite bench`` in browsers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from arenite.errors import ToolError
from arenite.host.web.browser_bench.bench_server import BenchServer
from arenite.host.web.browser_bench.browsers import BROWSERS, browser_command, open_browser
from arenite.host.web.browser_bench.peers import ONNXRUNTIME_WEB, TFJS_TFLITE, Peer, runtime_files
from tests.arenite.left_processes import (
    MARK,
    marked_processes,
    wait_until_none_is_left,
    wait_until_removed,
)
from tests.host.cli.conftest import Arenite

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("h11", reason="needs h11")
pytestmark = [pytest.mark.slow, pytest.mark.browser]


def needs_browser(name: str) -> None:
    try:
        browser_command(BROWSERS[name])
    except ToolError as error:
        pytest.skip(error.problem)


@pytest.mark.parametrize("browser", [*BROWSERS])
def test_all_modules_are_bit_exact(arenite: Arenite, model: Path, browser: str) -> None:
    needs_browser(browser)
    result = arenite("bench", model, "--board", browser, "--samples", 12, "--json")
    assert result.code == 0, result.err
    assert result.json["schema"] == "arenite.bench/1" and result.json["board"]["name"] == browser
    assert result.json["samples"] == {"count": 12, "bit_exact": 12, "max_abs_diff": 0, "accuracy": None}
    first = result.json["modules"][0]
    assert result.json["board"]["core"] == first["core"]
    inference = result.json["inference"]
    assert inference["instructions"] is None and inference["latency_us"] == first["time_us"]
    assert result.json["flash"]["total"] == first["module_bytes"]
    assert result.json["memory"]["ram_total"] == first["memory_bytes"]
    assert result.json["simd"] is True
    cores = [m["core"] for m in result.json["modules"]]
    assert cores[-2:] == ["wasm32-simd", "wasm32"]
    if browser == "chromium":  # not every version of the others has relaxed SIMD
        assert cores[0] == "wasm32-relaxed"
    assert "peers" not in result.json
    for module in result.json["modules"]:
        assert module["bit_exact"] == 12 and module["max_abs_diff"] == 0
        assert module["time_us"]["p50"] >= module["time_us"]["min"] > 0 and module["load_ms"]["value"] > 0


@pytest.mark.parametrize("runtime", [TFJS_TFLITE, ONNXRUNTIME_WEB], ids=lambda peer: peer.name)
def test_another_runtime_is_measured_in_the_same_page(arenite: Arenite, model: Path, runtime: Peer) -> None:
    needs_browser("chromium")
    try:
        runtime_files(runtime, progress=False)
    except ToolError as error:
        pytest.skip(error.problem)
    options = ("--board", "chromium", "--samples", 12, "--peer", runtime.name)
    result = arenite("bench", model, *options, "--json")
    assert result.code == 0, result.err
    (peer,) = result.json["peers"]
    assert (peer["name"], peer["version"], peer["error"]) == (
        runtime.name,
        runtime.package.version,
        None,
    )
    # The others round their requantization in another way than LiteRT's reference kernels.
    assert peer["bytes_differ"] <= 12 * 5
    assert peer["transfer_bytes"] > 500_000  # the runtime alone
    assert peer["edges"] == "own" and peer["max_abs_diff"] <= 2 and peer["bit_exact"] <= 12
    assert peer["time_us"]["p50"] >= peer["time_us"]["min"] > 0 and peer["load_ms"]["value"] > 0
    assert peer["latency_us"] == peer["time_us"] and peer["first_answer_ms"] == peer["load_ms"]["value"]
    ratio = result.json["ratio"]
    own = result.json["modules"][0]["time_us"]["min"]
    assert ratio["peer"] == runtime.name and ratio["p50"] > 0
    # The times are rounded to 0.1 us, and the ratio to 0.001.
    other, step, rounding = peer["time_us"]["min"], 0.051, 0.001
    assert (
        (own - step) / (other + step) - rounding <= ratio["min"] <= (own + step) / (other - step) + rounding
    )


def test_a_runtime_without_the_models_operators_says_so(arenite: Arenite, stateful: Path) -> None:
    needs_browser("chromium")
    try:
        runtime_files(ONNXRUNTIME_WEB, progress=False)
    except ToolError as error:
        pytest.skip(error.problem)
    options = ("--board", "chromium", "--samples", 12, "--peer", "onnxruntime-web")
    result = arenite("bench", stateful, *options, "--json")
    assert result.code == 0, result.err
    assert [p["error"] for p in result.json["peers"]] == ["The operator CALL_ONCE is not written as ONNX."]
    assert result.json["ratio"] is None


def test_the_page_reports_its_progress(
    arenite: Arenite, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warming the three modules up takes 2 s each, and the page reports every second."""
    needs_browser("chromium")
    reports: list[bytes] = []
    receive = BenchServer.receive_progress

    def counted(server: BenchServer, body: bytes) -> bool:
        reports.append(body)
        return receive(server, body)

    monkeypatch.setattr(BenchServer, "receive_progress", counted)
    assert arenite("bench", model, "--board", "chromium", "--samples", 12).code == 0
    assert len([r for r in reports if r.startswith(b'["time",')]) >= 3


def test_other_runtimes_need_a_browser(arenite: Arenite, model: Path) -> None:
    for board in ("qemu_mps2_an386", "wasm"):
        refused = arenite("bench", model, "--board", board, "--peer", "litertjs")
        refused.refused(2, "--peer is for")


def test_without_simd_the_scalar_module_runs(
    arenite: Arenite, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_browser("webkit")
    monkeypatch.setenv("JSC_useWasmSIMD", "0")  # an option of WebKit's JavaScript engine
    result = arenite("bench", model, "--board", "webkit", "--samples", 12)
    assert result.code == 0 and "webkit has no 128-bit SIMD" in result.err
    assert result.out.count("12 of 12") == 1 and "wasm32" in result.out and "wasm32-simd" not in result.out


def test_options_of_boards_are_refused(arenite: Arenite, model: Path) -> None:
    arenite("bench", model, "--board", "chromium", "--port", "auto").refused(2, "--port is for boards")


@pytest.mark.parametrize(
    "browser, packages",
    [("chromium", "chromium"), ("firefox", "firefox-esr"), ("webkit", "webkit2gtk-driver xvfb")],
)
def test_a_missing_browser_is_named(
    arenite: Arenite, model: Path, browser: str, packages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    result = arenite("bench", model, "--board", browser)
    result.refused(3, f"The browser {browser} is not installed.", f"On Debian: apt install {packages}\n")


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_the_token_is_not_in_the_command_line(
    browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other users of the computer can read command lines. The program writes its own to a file."""
    arguments = tmp_path / "arguments"
    program = tmp_path / browser
    program.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {arguments}.new && mv {arguments}.new {arguments}\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with open_browser(BROWSERS[browser], "http://127.0.0.1:80/?token=sand-and-pressure"):
        deadline = time.monotonic() + 60
        while not arguments.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        text = arguments.read_text()
        assert "headless" in text and "sand-and-pressure" not in text


def test_a_missing_display_server_is_named(
    arenite: Arenite, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = tmp_path / "WebKitWebDriver"
    driver.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = arenite("bench", model, "--board", "webkit")
    result.refused(3, "The browser webkit needs Xvfb, which is not installed.", "apt install xvfb\n")


def test_a_driver_that_ends_is_reported(
    arenite: Arenite, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_browser("webkit")
    driver = tmp_path / "WebKitWebDriver"
    driver.write_text("#!/bin/sh\nexit 1\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    arenite("bench", model, "--board", "webkit").refused(3, "WebKitWebDriver does not start.")


@pytest.mark.parametrize(
    "browser, program, end",
    [
        ("chromium", "--headless", signal.SIGKILL),
        ("firefox", "--headless", signal.SIGKILL),
        ("webkit", "Xvfb", signal.SIGKILL),
        ("webkit", "WebKitWebProcess", signal.SIGKILL),
        ("webkit", "WebKitWebProcess", signal.SIGTERM),
    ],
)
def test_a_killed_bench_leaves_no_browser(
    browser: str, program: str, end: signal.Signals, model: Path, tmp_path: Path
) -> None:
    needs_browser(browser)
    mark, temporary = uuid4().hex, tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "arenite.host.cli.main", "bench", str(model), "--board", browser]
    with subprocess.Popen(
        [*command, "--samples", "2000"],
        env=os.environ | {MARK: mark, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 120
        while not any(program in text for text in marked_processes(mark).values()):
            assert process.poll() is None, f"the bench ended before {program} ran"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(end)
    wait_until_none_is_left(mark)
    for folder in temporary.glob("arenite*"):
        wait_until_removed(folder)


def test_a_window_that_ends_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_browser("webkit")
    mark = uuid4().hex
    monkeypatch.setenv(MARK, mark)
    with open_browser(BROWSERS["webkit"], "about:blank") as browser:
        assert browser.ended() == ""
        commands = marked_processes(mark)
        os.kill(next(pid for pid, text in commands.items() if "--automation" in text), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while not (why := browser.ended()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert why == "its window was closed"
    wait_until_none_is_left(mark)
