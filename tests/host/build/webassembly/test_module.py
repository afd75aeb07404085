"""WebAssembly modules compute LiteRT's bytes, import nothing, and have the predicted memory."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.processing.audio.reference import preprocess_audio
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.pixel_formats import color_order, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.tflite.image import load_image
from arenite.errors import ToolError, UsageError
from arenite.host.bench.module_runner import ModuleRunner
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.webassembly.module import BuiltModule, build_module, plan_module
from tests.development_models import shared_model
from tests.firmware.library.libraries import three_models
from tests.firmware.library.processing_cases import KEYWORD_SOUND, answers, save
from tests.fuzz.comparison import random_input
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import classifier, quant

pytest.importorskip("wasmtime", reason="needs wasmtime")
pytest.importorskip("ziglang", reason="needs ziglang")
pytestmark = pytest.mark.slow

CORES = ("wasm32", "wasm32-simd", "wasm32-relaxed")
BEST = {"steps": [{"do": "top_k", "k": 3, "threshold": 0.1}]}


def runner(module: BuiltModule) -> ModuleRunner:
    """Return an object that runs the models of the module in wasmtime."""
    return ModuleRunner(module.path, module.plan.models)


def assert_exact(run: ModuleRunner, models: dict[str, Prepared], count: int = 3) -> None:
    """Compare every output of every model with LiteRT, with the models in turn."""
    rng = np.random.default_rng(5)
    references = {name: Reference(p.reference) for name, p in models.items()}
    for turn in range(count):
        for name, prepared in models.items():
            graph = prepared.model.main
            inputs = [random_input(graph.tensors[i], rng) for i in graph.inputs]
            expected = references[name].run(inputs, reset=turn == 0)
            actual = run.run(name, inputs, reset=turn == 0)
            for a, b in zip(expected, actual, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape
                assert a.tobytes() == b.tobytes(), f"{name}, turn {turn}"


@pytest.mark.parametrize("core", CORES)
def test_models_of_one_module_give_the_bytes_of_litert(core: str, tmp_path: Path) -> None:
    models = three_models(tmp_path)
    module = build_module(tmp_path / "model.wasm", models, core)
    run = runner(module)
    assert run.imports == []
    assert run.memory_bytes == module.plan.memory.nbytes
    assert run.used_bytes <= run.memory_bytes
    run.paint_stack()
    assert_exact(run, models)
    assert 0 < run.stack_bytes() < module.plan.memory.stack / 2
    for name, prepared in models.items():
        digest = hashlib.sha256(prepared.image).digest()
        assert run.read(run.call(f"{name}_hash"), 8) == digest[:8]
    assert "sums_reset" in run.names and "small_reset" not in run.names


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("optimise", ["balanced", "speed", "ram", "flash"])
def test_a_real_network_is_exact_for_every_goal(core: str, optimise: str, tmp_path: Path) -> None:
    models = {"kws": prepare(shared_model("kws01_int8"))}
    module = build_module(tmp_path / "kws.wasm", models, core, optimise)
    assert_exact(runner(module), models)


def test_instructions_do_not_depend_on_the_run(tmp_path: Path) -> None:
    models = three_models(tmp_path)
    module = build_module(tmp_path / "model.wasm", models)
    counts = {
        (run.instructions("small"), run.instructions("large")) for run in (runner(module), runner(module))
    }
    assert len(counts) == 1
    small, large = counts.pop()
    assert 1000 < small < large


def test_equal_arguments_give_equal_bytes(tmp_path: Path) -> None:
    models = three_models(tmp_path)
    first = build_module(tmp_path / "a.wasm", models)
    second = build_module(tmp_path / "b.wasm", models)
    assert first.sha256 == second.sha256
    assert first.path.read_bytes() == second.path.read_bytes()


def test_rows_of_the_input_arrive_one_by_one(tmp_path: Path) -> None:
    models = {"rows": prepare(shared_model("vww01_int8"))}
    streamed = build_module(tmp_path / "rows.wasm", models, optimise="ram", stream_input=True)
    unstreamed_plan = plan_module(models)
    assert streamed.plan.memory.arena < unstreamed_plan.memory.arena
    assert streamed.plan.models[0].inputs[0].row_bytes == 96 * 3
    run = runner(streamed)
    assert run.call("rows_input", 0) == 0
    assert_exact(run, models)


def test_preprocessing_and_postprocessing_of_a_picture_give_the_answers_of_numpy(tmp_path: Path) -> None:
    record: dict[str, Any] = {
        "source": {"kind": "image", "format": "bgra", "width": 31, "height": 23},
        "steps": [
            {"do": "colour", "to": "rgb"},
            {"do": "resize", "width": 12, "height": 12},
            {"do": "normalise", "divide": 127.5, "mean": 1.0},
        ],
    }
    prepared = save(
        classifier(), {"preprocessing": record, "postprocessing": BEST}, tmp_path / "image.tflite"
    )
    module = build_module(tmp_path / "model.wasm", {"image": prepared})
    spec = Preprocessing.from_json(record).bound(prepared.model.main.tensors[prepared.model.main.inputs[0]])
    exports = module.plan.models[0]
    assert exports.before is not None and exports.after is not None
    assert (exports.before.kind, exports.before.width, exports.before.height) == ("image", 31, 23)
    data = np.random.default_rng(1).integers(0, 256, exports.before.nbytes, np.uint8)
    run = runner(module)
    run.write(run.call("image_image"), data.tobytes())
    run.call("image_preprocess")
    filled = preprocess_image(spec, unpack(data, "bgra", 31, 23), color_order("bgra"))[np.newaxis]
    assert run.read(run.call("image_input", 0), filled.nbytes) == filled.tobytes()
    run.call("image_invoke")
    count = run.call("image_postprocess")
    results = np.frombuffer(run.read(run.call("image_results"), 8 * count), np.int32).tolist()
    expected = answers(prepared, [filled])
    assert sorted(results) == sorted(expected) and count == len(expected) // 2 > 0


def test_preprocessing_of_sound_gives_the_bytes_of_numpy(tmp_path: Path) -> None:
    model = load_image(shared_model("kws01_int8")).model
    prepared = save(model, {"preprocessing": KEYWORD_SOUND}, tmp_path / "kws.tflite")
    module = build_module(tmp_path / "model.wasm", {"kws": prepared})
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    samples = np.random.default_rng(3).normal(0, 900, 15000).astype(np.int16)
    run = runner(module)
    run.write(run.call("kws_samples"), samples.tobytes())
    run.call("kws_preprocess", len(samples))
    expected = preprocess_audio(Preprocessing.from_json(KEYWORD_SOUND).bound(tensor), samples)
    assert run.read(run.call("kws_input", 0), expected.nbytes) == expected.tobytes()


def elementwise_model(*shapes: tuple[int, ...]) -> Any:
    """Return a model whose outputs have the shapes of its inputs."""
    b = GraphBuilder(np.random.default_rng(6))
    inputs = [b.input(shape, "int8", quant(0.05, 4)) for shape in shapes]
    for x, shape in zip(inputs, shapes, strict=True):
        b.op("RELU", [x], [b.tensor(shape, "int8", quant(0.03, -100))])
    return b.build()


SSD = {"do": "boxes", "anchors": [[0.1 * k, 0.05 * k, 0.9, 0.8] for k in range(10)], "threshold": 0.3}
POST_STEPS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "boxes": (
        ((1, 10, 8), (1, 10, 3)),
        [SSD | {"logits": True, "points": 2}, {"do": "nms", "iou": 0.2, "average": True, "by_class": False}],
    ),
    "points": (((1, 7, 3),), [{"do": "points", "score": 2, "logits": True}]),
    "mask": (((1, 5, 7, 4),), [{"do": "mask"}]),
    "error": (((1, 30),), [{"do": "mse"}]),
}


@pytest.mark.parametrize("kind", POST_STEPS)
def test_postprocessing_gives_the_answers_of_numpy(kind: str, tmp_path: Path) -> None:
    shapes, steps = POST_STEPS[kind]
    prepared = save(elementwise_model(*shapes), {"postprocessing": {"steps": steps}}, tmp_path / "m.tflite")
    module = build_module(tmp_path / "model.wasm", {"m": prepared})
    after = module.plan.models[0].after
    assert after is not None and after.kind == kind
    run, rng = runner(module), np.random.default_rng(3)
    inputs = [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    run.run("m", inputs)
    count = run.call("m_postprocess")
    expected = answers(prepared, inputs)
    if kind == "error":
        assert np.array([count], np.float32).view(np.int32).tolist() == expected
        return
    assert 0 < count <= after.count
    data = run.read(run.call("m_results"), after.nbytes)
    if kind == "mask":
        assert list(data) == expected
    elif kind == "points":
        assert np.frombuffer(data, np.int32).tolist()[: 3 * count] == expected
    else:
        boxes = np.frombuffer(data, np.dtype([("corners", "<i4", 4), ("key", "<i4"), ("id", "<u2", 2)]))
        points = run.read(run.call("m_points"), 8 * after.points * count)
        landmarks = np.frombuffer(points, np.int32).reshape(count, -1)
        numbers = [
            [*box["corners"].tolist(), int(box["key"]), *box["id"].tolist(), *landmark.tolist()]
            for box, landmark in zip(boxes[:count], landmarks, strict=True)
        ]
        assert [number for row in numbers for number in row] == expected


def test_an_unknown_core_and_an_empty_module_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'wasm64' is not a core"):
        plan_module(three_models(tmp_path), "wasm64")
    with pytest.raises(UsageError, match="at least one model"):
        plan_module({})


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = three_models(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not (Path(p) / "ziglang").is_dir()])
    monkeypatch.delitem(sys.modules, "ziglang", raising=False)
    with pytest.raises(ToolError) as caught:
        build_module(tmp_path / "model.wasm", models)
    assert caught.value.hint is not None and "arenite[web]" in caught.value.hint
    assert not (tmp_path / "model.wasm").exists()
