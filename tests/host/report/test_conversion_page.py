"""The HTML page of a conversion is complete, well-formed and self-contained."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.search.budget import parse_budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions as SearchOptions
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.build.attachments import Attachments
from arenite.host.conversion.convert import Conversion, convert, fits
from arenite.host.conversion.request import ConversionRequest
from arenite.host.report.conversion_page import conversion_page
from arenite.profiles.boards import load_board
from tests.converters.quantize import float_models, trained_models
from tests.host.report.page_in_browser import MEASURE_SCRIPT, load_in_browser
from tests.host.small_graphs import classifier, save

HOSTILE = '</td><script>alert("1")</script>\x00&amp;'


class Page(HTMLParser):
    """Checks that tags are closed in order; collects the text and the links."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in ("meta", "wbr", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page_of(conversion: Conversion, command: str = "") -> Page:
    """Return the parsed page of a conversion, after checking that it loads nothing and has no control characters."""
    html = conversion_page(conversion, fits(conversion), command)
    assert "@import" not in html and not re.search(r"url\(", html)
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", html)
    page = Page(html)
    assert page.links == [] and not page.tags & {"script", "link", "iframe", "img", "object"}
    return page


def data(folder: Path, count: int = 300) -> Path:
    """Write ``count`` labelled samples of two rooms, and return the path of the file."""
    x, y = trained_models.samples(count, 5)
    np.savez(folder / "data.npz", x=x, y=y, slice_room=np.array(["attic", "cellar"])[y % 2])
    return folder / "data.npz"


@pytest.fixture
def request_(tmp_path: Path) -> ConversionRequest:
    """Return a request for a trained float classifier with samples and two boards."""
    (tmp_path / "trained.tflite").write_bytes(trained_models.classifier())
    return ConversionRequest(
        str(tmp_path / "trained.tflite"),
        calibration=data(tmp_path),
        calibration_samples=100,
        boards=(load_board("qemu_microbit"), load_board("qemu_mps2_an386")),
    )


def test_the_page_has_all_figures_of_the_conversion(request_: ConversionRequest, tmp_path: Path) -> None:
    x, y = trained_models.samples(100, 12, gain=np.full(100, 2.0))
    np.savez(tmp_path / "field.npz", x=x, y=y)
    labels = tuple(f"voice {letter}" for letter in "abcdefgh")
    full_request = replace(
        request_, attachments=Attachments(labels=labels), sensitivity=True, field_data=tmp_path / "field.npz"
    )
    conversion = convert(full_request)
    text = page_of(conversion, "arenite convert trained.tflite --calibration 'my data.npz'").text
    calibrated = conversion.calibrated
    assert calibrated is not None and calibrated.sensitivity is not None and calibrated.field is not None
    assert (
        conversion.scores is not None
        and conversion.prepared is not None
        and conversion.calibration is not None
    )
    assert f"{len(conversion.image):,} B" in text and f"{conversion.prepared.plan.arena_bytes:,} B" in text
    for score in (conversion.scores.source, conversion.scores.image):
        assert f"{score.value:.2%}" in text
    for worst in conversion.scores.worst:
        assert f"{worst.before.value:.2%} {worst.after.value:.2%}" in text
    assert "class 3: voice d" in text and "slice room = attic" in text
    for layer, error in zip(calibrated.quantized.layers, calibrated.errors, strict=True):
        assert f"{error.sqnr_db:.1f}" in text
        if layer.weight_bytes_before:
            assert f"{layer.weight_bytes_before:,} {layer.weight_bytes:,}" in text
    for tensor in calibrated.coverage:
        assert (
            f"{tensor.low:.4g} to {tensor.high:.4g} {tensor.seen_low:.4g} to {tensor.seen_high:.4g}" in text
        )
    for layer_sensitivity in calibrated.sensitivity.layers:
        assert f"{layer_sensitivity.kind} " in text and f"{100 * layer_sensitivity.drop:+.2f}" in text
    for warning in calibrated.field.warnings:
        assert warning in text
    for sha in (conversion.imported.sha256, conversion.calibration.sha256):
        assert sha in text
    for verdict in fits(conversion):
        assert verdict.board.name in text and f"{verdict.needs.ram:,}" in text
    assert f'calibrator = "{calibrated.recipe.settings.calibrator}"' in text
    assert "arenite convert trained.tflite --calibration 'my data.npz'" in text


def test_the_graph_shows_every_operator_and_skip_connections(tmp_path: Path) -> None:
    model = float_models.classifier()
    (tmp_path / "residual.tflite").write_bytes(to_flatbuffer(model))
    samples = np.stack([s[0][0] for s in float_models.samples_for(model, 30).inputs])
    np.savez(tmp_path / "x.npz", x=samples)
    conversion = convert(ConversionRequest(str(tmp_path / "residual.tflite"), calibration=tmp_path / "x.npz"))
    html = conversion_page(conversion, [])
    picture = html[html.index('class="ar-graph"') :].partition("</svg>")[0]
    assert conversion.prepared is not None
    graph = conversion.prepared.model.main
    for index in conversion.prepared.plan.order:
        assert f">{index}  {graph.ops[index].name}<" in picture
        shape = " × ".join(map(str, graph.tensors[graph.ops[index].outputs[0]].shape))
        assert f">int8 {shape}<" in picture
    # There is one arrow per connection. The addition has a second input, whose arrow passes two layers.
    operators = len(conversion.prepared.plan.order)
    assert picture.count('class="ar-edge"') == operators + 2 and picture.count("Q") == 2
    assert page_of(conversion).tags >= {"svg", "table"}


def hostile(model: Model) -> Model:
    """Return the model with HTML and a control character in the names of its tensors and its graph."""
    graph = model.main
    tensors = tuple(replace(t, name=f"{t.name} {HOSTILE}") for t in graph.tensors)
    return model.with_main(replace(graph, tensors=tensors, name=HOSTILE))


def test_names_from_model_and_data_are_escaped(tmp_path: Path) -> None:
    source = tmp_path / "<b>&.tflite"
    source.write_bytes(to_flatbuffer(hostile(parse(trained_models.classifier()))))
    x, y = trained_models.samples(60, 5)
    arrays: dict[str, Any] = {"x": x, "y": y, "slice_<u>": np.array(["<script>", "b"])[y % 2]}
    np.savez(tmp_path / "<i>.npz", **arrays)
    conversion = convert(
        ConversionRequest(
            str(source),
            attachments=Attachments(labels=tuple(f"<h1>{k}" for k in range(8))),
            calibration=tmp_path / "<i>.npz",
            sensitivity=True,
        )
    )
    page = page_of(conversion, f"arenite convert {source}")
    assert 'alert("1")' in page.text and "slice <u> = <script>" in page.text and "<h1>3" in page.text


def test_a_quantized_source_has_a_page(tmp_path: Path) -> None:
    text = page_of(convert(ConversionRequest(str(save(classifier(), tmp_path / "int8.tflite"))))).text
    assert "tflite-quantised model, already quantized" in text and "CONV_2D" in text
    assert "Recipe" not in text and "Error by layer" not in text and "Score" not in text


def test_an_image_with_float_activations_has_a_page(request_: ConversionRequest) -> None:
    text = page_of(convert(replace(request_, boards=(), recipe="float16"))).text
    assert "recipe float16" in text and "float16" in text and "The arena over time" not in text


def test_a_loss_of_mse_is_a_relative_growth(request_: ConversionRequest, tmp_path: Path) -> None:
    x, y = trained_models.samples(80, 5)
    np.savez(tmp_path / "targets.npz", x=x, y=np.eye(8, dtype=np.float32)[y] + 0.01)
    conversion = convert(replace(request_, test=tmp_path / "targets.npz", sensitivity=True))
    assert conversion.scores is not None and conversion.scores.source.metric == "mse"
    word = "larger" if conversion.scores.lost > 0 else "smaller"
    assert f"{abs(conversion.scores.lost):.1%} {word}" in page_of(conversion).text
    np.savez(tmp_path / "alone.npz", x=x)
    without_targets = convert(
        replace(
            request_,
            calibration=tmp_path / "alone.npz",
            metric="mse",
            calibration_samples=40,
            sensitivity=True,
        )
    )
    text = page_of(without_targets).text
    assert "compared with the source itself" in text and "00000000" not in text


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna is not installed")
def test_a_search_is_drawn_with_the_chosen_or_nearest_trial(request_: ConversionRequest) -> None:
    search_request = replace(request_, search=SearchOptions(trials=3))
    conversion = convert(replace(search_request, budget=parse_budget("flash=100k,drop=2%")))
    assert conversion.calibrated is not None and conversion.calibrated.search is not None
    search = conversion.calibrated.search
    assert search.chosen is not None
    text = page_of(conversion).text
    assert f"Trial {search.chosen.place} was chosen" in text and "met, chosen" in text
    assert "within RAM 16,384 B, flash 102,400 B, a loss of 2 points" in text
    for place in search.front:
        assert f"{search.trials[place].build(search.budget).flash:,}" in text
    html = conversion_page(conversion, [])
    assert 'class="ar-front"' in html
    missed_page = page_of(convert(replace(search_request, budget=parse_budget("flash=1k")))).text
    assert (
        "No recipe meets the budget. The nearest is trial" in missed_page
        and "B of flash too much" in missed_page
    )


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [500, 1400])
def test_the_page_fits_the_window_of_a_browser_without_errors(
    width: int, request_: ConversionRequest, tmp_path: Path
) -> None:
    """With long names, the page fits phones and desktops. Wide tables and pictures scroll on their own."""
    long = "a_recorder_of_the_upper_floor_" * 8
    x, y = trained_models.samples(120, 6)
    np.savez(tmp_path / "test.npz", x=x, y=y, **{f"slice_{long}": y % 3})  # type: ignore[arg-type]
    source = tmp_path / f"{'model_' * 30}.tflite"
    source.write_bytes(to_flatbuffer(hostile(parse(trained_models.classifier()))))
    full_request = replace(request_, source=str(source), test=tmp_path / "test.npz", sensitivity=True)
    if importlib.util.find_spec("optuna") is not None:
        full_request = replace(full_request, budget=parse_budget("drop=2%"), search=SearchOptions(trials=2))
    conversion = convert(full_request)
    path = tmp_path / "page.html"
    path.write_text(conversion_page(conversion, fits(conversion), f"arenite convert {source} {long}"))
    dom, messages = load_in_browser(path, width)
    assert "Command that creates this image" in dom and messages == []
    path.write_text(path.read_text().replace("</body>", MEASURE_SCRIPT + "</body>"))
    match = re.search(r"<title>page (\d+) of (\d+), picture (\d+)</title>", load_in_browser(path, width)[0])
    assert match is not None
    wide, viewport, picture = map(int, match.groups())
    assert wide <= viewport and viewport >= width - 20 and picture > 100
