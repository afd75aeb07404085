"""Run the accuracy mode: run every sample once, and compare the quality with the minimum of the rules. Samples that an
interrupted run has answered are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.errors import DeviceError
from arenite.firmware.generator.generated_model import Generated
from arenite.host.bench.devices.journal import Journal
from arenite.host.bench.devices.measure import Progress, output_tensors, split_outputs
from arenite.host.bench.devices.monitor_answers import MonitorAnswers
from arenite.host.bench.reference import Reference
from arenite.host.bench.run import open_device
from arenite.host.bench.samples import accuracy
from arenite.host.build.project import Project
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.mlperf.config import MlperfConfig
from arenite.host.mlperf.folder import accuracy_lines, stamped, write_results
from arenite.host.mlperf.score import anomaly_score, auc, mean_per_recording, real_values

#: The run stops after this number of unanswered samples in a row, because the connection does not work.
MAX_UNANSWERED = 5


def run_accuracy(
    project: Project,
    elf: Path,
    config: MlperfConfig,
    inputs: Sequence[bytes],
    reference: Reference,
    journal: Journal,
    progress: Progress,
) -> dict[str, Any]:
    """Run the samples without an answer in ``journal``, check all answers, and write the results folder. Returns the
    fields of ``arenite.mlperf/1`` that are specific to this mode.

    ``inputs`` has the input bytes of each sample. Raises ``DeviceError`` if the device disappears. The answers that
    arrived before stay in the journal.
    """
    expected = []
    for k, sample in enumerate(config.samples.inputs):
        progress("check", k, len(inputs))
        expected.append(b"".join(np.ascontiguousarray(v).tobytes() for v in reference.run(sample)))
    progress("check", len(inputs), len(inputs))
    resumed = len(journal.answers)
    repeated = 0
    try:
        if resumed < len(inputs):
            repeated = _answer_samples(project, elf, config, inputs, expected, journal, progress)
    except DeviceError as error:
        hint = (
            f"{len(journal.answers)} of {len(inputs)} samples are stored. Give --resume to continue the run"
            " from there."
        )
        error.hint = f"{error.hint} {hint}".strip()
        raise
    progress("run", len(journal.answers), len(inputs))
    return _check_answers(project, config, expected, journal, {"resumed": resumed, "repeated": repeated})


def _answer_samples(
    project: Project,
    elf: Path,
    config: MlperfConfig,
    inputs: Sequence[bytes],
    expected: Sequence[bytes],
    journal: Journal,
    progress: Progress,
) -> int:
    """Start the device and run every sample without an answer in ``journal``. Returns the number of repeated runs."""
    unanswered_in_a_row = 0
    with open_device(project, elf, config.port) as transport:
        client = MonitorClient(transport)
        client.connect()
        monitor = MonitorAnswers(client)
        for k in range(len(inputs)):
            if k in journal.answers:
                continue
            progress("run", len(journal.answers), len(inputs))
            answer = monitor.answer(inputs[k], expected[k])
            unanswered_in_a_row = unanswered_in_a_row + 1 if answer is None else 0
            if answer is not None:
                journal.add(k, answer)
            elif unanswered_in_a_row >= MAX_UNANSWERED:
                break
    return monitor.statistics.repeated


def _check_answers(
    project: Project,
    config: MlperfConfig,
    expected: Sequence[bytes],
    journal: Journal,
    counts: dict[str, int],
) -> dict[str, Any]:
    """Count the answers, compare the quality with the minimum, and write the results folder. Returns the fields of
    ``arenite.mlperf/1`` that are specific to this mode, including ``counts``."""
    generated, board, samples = project.generated, project.board, config.samples
    tensors = output_tensors(generated)
    answers = {k: split_outputs(a.outputs, tensors) for k, a in sorted(journal.answers.items())}
    exact = sum(journal.answers[k].outputs == expected[k] for k in answers)
    missing = len(samples) - len(answers)
    assert samples.labels is not None
    value: float | None = None
    if answers:
        value = _quality(config, generated, answers)
    if config.task.metric == "top-1" and value is not None:
        value *= len(answers) / len(samples)  # a missing sample does not count as right
    floor = config.task.floor
    passed = None if floor is None else value is not None and not missing and value >= floor
    now = datetime.now()
    log, entries = [stamped(f"{board.name}, {config.task.name}, accuracy", now)], []
    for k, outputs in answers.items():
        values = [round(float(v), 6) for v in real_values(outputs[0], tensors[0]).ravel()]
        name = f"sample_{k:06d}"
        log.append(stamped(f"{name} class {samples.labels[k]} m-results : {values}", now))
        run = {"results": values, "elapsed_time": journal.answers[k].ticks, "iterations": 1, "warmups": 0}
        entries.append({"file": name, "class": int(samples.labels[k]), "infer": run, "mode": "a"})
    log += [stamped(f"sample_{k:06d} is missing", now) for k in range(len(samples)) if k not in answers]
    lines = [] if value is None else accuracy_lines(config.task.metric, value, now)
    if missing:
        lines.append(f"NOT VALID: {missing} of {len(samples)} samples have no answer.")
    write_results(config.folder(board), lines, entries, log)
    notes = []
    if missing:
        notes.append(
            f"{missing} samples have no reliable answer because the connection damages data. Repair the connection and"
            " run the same command again to retry only these samples."
        )
    return {
        "samples": len(samples),
        "accuracy": value,
        "bit_exact": exact,
        "missing": missing,
        **counts,
        "metric": config.task.metric,
        "floor": floor,
        "passed": passed,
        "notes": notes,
    }


def _quality(
    config: MlperfConfig, generated: Generated, answers: dict[int, list[np.ndarray]]
) -> float | None:
    """Return the value of the task's metric (top-1 accuracy or AUC) for the samples in ``answers``."""
    labels = config.samples.labels
    assert labels is not None
    answered = np.array(list(answers))
    graph = generated.model.main
    first = output_tensors(generated)[0]
    if config.task.metric == "top-1":
        return accuracy([o[0] for o in answers.values()], labels[answered], first)
    model_input: Tensor = graph.tensors[graph.inputs[0]]
    scores = [
        anomaly_score(real_values(config.samples.inputs[k][0], model_input), real_values(o[0], first))
        for k, o in answers.items()
    ]
    recording_scores, first_windows = mean_per_recording(
        scores, None if config.recordings is None else config.recordings[answered]
    )
    return auc(recording_scores, labels[answered][first_windows])
