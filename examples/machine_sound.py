"""Measure the application ``machine_sounds``, whose model is trained on this computer.

    python examples/machine_sound.py machine

The first call trains the model (``arenite.models.training.machine_sounds``), which takes less than a minute. The
program prints how well the windows of each fault are told from those of a healthy fan, and which faults of the example
are heard. It writes the example as ``day.wav``, and the image ``fan.tflite``. ``arenite app machine_sounds`` with
``--play example`` makes the application and plays the same sound to it.
"""

from __future__ import annotations

import argparse
import shutil
import wave
from pathlib import Path

import numpy as np

from arenite.converters.anomaly.head import KEY, AnomalyHead
from arenite.converters.anomaly.plan import AnomalyPlan, plan_anomaly
from arenite.converters.anomaly.reference import ReferenceHead, difference
from arenite.converters.decision.reference import EventKind
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.app.learning_glue import Learning
from arenite.host.app.applications import application_image, example_samples
from arenite.host.app.learned_events import LearnedEvents
from arenite.host.app.reference import reference_events
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared, prepare
from arenite.models.datasets.machine_sounds import FAULTS, RATE, fan
from arenite.models.training.machine_sounds import FAULT_S, PIECE_S, fault_starts, healthy, train, windows

#: Rows of features from one window to the next, and the seed of the sounds, which no training and no choice used.
STEP, SEED = 2, 2
#: Seconds of the healthy fan that the head learns, and of those that it is tested with.
LEARN_S, TEST_S = 120, 160


def auc(normal: np.ndarray, unusual: np.ndarray) -> float:
    """Return the area under the ROC curve: the share of pairs in which the unusual score is larger."""
    order = np.sort(normal)
    below = np.searchsorted(order, unusual, "left") + np.searchsorted(order, unusual, "right")
    return float(below.mean() / (2 * len(normal)))


def offline_scores(learn: np.ndarray, test: np.ndarray, floor: float) -> np.ndarray:
    """Return the scores of differences [windows, values] with the float64 statistics of those to learn."""
    return np.asarray(((test - learn.mean(0)) ** 2 / (learn.var(0) + floor)).mean(1))


def plan_of(prepared: Prepared) -> AnomalyPlan:
    """Return the plan of the anomaly head that an image records."""
    graph = prepared.model.main
    inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
    return plan_anomaly(AnomalyHead.from_json(prepared.extra[KEY]), inputs, outputs)


def int8_differences(prepared: Prepared, plan: AnomalyPlan, x: np.ndarray) -> np.ndarray:
    """Return the differences between output and input of the int8 model, as the head gets them."""
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    stored = np.clip(np.round(x / tensor.scale) + tensor.zero_point, -128, 127).astype(np.int8)
    model, units = Reference(prepared.reference), plan.units
    assert units is not None
    return np.stack(
        [difference(units, row, model.run([row.reshape(tensor.shape)])[0].reshape(-1)) for row in stored]
    )


def report(prepared: Prepared) -> None:
    """Print the areas under the ROC curve of the float model, of the int8 model and of the int8 model with its head."""
    plan, rng = plan_of(prepared), np.random.default_rng(SEED)
    recorded = Preprocessing.from_json(prepared.extra["preprocessing"])
    spec = Preprocessing(recorded.source, recorded.steps[:-1])  # without the quantization of the input
    learn = np.concatenate([windows(spec, sound, STEP) for sound in healthy(LEARN_S, rng)])
    test = {"": np.concatenate([windows(spec, sound, STEP) for sound in healthy(TEST_S, rng)])}
    test |= {fault: windows(spec, fan(2 * PIECE_S, rng, fault), STEP) for fault in FAULTS}
    network = Reference(to_flatbuffer(train(spec).model))
    unit = float(prepared.model.main.tensors[prepared.model.main.inputs[0]].scale)

    def float_differences(x: np.ndarray) -> np.ndarray:
        rows = x.astype(np.float32)
        return np.stack([network.run([row[np.newaxis]])[0][0] - row for row in rows])

    float_learn, int8_learn = float_differences(learn), int8_differences(prepared, plan, learn)
    head = ReferenceHead(plan)
    for values in int8_learn:
        head.update(values)
    head.freeze()
    scores: list[dict[str, np.ndarray]] = [{}, {}, {}]
    for name, x in test.items():
        values = int8_differences(prepared, plan, x)
        floor = plan.head.floor
        scores[0][name] = offline_scores(float_learn, float_differences(x), floor * unit**2)
        scores[1][name] = offline_scores(int8_learn.astype(float), values.astype(float), floor)
        scores[2][name] = np.array([head.update(row).score for row in values], float)
    print(f"AUC on {sum(map(len, test.values()))} windows, {len(test[''])} of them of a healthy fan:")
    for fault in (*FAULTS, "all faults"):
        faults = FAULTS if fault == "all faults" else [fault]
        areas = [auc(rows[""], np.concatenate([rows[f] for f in faults])) for rows in scores]
        print(
            f"  {fault}: float model and float64 statistics {areas[0]:.4f}, int8 model and float64 statistics "
            f"{areas[1]:.4f}, int8 model with its head {areas[2]:.4f}"
        )


def report_day(prepared: Prepared, day: np.ndarray) -> None:
    """Print which faults of the example the application hears."""
    plan = plan_of(prepared)
    learned = LearnedEvents(Learning(plan, 0, RATE, plan.head.hop), None, ())
    events = reference_events(prepared, day, None, learned)
    starts = [event.at / RATE for event in events if event.kind == EventKind.START]
    begins = fault_starts()
    heard = [f for f, begin in begins.items() if any(begin <= at < begin + FAULT_S for at in starts)]
    false = sum(not any(begin <= at < begin + FAULT_S + 1 for begin in begins.values()) for at in starts)
    print(
        f"{len(heard)} of {len(FAULTS)} faults of the day are heard ({', '.join(heard)}); {false} other alarms in "
        f"{len(day) / RATE:.0f} s"
    )


def main(folder: Path) -> None:
    """Print the figures, and write the example and the image to ``folder``."""
    image, day = application_image("machine_sounds"), example_samples("machine_sounds")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(image, folder / "fan.tflite")
    with wave.open(str(folder / "day.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(day.astype("<i2").tobytes())
    prepared = prepare(image)
    report(prepared)
    report_day(prepared, day)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("machine"), help="folder for all files")
    main(parser.parse_args().folder)
