"""Tests of the forms of a model for other runtimes, and of the comparison with them."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.tflite.reader import parse
from arenite.host.bench.samples import random_samples
from arenite.host.bench.verification import VerificationResult
from arenite.host.web.browser_bench.model_forms import forms_of
from arenite.host.web.browser_bench.peer_figures import PeerFigures, peer_figures, ratio_json
from arenite.host.web.browser_bench.peers import LITERT, ONNXRUNTIME_WEB, PEERS, TFJS_TFLITE
from tests.host.small_graphs import classifier, float_edges, two_inputs

SAME = VerificationResult(frozenset({0}), 0, None)


def test_a_model_without_quantized_edges_has_one_form() -> None:
    forms = forms_of(float_edges())
    assert [form.edges for form in forms] == ["own"]
    assert [op.name for op in parse(forms[0].file()).main.ops] == ["QUANTIZE", "LOGISTIC", "DEQUANTIZE"]


def test_the_page_gets_inputs_in_the_types_of_each_form() -> None:
    model = two_inputs()
    graph = model.main
    samples = random_samples([graph.tensors[i] for i in graph.inputs], 3)
    own, real = forms_of(model)
    assert [(t["dtype"], t["elements"]) for t in own.task()["inputs"]] == [("int8", 6)] * 2
    assert [(t["dtype"], t["shape"]) for t in real.task()["outputs"]] == [("float32", (1, 6))] * 2
    assert own.inputs(samples) == b"".join(v.tobytes() for row in samples.inputs for v in row)
    values = np.frombuffer(real.inputs(samples), np.float32).reshape(3, 2, 6)
    for row, sample in zip(values, samples.inputs, strict=True):
        for k, tensor in enumerate(graph.tensors[i] for i in graph.inputs):
            expected = (sample[k][0].astype(float) - tensor.zero_point) * tensor.scale
            assert row[k] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("edges", ["own", "float"])
def test_outputs_of_the_page_are_read_in_the_types_of_the_model(edges: str) -> None:
    model = classifier()
    form = next(f for f in forms_of(model) if f.edges == edges)
    scores = np.arange(-7, 8, dtype=np.int8).reshape(3, 1, 5)
    sent = scores if edges == "own" else (scores.astype(np.float32) + 128) / 256
    assert form.output_bytes() == sent[0].nbytes
    outputs = form.outputs(sent.tobytes(), 3)
    assert [row[0].tolist() for row in outputs] == scores.tolist()
    assert all(row[0].dtype == np.int8 for row in outputs)


def test_the_ratio_is_that_to_the_fastest_runtime_round_by_round() -> None:
    peers = (
        PeerFigures(LITERT, "", "float", SAME, 0, 1.0, (10.0, 20.0, 40.0)),
        PeerFigures(TFJS_TFLITE, "", "own", SAME, 0, 1.0, (30.0, 30.0, 9.0)),
    )
    ratio = ratio_json((5.0, 16.0, 28.0), peers)
    assert ratio == {"peer": "litertjs", "p50": 0.7, "min": 0.5, "kind": "measured"}


def test_a_runtime_whose_outputs_are_far_away_has_no_figures() -> None:
    expected = [[np.array([[0, 100]], np.int8)], [np.array([[-128, 127]], np.int8)]]
    near = [[row[0] + np.array([[1, -2]], np.int8)] for row in expected]
    figures = peer_figures(ONNXRUNTIME_WEB, "own", SAME, expected, near, 2.0, (3.0,), 5)
    assert (figures.error, figures.bytes_differ, figures.times_us) == ("", 4, (3.0,))
    assert figures.as_json()["transfer_bytes"] == 5
    far = [[np.array([[0, 50]], np.int8)], [np.array([[127, -128]], np.int8)]]
    figures = peer_figures(ONNXRUNTIME_WEB, "own", SAME, expected, far, 2.0, (3.0,), 5)
    assert "differ from LiteRT's reference kernels by 152 steps" in figures.error and not figures.times_us


def test_a_runtime_that_fails_has_a_reason_and_no_figures() -> None:
    failed = PeerFigures(LITERT, "int8 is not supported")
    assert failed.as_json() == {
        "name": "litertjs",
        "package": "@litertjs/core",
        "version": "2.5.3",
        "error": "int8 is not supported",
    }
    assert ratio_json((1.0,), (failed,)) is None


def test_each_runtime_is_pinned_by_hash() -> None:
    for peer in PEERS.values():
        for package, files in peer.files:
            assert package.registry == "npm" and len(package.sha256) == 64 and files
            assert package.licence in ("Apache-2.0", "MIT")
