"""Compare the anomaly head in integers with the same statistics of float outputs: ``python -m benchmarks.anomaly``.

For each data set and each class, a linear autoencoder is computed from training samples of that class (principal
components) and converted to int8. The head takes the differences of the autoencoder, or the values of its bottleneck,
with a diagonal covariance and one of rank 4. It learns the training samples of the class one after the other, with the
C code; fewer than 600 samples several times. Then it scores the test samples of all classes; the other classes are the
anomalies.

The comparisons compute mean, variance and principal components of all training samples in float64, from the same int8
outputs and from the outputs of the float model. The program prints the table of docs/anomaly.md. It ends with 1 if an
area under the ROC curve (AUC) differs by more than 0.01 from that of the same outputs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from arenite.converters.anomaly import native
from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.anomaly.plan import BITS, plan_anomaly
from arenite.converters.anomaly.reference import ReferenceHead, difference
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare
from arenite.host.interface.conversion import convert
from arenite.models.datasets import dataset
from tests.converters.small_models import Net

#: Values of the bottleneck.
COMPONENTS = 12
#: Directions of the low-rank covariance; 0 for a diagonal one.
RANKS = (0, 4)
#: A task with fewer samples is learned several times: a device learns for a long time.
MIN_UPDATES = 600
#: Samples of one class that are learned and tested at most.
MAX_SAMPLES = 1500


@dataclass(frozen=True)
class Task:
    """Samples [count, features] of a class to learn, and test samples with 1 for an anomaly."""

    learn: np.ndarray
    test: np.ndarray
    is_anomaly: np.ndarray


@dataclass(frozen=True)
class Figures:
    """The AUC of the float model, of float statistics of int8 outputs, and of the head; and the shares of normal and of
    anomalous test samples that raise an alarm."""

    float_model: float
    offline: float
    device: float
    false_alarms: float
    detected: float


def tasks(name: str) -> list[Task]:
    """Return one task for each class of a data set."""
    if name == "breast cancer":
        cells, labels = load_breast_cancer(return_X_y=True)
        x, malignant = (cells - cells.mean(0)) / cells.std(0), labels == 0
        normal = np.flatnonzero(~malignant)
        rest = np.concatenate([normal[1::2], np.flatnonzero(malignant)])
        return [Task(x[normal[::2]], x[rest], malignant[rest])]
    data = dataset(name)
    x_learn, x_test = (x.reshape(len(x), -1) for x in (data.x_train, data.x_test))
    x_test, y_test = x_test[:MAX_SAMPLES], data.y_test[:MAX_SAMPLES]
    return [
        Task(x_learn[data.y_train == label][:MAX_SAMPLES], x_test, y_test != label)
        for label in np.unique(data.y_train)
    ]


def layers(samples: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return weights and biases of encoder and decoder: the principal components of ``samples``."""
    mean = samples.mean(0)
    _, _, components = np.linalg.svd(samples - mean, full_matrices=False)
    components = components[:COMPONENTS]
    return [(components, -components @ mean), (components.T, mean)]


def float_model(network: Sequence[tuple[np.ndarray, np.ndarray]]) -> bytes:
    """Return dense layers without activations as a float TFLite model."""
    net = Net(0)
    x = net.input((1, network[0][0].shape[1]), "float32")
    for weights, bias in network:
        constants = [net.tensor(a.shape, "float32", data=a.astype(np.float32)) for a in (weights, bias)]
        x = net.op(
            "FULLY_CONNECTED", [x, *constants], (1, len(bias)), "float32", options="FullyConnectedOptions"
        )
    return to_flatbuffer(net.model([x]))


def offline_scores(learn: np.ndarray, test: np.ndarray, floor: float, rank: int) -> np.ndarray:
    """Return the scores of float embeddings with the statistics of all learned ones. ``floor`` is added to each
    variance, and ``rank`` is the number of principal components whose variances are used."""
    center, deviation = learn.mean(0), np.sqrt(learn.var(0) + floor)
    learned, values = ((x - center) / deviation for x in (learn, test))
    _, lengths, directions = np.linalg.svd(learned, full_matrices=False)
    variances = lengths[:rank] ** 2 / len(learn)
    rest = ((learned**2).sum() / len(learn) - variances.sum()) / (learn.shape[1] - rank)
    along = (values @ directions[:rank].T) ** 2
    across = (values**2).sum(1) - along.sum(1)
    scores: np.ndarray = (along / variances).sum(1) + (across / rest if rank else across)
    return scores / learn.shape[1]


def measure(task: Task, is_difference: bool, rank: int, folder: Path) -> Figures:
    """Return the figures of one task, with differences or with the bottleneck as embeddings, and a covariance of
    ``rank``."""
    network = layers(task.learn)[: 2 if is_difference else 1]
    source, image = folder / "float.tflite", folder / "int8.tflite"
    source.write_bytes(float_model(network))
    samples = task.learn[:200, None].astype(np.float32)
    np.savez(folder / "calibration.npz", x=samples[:, 0])
    convert(source, image, calibration=folder / "calibration.npz", recipe="int8")

    def embed(x: np.ndarray) -> np.ndarray:
        y = x
        for weights, bias in network:
            y = y @ weights.T + bias
        return y - x if is_difference else y

    prepared = prepare(image)
    graph = prepared.model.main
    inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
    head_settings = AnomalyHead(input=0 if is_difference else None, warmup=32, learn="all", rank=rank)
    plan = plan_anomaly(head_settings, inputs, outputs)
    unit = inputs[0].scale if is_difference else outputs[0].scale
    floor = plan.head.floor
    float_scores = offline_scores(embed(task.learn), embed(task.test), floor * unit**2, rank)
    code, model = native.library(), Reference(prepared.reference)
    head = ReferenceHead(plan) if code is None else native.CompiledHead(code, plan)

    def embedding(x: np.ndarray) -> np.ndarray:
        values = np.rint(x / inputs[0].scale) + inputs[0].zero_point
        quantized = np.clip(values, -128, 127).astype(np.int8)[None]
        output = model.run([quantized])[0]
        return output if plan.units is None else difference(plan.units, quantized, output)

    learn, test = ([embedding(x) for x in samples] for samples in (task.learn, task.test))
    learn_values, test_values = (np.array(x, np.float64).reshape(len(x), -1) for x in (learn, test))
    offline = offline_scores(learn_values, test_values, floor, rank)
    for _ in range(-(-MIN_UPDATES // len(learn))):
        for x in learn:
            head.update(x)
    head.freeze()
    results = [head.update(x) for x in test]
    alarms = np.array([result.alarm for result in results])
    return Figures(
        float(roc_auc_score(task.is_anomaly, float_scores)),
        float(roc_auc_score(task.is_anomaly, offline)),
        float(roc_auc_score(task.is_anomaly, [result.score / (1 << BITS) for result in results])),
        float(alarms[~task.is_anomaly].mean()),
        float(alarms[task.is_anomaly].mean()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anomaly", description=__doc__)
    names = ("digits", "mnist", "breast cancer")
    parser.add_argument("--data", choices=names, action="append", help="Data sets to measure. Default: all.")
    options = parser.parse_args(arguments)
    print(
        "| data | embedding | rank | classes | AUC, float model | AUC, float64 statistics of the int8 model | "
        "AUC, head | largest difference | false alarms | detected |\n|-|-|-:|-:|-:|-:|-:|-:|-:|-:|"
    )
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.data or names:
            for is_difference, rank in product((True, False), RANKS):
                figures = [measure(task, is_difference, rank, Path(folder)) for task in tasks(name)]
                gaps = [abs(f.offline - f.device) for f in figures]
                worst = max(worst, *gaps)
                means = np.mean([astuple(f) for f in figures], 0)
                kind = "difference" if is_difference else "bottleneck"
                print(
                    f"| {name} | {kind} | {rank} | {len(figures)} | {means[0]:.4f} | {means[1]:.4f} | {means[2]:.4f} | "
                    f"{max(gaps):.4f} | {100 * means[3]:.1f} % | {100 * means[4]:.1f} % |",
                    flush=True,
                )
    return int(worst > 0.01)


if __name__ == "__main__":
    sys.exit(main())
