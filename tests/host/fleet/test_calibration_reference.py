"""The reference of a release has what the device's C code counts of the same samples."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare
from arenite.host.fleet.cohorts import Cohort
from arenite.host.fleet.drift import reference_histograms
from arenite.host.fleet.gates import BoardFacts, check_gates, least_reference_samples
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import ReleaseImage, add_release, parse_release_images
from arenite.host.fleet.rollout_settings import RolloutSettings
from tests.docs.schemas import problems
from tests.firmware.agent.device import CLASSES, INPUT, Device
from tests.host.cli.conftest import Arenite, arenite
from tests.host.small_graphs import CLASSES as MODEL_CLASSES
from tests.host.small_graphs import classifier, float_edges, save

__all__ = ["arenite"]
SHAPE = (12, 12, 3)


def samples(count: int) -> np.ndarray:
    return np.random.default_rng(3).integers(-128, 128, (count, *SHAPE), np.int8, endpoint=False)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("kind", ["int8", "float32", "folder"])
def test_the_counts_are_those_of_the_device(tmp_path: Path, arenite: Arenite, kind: str) -> None:
    model, data = save(classifier(), tmp_path / "model.tflite"), tmp_path / "data.npz"
    x = samples(40)
    tensor = prepare(model).model.main
    quant = tensor.tensors[tensor.inputs[0]].quant
    assert quant is not None
    real = np.float32(quant.scale[0]) * (x.astype(np.float32) - quant.zero_point[0])
    if kind == "folder":
        data = tmp_path / "folder"
        data.mkdir()
        for k, sample in enumerate(real):
            np.save(data / f"{k:02}.npy", sample)
    else:
        np.savez(data, x=x if kind == "int8" else real)
    done = arenite("fleet", "reference", model, "--inputs", data, "-o", tmp_path / "reference.json")
    assert "40 samples are few" in done.err and f"at least {2 * 179} samples" in done.err
    fields = json.loads((tmp_path / "reference.json").read_text())
    assert problems(fields) == []
    device = Device(MODEL_CLASSES)
    runner = Reference(prepare(model, removes_channels=False).reference)
    for sample in x:
        device.observe(sample.tobytes(), 1, runner.run([sample[np.newaxis]])[0].tobytes())
    assert fields["schema"] == "arenite.reference/1" and fields["samples"] == 40
    assert fields["classes"] == device.counts(CLASSES) and sum(fields["classes"]) == 40
    assert fields["inputs"] == [device.counts(INPUT), device.counts(INPUT + 1)]


def test_mistakes_are_explained(tmp_path: Path, arenite: Arenite) -> None:
    model, data = save(classifier(), tmp_path / "model.tflite"), tmp_path / "data.npz"
    words = ("fleet", "reference", model, "-o", tmp_path / "reference.json", "--inputs")
    arenite(*words, data).refused(2, "does not exist")
    np.savez(data, x=np.zeros((3, 5), np.int8))
    arenite(*words, data).refused(2, "data.npz")
    floats = save(float_edges(), tmp_path / "floats.tflite")
    np.savez(data, x=np.zeros((3, 4), np.float32))
    arenite("fleet", "reference", floats, "-o", tmp_path / "r.json", "--inputs", data).refused(
        2, "nothing of it that could drift"
    )
    assert not (tmp_path / "reference.json").exists()


def release_file(folder: Path, reference: object) -> Path:
    image = {"board": "a", "image": "0" * 64, "reference": reference}
    path = folder / "release.json"
    path.write_text(json.dumps({"schema": "arenite.release/1", "release": "1.0", "images": [image]}))
    return path


def test_a_release_names_the_file_of_its_reference(tmp_path: Path, arenite: Arenite) -> None:
    fields = {"schema": "arenite.reference/1", "model": "0" * 64, "samples": 3, "inputs": [[1, 2]]}
    (tmp_path / "r.json").write_text(json.dumps({**fields, "classes": [3, 0]}))
    path = release_file(tmp_path, "r.json")
    _, (image,) = parse_release_images(json.loads(path.read_text()), path)
    assert image.reference == {"inputs": [[1, 2]], "classes": [3, 0]}
    for text, problem in (
        ("{", "is not JSON"),
        ("[]", "is no reference"),
        ('{"schema": "x"}', "no reference"),
    ):
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(UsageError, match=problem):
            parse_release_images(json.loads(path.read_text()), path)
    (tmp_path / "r.json").unlink()
    database = f"sqlite:{tmp_path / 'fleet.db'}"
    arenite("fleet", "rollout", "add", path, "--database", database).refused(2, "r.json")


def test_a_model_without_classes_has_gates_for_its_inputs_only(tmp_path: Path) -> None:
    reference = {"inputs": [[1, 2]], "classes": []}
    assert reference_histograms(reference) == {"inputs.0": [1, 2]}
    with open_database(f"sqlite:{tmp_path / 'fleet.db'}").transaction() as transaction:
        add_release(transaction, 1, "me", "1.0", [ReleaseImage("a", "0" * 64, reference)])
        malformed: list[dict[str, Any]] = [{"inputs": [], "classes": []}, {"inputs": [[]], "classes": [1]}]
        for bad in malformed:
            with pytest.raises(UsageError, match="malformed"):
                add_release(transaction, 1, "me", "2.0", [ReleaseImage("a", "0" * 64, bad)])


@pytest.mark.parametrize("bins", [2, 16, 64])
def test_with_the_least_number_of_samples_a_gate_can_pass(bins: int) -> None:
    settings = RolloutSettings()
    least = least_reference_samples(bins, settings.drift_psi)
    new = Cohort(histograms={"classes": Counter({0: 10**9})})
    for samples, has_enough in ((least, True), (least - 1, False)):
        reference = {"inputs": [], "classes": [samples] + [0] * (bins - 1)}
        (gate,) = (
            gate
            for gate in check_gates(BoardFacts("a", new=new, reference=reference), settings)
            if gate.gate == "drift.classes"
        )
        assert gate.has_enough == has_enough
