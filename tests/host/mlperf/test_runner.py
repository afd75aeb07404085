"""Tests of ``arenite mlperf`` end to end: the build, the emulator, the MLPerf monitor protocol, the journal (the file
that stores the answers) and the result folder."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.bench.reference import Reference
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import Samples, random_samples
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.cli.main import main
from arenite.host.mlperf.config import MlperfConfig
from arenite.host.mlperf.runner import run_mlperf
from arenite.host.mlperf.tasks import task_named
from arenite.profiles.boards import load_board
from tests.development_models import SHARED, shared_model
from tests.host.mlperf.emulator_processes import kill_emulators
from tests.host.small_graphs import classifier, save

BOARD = "qemu_mps2_an386"

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(
        not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
        reason="no Arm compiler or no emulator: see `arenite doctor`",
    ),
]


def model_and_samples(folder: Path, count: int, wrong: int) -> tuple[Prepared, Samples]:
    """Return a small classifier and ``count`` samples. The labels of the first ``wrong`` samples differ
    from the model's predictions."""
    prepared = prepare(save(classifier(), folder / "toy.tflite"))
    samples = random_samples([prepared.model.main.tensors[i] for i in prepared.model.main.inputs], count)
    reference = Reference(prepared.reference)
    labels = np.array([int(np.argmax(reference.run(s)[0])) for s in samples.inputs])
    labels[:wrong] = (labels[:wrong] + 1) % 3
    return prepared, replace(samples, labels=labels)


@pytest.mark.slow
def test_a_killed_emulator_loses_no_answer(tmp_path: Path) -> None:
    prepared, samples = model_and_samples(tmp_path, 12, 3)
    board, task = load_board(BOARD), task_named("kws01")
    config = MlperfConfig(task, "accuracy", samples, results=tmp_path / "r", journals=tmp_path / "j")
    kills: list[int] = []

    def killer(step: str, done: int, total: int) -> None:
        if step == "run" and done == 5 and not kills:
            kills.append(kill_emulators())

    with pytest.raises(
        DeviceError, match=r"disappeared|did not answer|No MLPerf monitor|does not accept more"
    ) as caught:
        run_mlperf(prepared, board, config, killer)
    assert kills == [1]
    assert "5 of 12 samples are stored" in caught.value.hint
    assert not (tmp_path / "r").exists()

    progress: list[int] = []
    result = run_mlperf(
        prepared, board, config, lambda step, done, _: progress.append(done) if step == "run" else None
    )
    assert progress[0] == 5 and progress[-1] == 12  # none of the five stored samples ran again
    figures = {k: result[k] for k in ("samples", "accuracy", "bit_exact", "missing", "resumed", "repeated")}
    assert figures == {
        "samples": 12,
        "accuracy": 0.75,
        "bit_exact": 12,
        "missing": 0,
        "resumed": 5,
        "repeated": 0,
    }
    assert (result["floor"], result["passed"]) == (0.90, False)

    folder = tmp_path / "r" / BOARD / "kws" / "accuracy"
    assert result["folder"] == str(folder)
    text = (folder / "results.txt").read_text()
    # This is the pattern of the official submission checker.
    match = re.match(r".* Top[- ]1%?\s?[:=] ([\d\.]+).*", text)
    assert match is not None and float(match[1]) == 75.0
    entries = json.loads((folder / "results.json").read_text())
    assert [e["class"] for e in entries] == samples.labels.tolist()  # type: ignore[union-attr]
    chosen = [int(np.argmax(e["infer"]["results"])) for e in entries]
    assert sum(a == e["class"] for a, e in zip(chosen, entries, strict=True)) == 9
    assert len((folder / "log.txt").read_text().splitlines()) == 13

    second_result = run_mlperf(prepared, board, config, lambda *_: None)
    assert (second_result["resumed"], second_result["bit_exact"], second_result["accuracy"]) == (12, 12, 0.75)


@pytest.mark.slow
def test_the_performance_mode_agrees_with_bench(tmp_path: Path) -> None:
    prepared, samples = model_and_samples(tmp_path, 2, 0)
    board = load_board(BOARD)
    config = MlperfConfig(task_named("kws01"), "performance", samples, results=tmp_path / "r")
    result = run_mlperf(prepared, board, config, lambda *_: None)
    bench_result = bench(prepared, board, samples, BenchConfig(cycles=False), lambda *_: None).to_json()
    counted, bench_counts = (r["inference"]["instructions"] for r in (result, bench_result))
    # MLPerf counts the instructions of a measurement window, which include the loop around each inference (at most
    # 200).
    assert bench_counts["min"] <= counted["min"] and counted["max"] <= bench_counts["max"] + 200
    assert len(result["windows"]) == 5 and result["bit_exact"] == 5
    for window in result["windows"]:
        assert window["time"] == "virtual"
        assert window["seconds"] >= 10 and window["inferences"] >= 10
    assert result["inference"]["latency_us"] is None and result["inference"]["throughput"] is None
    text = (tmp_path / "r" / BOARD / "kws" / "performance" / "results.txt").read_text()
    assert f"Median is {counted['median']} instructions" in text
    assert "NOT VALID for a submission" in text and "inf./sec" not in text


@pytest.mark.slow
def test_anomaly_detection_is_scored_by_auc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_model("ad01_int8")
    prepared = prepare(path)
    tensor = prepared.source.main.tensors[prepared.source.main.inputs[0]]
    samples = random_samples([tensor], 6)
    reference, quant = Reference(prepared.reference), tensor.quant
    assert quant is not None
    out = prepared.source.main.tensors[prepared.source.main.outputs[0]].quant
    assert out is not None
    scores = []
    for (x,) in samples.inputs:
        y = reference.run([x])[0]
        a = (x.astype(float) - quant.zero_point[0]) * quant.scale[0]
        b = (y.astype(float) - out.zero_point[0]) * out.scale[0]
        scores.append(float(((a - b) ** 2).mean()))
    # Three recordings have two windows each. The recording with the middle score is normal, the others are anomalies.
    means = [(scores[2 * k] + scores[2 * k + 1]) / 2 for k in range(3)]
    order = np.argsort(means)
    label = {int(order[0]): 1, int(order[1]): 0, int(order[2]): 1}
    data = tmp_path / "ad.npz"
    recordings = np.repeat(["p", "q", "r"], 2)
    np.savez(
        data,
        x=np.stack([s[0] for s in samples.inputs]),
        y=np.repeat([label[k] for k in range(3)], 2),
        recording=recordings,
    )
    code = main(
        f"mlperf {path} --board {BOARD} --task ad01 --mode accuracy --data {data} -o {tmp_path}/r"
        " --no-resume --json".split()
    )
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 1  # below the minimum of the MLPerf Tiny rules
    assert (result["metric"], result["accuracy"], result["passed"]) == ("auc", 0.5, False)
    assert (result["bit_exact"], result["samples"]) == (6, 6)
    text = (tmp_path / "r" / BOARD / "ad" / "accuracy" / "results.txt").read_text()
    match = re.match(r".* AUC\s?[:=] ([\d\.]+).*", text)
    assert match is not None and float(match[1]) == 0.5


@pytest.mark.slow
def test_the_accuracy_of_a_keyword_model_is_that_of_litert(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = SHARED / "data" / "kws01.npz"
    if not data.is_file():
        pytest.skip(f"{data} does not exist")
    code = main(
        f"mlperf {shared_model('kws01_int8')} --board {BOARD} --task kws01 --mode accuracy --data {data}"
        f" --samples 20 -o {tmp_path} --no-resume --json".split()
    )
    result = json.loads(capsys.readouterr().out)
    with np.load(data) as file:
        labels = file["y"][:20]
    reference = Reference(prepare(shared_model("kws01_int8")).reference)
    with np.load(data) as file:
        right = sum(
            int(np.argmax(reference.run([x[None]])[0])) == y
            for x, y in zip(file["x"][:20], labels, strict=True)
        )
    assert (result["bit_exact"], result["missing"], result["accuracy"]) == (20, 0, right / 20)
    assert code == (0 if right / 20 >= 0.9 else 1)
    assert any("all 1000 samples" in text for text in result["notes"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mode", "energy"], "needs a meter"),
        (["--mode", "accuracy"], "needs the benchmark's data set"),
        (["--mode", "performance", "--board", "nucleo_l4r5zi"], "is a real board"),
    ],
)
def test_impossible_runs_exit_with_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    path = save(classifier(), tmp_path / "toy.tflite")
    code = main(["mlperf", str(path), "--board", BOARD, "--task", "kws01", *options])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert message in captured.err and "Try: " in captured.err


@pytest.mark.parametrize(
    ("labels", "message"),
    [(None, "needs labels"), (np.eye(2, dtype=np.int8), r"y has shape \(2, 2\)"), (np.zeros(2), "float64")],
)
def test_invalid_labels_raise_an_error(tmp_path: Path, labels: np.ndarray | None, message: str) -> None:
    prepared, samples = model_and_samples(tmp_path, 2, 0)
    config = MlperfConfig(task_named("kws01"), "accuracy", replace(samples, labels=labels))
    with pytest.raises(UsageError, match=message):
        run_mlperf(prepared, load_board(BOARD), config, lambda *_: None)
