"""Bench runs over serial lines that are damaged or unplugged: every answer is right or missing, and stored answers are
not lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.bench.devices.dispatch import DeviceSlot, SessionCallbacks, dispatch_samples
from arenite.host.bench.devices.journal import UnsavedAnswers
from arenite.host.bench.devices.run_samples import RunConfig
from arenite.host.bench.devices.session import FramedSession
from arenite.host.bench.devices.slots import open_running_board
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.cli.main import main
from arenite.host.link.transport import Transport
from arenite.profiles.boards import load_board
from tests.host.bench.devices.same_results import assert_same
from tests.host.bench.devices.unpluggable_board import Cable, built, on_cables, samples_of
from tests.host.link.device_reset import reset
from tests.host.link.faulty_transport import RandomFaults
from tests.host.mlperf.emulator_processes import kill_emulators
from tests.host.small_graphs import classifier, counter, save, two_inputs

BOARD = "qemu_mps2_an386"

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(
        not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
        reason="no Arm compiler or no emulator: see `arenite doctor`",
    ),
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(), tmp_path_factory.mktemp("models") / "small.tflite"))


@pytest.fixture(scope="module")
def elf(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(prepared, BOARD, tmp_path_factory.mktemp("elf") / "p")


def run(
    prepared: Prepared, count: int, run_config: RunConfig, progress: Any = lambda *_: None
) -> dict[str, Any]:
    """Run a bench of ``count`` random samples and return its JSON result."""
    options = BenchConfig(cycles=False, run_config=run_config)
    return bench(prepared, load_board(BOARD), samples_of(prepared, count), options, progress).to_json()


def counts(result: dict[str, Any]) -> tuple[int, ...]:
    """Return the numbers of all samples, bit-exact samples, samples without an answer, and restored samples."""
    return tuple(result["samples"][k] for k in ("count", "bit_exact", "missing", "resumed"))


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "rate", "count"), [("arenite", 0.01, 12), ("mlperf", 0.003, 4)])
def test_damaged_bytes_cause_no_wrong_answer(
    protocol: str, rate: float, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``arenite bench`` runs over a line that flips, loses, doubles and adds bytes, with a reset during the run.

    The text protocol of the MLPerf monitor has no checksums, so its rate of damaged bytes is lower.
    """
    prepared = prepare(save(classifier() if protocol == "arenite" else two_inputs(), tmp_path / "m.tflite"))
    elf = built(prepared, BOARD, tmp_path / "p", protocol)
    faults = RandomFaults(rate, 7), RandomFaults(rate, 8)
    resets: list[int] = []
    with on_cables(elf, BOARD, tmp_path) as ((machine, cable),):

        def to_host(data: bytes) -> bytes:
            if faults[1].count > 2 and not resets:
                resets.append(1)
                reset(machine)
            return faults[1](data)

        cable.faults = (faults[0], to_host)
        cable.pull()
        cable.plug()
        code = main(
            f"bench {prepared.path} --board {BOARD} --port {cable.port} --samples {count} --no-cycles --no-store"
            f" --protocol {protocol} --json".split()
        )
    out, stderr = capsys.readouterr()
    assert out, stderr
    samples = json.loads(out)["samples"]
    assert resets and faults[0].count + faults[1].count > 4
    # No answer is wrong: each sample is bit-exact or has no answer.
    assert samples["bit_exact"] + samples["missing"] == samples["count"] == count
    assert samples["max_abs_diff"] == 0 and samples["repeated"] > 0
    assert code == (1 if samples["missing"] else 0)
    assert samples["missing"] <= count // 4


@pytest.mark.slow
def test_a_killed_emulator_loses_no_answer(prepared: Prepared, tmp_path: Path) -> None:
    run_config = RunConfig(resume=True, journals=tmp_path)
    kills: list[int] = []

    def killer(step: str, done: int, total: int) -> None:
        if step == "run" and done == 5 and not kills:
            kills.append(kill_emulators())

    with pytest.raises(DeviceError) as caught:
        run(prepared, 12, run_config, killer)
    assert kills == [1]
    assert "5 of 12 samples are stored. Run the same command again to continue." in caught.value.hint
    progress: list[int] = []
    result = run(
        prepared, 12, run_config, lambda step, done, _: progress.append(done) if step == "run" else None
    )
    assert progress[0] == 5 and progress[-1] == 12
    assert counts(result) == (12, 12, 0, 5)
    uninterrupted = run(prepared, 12, RunConfig())
    # The resumed result has all figures of an uninterrupted run, including those of the layers.
    assert_same(result, uninterrupted)
    # The run is complete, so the next run starts from the first sample.
    assert counts(run(prepared, 12, run_config)) == (12, 12, 0, 0)
    assert list(tmp_path.glob("*.journal")) == []


@pytest.mark.slow
def test_a_killed_emulator_is_started_again_by_wait(prepared: Prepared, tmp_path: Path) -> None:
    messages: list[str] = []
    kills: list[int] = []

    def killer(step: str, done: int, total: int) -> None:
        if step == "run" and done == 3 and not kills:
            kills.append(kill_emulators())

    result = run(prepared, 8, RunConfig(wait_s=5, report=messages.append), killer)
    assert kills == [1] and counts(result) == (8, 8, 0, 0)
    assert len(messages) == 1 and "Waiting for qemu_mps2_an386; 3 samples are stored." in messages[0]


@pytest.mark.slow
def test_a_run_continues_when_the_cable_is_plugged_in_again(
    prepared: Prepared, elf: Path, tmp_path: Path
) -> None:
    """The cable is pulled during the run and plugged in again as another terminal with the same name."""
    messages: list[str] = []
    with on_cables(elf, BOARD, tmp_path) as ((_, cable),):

        def puller(step: str, done: int, total: int) -> None:
            if step == "run" and done == 4 and cable.plugged == 1:
                cable.pull()
                threading.Timer(1.0, cable.plug).start()
                time.sleep(0.1)

        result = run(prepared, 9, RunConfig((str(cable.port),), wait_s=20, report=messages.append), puller)
        assert cable.plugged == 2
    assert counts(result) == (9, 9, 0, 0)
    assert "disappeared" in messages[0] and "4 samples are stored" in messages[0]


@pytest.mark.slow
def test_a_cable_that_stays_unplugged_ends_the_run_and_keeps_its_answers(
    prepared: Prepared, elf: Path, tmp_path: Path
) -> None:
    run_config = RunConfig(wait_s=1, resume=True, journals=tmp_path / "j")
    with on_cables(elf, BOARD, tmp_path) as ((_, cable),):
        run_config = replace(run_config, ports=(str(cable.port),))

        def puller(step: str, done: int, total: int) -> None:
            if step == "run" and done == 4:
                cable.pull()

        with pytest.raises(DeviceError, match="did not come back within 1 s") as caught:
            run(prepared, 9, run_config, puller)
        assert "4 of 9 samples are stored" in caught.value.hint
        cable.plug()
        assert counts(run(prepared, 9, run_config)) == (9, 9, 0, 4)


@pytest.mark.slow
def test_other_boards_take_the_samples_of_a_lost_board(prepared: Prepared, elf: Path, tmp_path: Path) -> None:
    messages: list[str] = []
    with on_cables(elf, BOARD, tmp_path, 3) as boards:
        cables: list[Cable] = [cable for _, cable in boards]

        def puller(step: str, done: int, total: int) -> None:
            if step == "run" and done >= 9:
                cables[1].pull()

        ports = tuple(str(c.port) for c in cables)
        result = run(prepared, 40, RunConfig(ports, report=messages.append), puller)
    assert counts(result) == (40, 40, 0, 0)
    rows = {row["board"]: row for row in result["boards"]}
    assert set(rows) == set(ports)
    assert (
        sum(row["samples"] for row in rows.values()) == 40 == sum(row["bit_exact"] for row in rows.values())
    )
    assert "disappeared" in rows[ports[1]]["error"]
    assert rows[ports[0]]["error"] is rows[ports[2]]["error"] is None
    assert rows[ports[0]]["samples"] > 0 < rows[ports[2]]["samples"]
    assert any("Its samples go to the other boards" in text for text in messages)
    alone = run(prepared, 40, RunConfig())
    assert_same(result, alone)
    assert len(alone["boards"]) == 1 and alone["boards"][0]["samples"] == 40


@pytest.mark.slow
def test_several_emulators_share_the_samples(prepared: Prepared) -> None:
    result = run(prepared, 20, RunConfig(copies=3))
    assert counts(result) == (20, 20, 0, 0)
    assert [row["board"] for row in result["boards"]] == [f"{BOARD} {k}" for k in (1, 2, 3)]


@pytest.mark.slow
def test_a_board_with_another_model_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    other_model = prepare(save(classifier(16), tmp_path / "other.tflite"))
    with (
        on_cables(built(other_model, BOARD, tmp_path / "p"), BOARD, tmp_path) as ((_, cable),),
        pytest.raises(DeviceError, match="runs other firmware"),
    ):
        run(prepared, 2, RunConfig((str(cable.port),)))


@pytest.mark.slow
@pytest.mark.parametrize("late", [False, True])
def test_a_board_that_does_not_answer_is_reset_once(
    late: bool, prepared: Prepared, elf: Path, tmp_path: Path
) -> None:
    """The line of the first run never carries data. That of the second run carries data after the board was reset. If
    ``late``, the reset takes effect only after the session was opened."""
    samples, board = samples_of(prepared, 3), load_board(BOARD)
    resets: list[int] = []
    messages: list[str] = []
    with on_cables(elf, BOARD, tmp_path) as ((machine, cable),):
        cable.faults = (lambda data: data if resets else b"", lambda data: data)
        cable.pull()
        cable.plug()

        def press_button(helps: bool) -> str:
            """Reset the board. If ``helps``, its line carries data from now on."""
            reset(machine)
            if helps:
                resets.append(1)
            return "button"

        def make_slot(helps: bool) -> DeviceSlot:
            def open_line() -> AbstractContextManager[Transport]:
                return open_running_board(str(cable.port), board.uart.baud)

            return DeviceSlot("board", open_line, None, lambda: press_button(helps), open_line)

        def open_session(open_line: Transport) -> FramedSession:
            session = FramedSession(open_line, prepared.generated, timeout_s=1)
            if late and len(resets) == 1:
                resets.append(2)
                reset(machine)
                while True:  # until the board has restarted, which raises an error
                    session.memory()
            return session

        def make_callbacks() -> SessionCallbacks:
            return SessionCallbacks(
                open_session,
                lambda session, k: session.answer(samples.inputs[k], None),
                messages.append,
            )

        (silent,) = dispatch_samples(
            [make_slot(False)], range(3), UnsavedAnswers(), 3, make_callbacks(), lambda *_: None
        )
        assert silent.lost and silent.error is not None and "No device answers" in silent.error.problem
        assert len(messages) == 1 and "The board was reset (button)" in messages[0]
        answers = UnsavedAnswers()
        (served,) = dispatch_samples(
            [make_slot(True)], range(3), answers, 3, make_callbacks(), lambda *_: None
        )
    assert served.error is None and sorted(answers.answers) == [0, 1, 2] and served.memory is not None


@pytest.mark.slow
def test_an_interrupted_run_keeps_its_answers(tmp_path: Path) -> None:
    """Run the installed command, press Ctrl-C during the run, and run the same command again."""
    path = save(classifier(), tmp_path / "small.tflite")
    rng = np.random.default_rng(2)
    np.savez(tmp_path / "x.npz", x=rng.integers(-128, 128, (150, 12, 12, 3), dtype=np.int8))
    command = [
        sys.executable,
        "-m",
        "arenite.host.cli.main",
        "bench",
        str(path),
        "--board",
        BOARD,
        "--no-cycles",
    ]
    command += ["--data", str(tmp_path / "x.npz"), "--no-store", "--json"]
    environment = {"ARENITE_CACHE": str(tmp_path / "cache"), "ARENITE_PROGRESS": "lines"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("@progress run") and int(line.split()[2]) > 0:
            process.send_signal(signal.SIGINT)
            break
    out, stderr = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Interrupted. " in stderr and "of 150 samples are stored" in stderr, stderr
    stored_count = int(stderr.split("Interrupted. ")[1].split()[0])
    completed = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert completed.returncode == 0, completed.stderr
    samples = json.loads(completed.stdout)["samples"]
    assert (samples["count"], samples["bit_exact"], samples["resumed"]) == (150, 150, stored_count)
    assert 0 < stored_count < 150


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run_config", "message"),
    [
        (RunConfig(("/dev/a", "/dev/a")), "given twice"),
        (RunConfig(("/dev/a",), copies=2), "--copies starts several emulators"),
    ],
)
def test_incompatible_options_raise_an_error(prepared: Prepared, run_config: RunConfig, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(prepared, 1, run_config)


@pytest.mark.slow
def test_samples_of_a_run_that_keeps_state_cannot_be_shared_by_emulators(tmp_path: Path) -> None:
    stateful = prepare(save(counter(), tmp_path / "c.tflite"))
    options = BenchConfig(stateful=True, cycles=False, run_config=RunConfig(copies=2))
    with pytest.raises(UsageError, match="depends on the samples before it"):
        bench(stateful, load_board(BOARD), samples_of(stateful, 2), options, lambda *_: None)
