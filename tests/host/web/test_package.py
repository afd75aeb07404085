"""A package runs its models in Node.js, in Deno and in a page with LiteRT's bytes, and names what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.tflite.litert.single_operator import run_quantize
from arenite.errors import UsageError
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.web.package import FILES, WebPackage, write_package
from tests.browser import BROWSER, Browser
from tests.development_models import shared_model
from tests.firmware.library.libraries import three_models
from tests.firmware.library.processing_cases import save
from tests.fuzz.comparison import random_input
from tests.host.small_graphs import classifier
from tests.host.web.runtimes import deno, node, run_module
from tests.host.web.served import served

pytest.importorskip("ziglang", reason="needs ziglang")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not node(), reason="Node.js is not installed"),
]

#: Runs every model in turn on its inputs, and returns the stored outputs.
RUN_ALL = """
const run = (models, turns) => turns.map(([name, values]) => {
  const model = models[name];
  values.forEach((v, k) => model.inputs[k].data.set(v));
  model.invoke();
  return model.outputs.map((t) => Array.from(t.data));
});
"""


def turns_of(
    models: Mapping[str, Prepared], count: int
) -> tuple[list[tuple[str, list[Any]]], list[list[list[Any]]]]:
    """Return (name, inputs) of inferences of the models in turn, and LiteRT's outputs, as flat lists of numbers."""
    rng = np.random.default_rng(11)
    references = {name: Reference(p.reference) for name, p in models.items()}
    turns, expected = [], []
    for turn in range(count):
        for name, prepared in models.items():
            graph = prepared.model.main
            inputs = [random_input(graph.tensors[i], rng) for i in graph.inputs]
            turns.append((name, [x.reshape(-1).tolist() for x in inputs]))
            outputs = references[name].run(inputs, reset=turn == 0)
            expected.append([y.reshape(-1).tolist() for y in outputs])
    return turns, expected


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Prepared]:
    """Three small models by name. "sums" has state."""
    return three_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, models: dict[str, Prepared]) -> WebPackage:
    """A package with the three models."""
    return write_package(tmp_path_factory.mktemp("web") / "package", models, name="three-models")


@pytest.mark.parametrize("file", FILES.values())
@pytest.mark.parametrize("runtime", [node, deno])
def test_node_and_deno_give_the_bytes_of_litert(
    runtime: Callable[[], tuple[str, ...]],
    file: str,
    package: WebPackage,
    models: dict[str, Prepared],
    tmp_path: Path,
) -> None:
    if not runtime():
        pytest.skip(f"{runtime.__name__} is not installed")
    turns, expected = turns_of(models, 4)
    folder = package.directory.as_uri()
    source = f"""
    const {{ canLoad, description, load }} = await import("{folder}/model.js");
    const runs = canLoad(description.files.find((file) => file.name === "{file}"));
    output([runs, runs ? run(await load("{folder}/{file}"), input) : null]);
    """
    runs, actual = run_module(tmp_path, RUN_ALL + source, turns, runtime())
    if not runs:
        assert file == "model-relaxed.wasm"
        pytest.skip("this version has no relaxed SIMD")
    assert actual == expected


def test_a_package_is_imported_by_its_name(package: WebPackage, tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "three-models").symlink_to(package.directory)
    source = """
    import { load, description } from "three-models";
    const { small } = await load();
    output([description.models.length, small.name, small.input.shape]);
    """
    assert run_module(tmp_path, source) == [3, "small", list(small_shape(package))]


def small_shape(package: WebPackage) -> tuple[int, ...]:
    """Return the shape of the input of the first model, "small"."""
    shape: tuple[int, ...] = package.description["models"][0]["inputs"][0]["shape"]
    return shape


def test_real_numbers_are_stored_as_litert_does(
    package: WebPackage, models: dict[str, Prepared], tmp_path: Path
) -> None:
    tensor = models["small"].model.main.tensors[models["small"].model.main.inputs[0]]
    rng = np.random.default_rng(2)
    spread = 150 * tensor.scale
    real = rng.uniform(-spread, spread, tensor.shape).astype(np.float32)
    # Numbers in the middle between two steps, which round away from zero.
    real.reshape(-1)[:40] = (np.arange(40) - 20 + 0.5).astype(np.float32) * np.float32(tensor.scale)
    source = f"""
    import {{ load }} from "{package.directory.as_uri()}/model.js";
    const {{ small }} = await load();
    small.input.store(input);
    output([Array.from(small.input.data), Array.from(small.input.real())]);
    """
    stored, restored = run_module(tmp_path, source, real.reshape(-1).tolist())
    expected = run_quantize(real, tensor.dtype, tensor.scale, tensor.zero_point).reshape(-1)
    assert stored == expected.tolist()
    back = (expected.astype(np.float32) - np.float32(tensor.zero_point)) * np.float32(tensor.scale)
    assert restored == back.tolist()


def test_the_state_is_reset(package: WebPackage, tmp_path: Path) -> None:
    source = f"""
    import {{ load, ModelError }} from "{package.directory.as_uri()}/model.js";
    const {{ sums, small }} = await load();
    const once = () => {{ sums.input.data.fill(3); sums.invoke(); return Array.from(sums.output.data); }};
    const first = [once(), once()];
    sums.reset();
    const again = [once(), once()];
    let message = "";
    try {{ small.reset(); }} catch (error) {{ message = `${{error instanceof ModelError}} ${{error.message}}`; }}
    output([first, again, message]);
    """
    first, again, message = run_module(tmp_path, source)
    assert first == again and first[0] != first[1]
    assert message == "true The model small has no state to reset."


def test_a_picture_is_preprocessed_and_its_answer_has_labels(tmp_path: Path) -> None:
    record: dict[str, Any] = {
        "source": {"kind": "image", "format": "rgb", "width": 16, "height": 16},
        "steps": [
            {"do": "resize", "width": 12, "height": 12},
            {"do": "normalise", "divide": 127.5, "mean": 1.0},
        ],
    }
    best = {"steps": [{"do": "top_k", "k": 2}]}
    metadata = {"preprocessing": record, "postprocessing": best, "labels": ["a", "b", "c", "d"]}
    prepared = save(classifier(), metadata, tmp_path / "image.tflite")
    written = write_package(tmp_path / "package", {"image": prepared})
    source = """
    import { load } from "./package/model.js";
    const { image } = await load();
    image.image.data.fill(200);
    image.preprocess();
    image.invoke();
    output([image.image.width, image.image.format, image.labels, image.postprocess(), Array.from(image.output.real())]);
    """
    width, layout, labels, answer, scores = run_module(tmp_path, source)
    assert (width, layout, labels) == (16, "rgb", written.description["models"][0]["labels"])
    order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))[:2]
    assert answer["kind"] == "classes"
    assert [c["index"] for c in answer["classes"]] == order
    assert [c["label"] for c in answer["classes"]] == ["abcd"[k] for k in order]
    assert [c["score"] for c in answer["classes"]] == pytest.approx([scores[k] for k in order])


def test_an_input_arrives_in_rows(tmp_path: Path) -> None:
    models = {"rows": prepare(shared_model("vww01_int8"))}
    turns, expected = turns_of(models, 2)
    write_package(tmp_path / "package", models, optimise="ram", stream_input=True)
    source = """
    import { load } from "./package/model.js";
    const { rows } = await load();
    const outputs = input.map(([, [values]]) => {
      const size = rows.input.rowBytes;
      rows.invokeRows((row, index) => row.set(values.slice(index * size, (index + 1) * size)));
      return [Array.from(rows.output.data)];
    });
    output([rows.input.data, outputs]);
    """
    assert run_module(tmp_path, source, turns) == [None, expected]


def test_files_of_two_packages_do_not_run_together(package: WebPackage, tmp_path: Path) -> None:
    write_package(tmp_path / "other", {"small": three_models(tmp_path)["large"]}, simd=False)
    source = f"""
    import {{ load }} from "{(tmp_path / "other").as_uri()}/model.js";
    try {{ await load("{package.directory.as_uri()}/model.wasm"); output("loaded"); }}
    catch (error) {{ output(error.message); }}
    """
    assert "use the files of one package" in run_module(tmp_path, source)


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
def test_a_page_gives_the_bytes_of_litert(
    package: WebPackage, models: dict[str, Prepared], tmp_path: Path
) -> None:
    turns, expected = turns_of(models, 10)
    (package.directory / "page.html").write_text(
        '<!doctype html><link rel="icon" href="data:,"><title>x</title>'
    )
    with served(package.directory) as address, Browser(tmp_path / "profile") as browser:
        browser.open(f"{address}/page.html")
        actual = browser.value(
            f"(async () => {{ {RUN_ALL} const {{ load }} = await import('./model.js'); "
            f"return run(await load(), {json.dumps(turns)}); }})()"
        )
        missing = browser.value(
            "import('./model.js').then(({ load }) => load('./nothing.wasm')).catch((error) => error.message)"
        )
    assert actual == expected
    assert missing.startswith("The server answered 404") and "beside model.js" in missing


def test_names_that_npm_refuses_raise_an_error_or_are_changed(
    models: dict[str, Prepared], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="npm does not allow the package name 'My Models'"):
        write_package(tmp_path / "package", models, name="My Models")
    assert not (tmp_path / "package").exists()
    written = write_package(tmp_path / "My Models", models, simd=False)
    assert json.loads((written.directory / "package.json").read_text())["name"] == "my-models"
    assert [p.name for p in written.directory.glob("*.wasm")] == ["model-scalar.wasm"]
