"""From a float model to a scored image, by the function behind ``arenite convert``."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.quantize.search.budget import parse_budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions as SearchOptions
from arenite.converters.tflite.image import parse_image
from arenite.errors import UnsupportedModelError, UsageError
from arenite.host.bench.reference import Reference
from arenite.host.build.attachments import Attachments
from arenite.host.conversion.convert import convert, fits
from arenite.host.conversion.request import ConversionRequest
from arenite.profiles.boards import load_board
from tests.converters.quantize import trained_models
from tests.host.small_graphs import classifier, save

SMALL = load_board("qemu_microbit")


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> ConversionRequest:
    """A trained float classifier with 400 labelled samples, 150 to calibrate with."""
    folder = tmp_path_factory.mktemp("convert")
    (folder / "trained.tflite").write_bytes(trained_models.classifier())
    x, y = trained_models.samples(400, 5)
    np.savez(folder / "data.npz", x=x, y=y, slice_room=np.array(["attic", "cellar"])[y % 2])
    return ConversionRequest(
        str(folder / "trained.tflite"), calibration=folder / "data.npz", calibration_samples=150
    )


def test_int8_loses_less_than_a_point_on_samples_it_did_not_see(request_: ConversionRequest) -> None:
    made = convert(request_)
    assert made.scores is not None and made.calibrated is not None and made.prepared is not None
    assert made.scores.source.samples == 250 and made.scores.source.value > 0.9
    assert made.scores.lost <= 0.01
    assert set(made.scores.image.slices["room"]) == {"attic", "cellar"}
    layers = made.calibrated.quantized.layers
    before, after = sum(f.weight_bytes_before for f in layers), sum(f.weight_bytes for f in layers)
    assert 0.25 <= after / before < 0.3
    assert len(made.calibrated.errors) == len(layers) and min(e.sqnr_db for e in made.calibrated.errors) > 20


def test_the_score_is_that_of_the_image_itself(request_: ConversionRequest) -> None:
    """Counted again with the image's bytes, sample by sample."""
    made = convert(request_)
    assert made.calibration is not None and made.scores is not None and request_.calibration is not None
    with np.load(request_.calibration) as data:
        x, y = data["x"], data["y"]
    chosen = np.arange(150) * 400 // 150
    rest = np.setdiff1d(np.arange(400), chosen)
    tensor = parse_image(made.image).model.main
    quant = tensor.tensors[tensor.inputs[0]]
    reference, hits = Reference(made.image), 0
    for k in rest:
        stored = np.clip(np.round(x[k] / quant.scale) + quant.zero_point, -128, 127).astype(np.int8)
        (out,) = reference.run([stored[None]])
        hits += int(np.argmax(out) == y[k])
    # LiteRT divides in single precision, so that a value between two steps may go the other way.
    assert abs(hits / len(rest) - made.scores.image.value) <= 1 / len(rest)


def test_the_same_request_gives_the_same_bytes_and_another_does_not(request_: ConversionRequest) -> None:
    first, second = convert(request_), convert(request_)
    assert first.image == second.image
    assert convert(replace(request_, calibration_samples=149)).image != first.image


def test_a_test_file_scores_and_all_samples_calibrate(request_: ConversionRequest, tmp_path: Path) -> None:
    x, y = trained_models.samples(90, 11)
    np.savez(tmp_path / "test.npz", x=x, y=y)
    made = convert(replace(request_, calibration_samples=None, test=tmp_path / "test.npz"))
    assert made.scores is not None and made.scores.source.samples == 90
    assert made.scores.of == str(tmp_path / "test.npz")
    assert made.calibrated is not None and made.calibrated.observations is not None
    assert made.calibrated.observations.samples == 400


def test_unlabelled_samples_tell_how_often_source_and_image_decide_alike(
    request_: ConversionRequest, tmp_path: Path
) -> None:
    np.savez(tmp_path / "x.npz", x=trained_models.samples(120, 11)[0])
    made = convert(replace(request_, calibration=tmp_path / "x.npz", calibration_samples=50))
    assert made.scores is not None and made.scores.image.metric == "agreement"
    assert made.scores.source.value == 1 and made.scores.image.value > 0.9


def test_float_activations_make_an_image_for_hosts_without_a_plan(request_: ConversionRequest) -> None:
    made = convert(replace(request_, calibration=None, calibration_samples=None, recipe="float16"))
    assert made.prepared is None and parse_image(made.image).plan is None and fits(made) == []
    with pytest.raises(UsageError, match="float activations"):
        convert(replace(request_, recipe="float16", boards=(SMALL,)))


def test_field_data_that_clip_are_told_and_scored(request_: ConversionRequest, tmp_path: Path) -> None:
    """Twice as loud as the calibration data: the input clips, and the report says so with a figure."""
    x, y = trained_models.samples(200, 12, gain=np.full(200, 2.0))
    np.savez(tmp_path / "field.npz", x=x, y=y)
    made = convert(replace(request_, field_data=tmp_path / "field.npz"))
    assert made.calibrated is not None and made.calibrated.field is not None
    report = made.calibrated.field
    assert report.samples == 200 and not report.passed
    assert report.clipped[0].field.clipped > 0.05 and "clip" in report.warnings[0]
    calm = convert(replace(request_, calibration_samples=None, field_data=request_.calibration)).calibrated
    assert calm is not None and calm.field is not None and calm.field.passed


def test_test_samples_on_another_scale_are_refused(request_: ConversionRequest, tmp_path: Path) -> None:
    x, y = trained_models.samples(60, 11)
    np.savez(tmp_path / "pixels.npz", x=255 * x, y=y)
    with pytest.raises(UsageError, match="divided by 255"):
        convert(replace(request_, test=tmp_path / "pixels.npz"))
    np.savez(tmp_path / "louder.npz", x=3 * x, y=y)
    made = convert(replace(request_, test=tmp_path / "louder.npz"))
    assert any("will clip" in note and "3.0 times as large" in note for note in made.notes)


def test_a_quantised_source_is_scored_and_recorded_as_it_is(tmp_path: Path) -> None:
    source = save(classifier(), tmp_path / "int8.tflite")
    rng = np.random.default_rng(1)
    np.savez(
        tmp_path / "d.npz", x=rng.normal(size=(30, 12, 12, 3)).astype(np.float32), y=rng.integers(0, 5, 30)
    )
    made = convert(ConversionRequest(str(source), test=tmp_path / "d.npz"))
    assert made.calibrated is None and made.scores is not None and made.scores.lost == 0
    record = parse_image(made.image).extra["made_from"]
    assert record["kind"] == "tflite-quantised" and record["recipe"] is None
    with pytest.raises(UsageError, match="quantized already"):
        convert(ConversionRequest(str(source), recipe="int8"))


def test_labels_are_recorded_where_there_is_one_for_each_output(request_: ConversionRequest) -> None:
    names = tuple("abcdefgh")
    made = convert(replace(request_, attachments=Attachments(labels=names)))
    assert parse_image(made.image).extra["labels"] == list(names)
    with pytest.raises(UsageError, match="2 labels"):
        convert(replace(request_, attachments=Attachments(labels=("a", "b"))))


def test_folders_are_the_classes_that_the_labels_name(request_: ConversionRequest, tmp_path: Path) -> None:
    x, y = trained_models.samples(40, 6)
    names = tuple("hgfedcba")  # not in the order of the alphabet
    for k, sample in enumerate(x):
        folder = tmp_path / "test" / names[y[k]]
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{k:02}.npy", sample)
    np.savez(tmp_path / "test.npz", x=x, y=y)
    named = replace(request_, attachments=Attachments(labels=names))
    by_folder, by_number = (
        convert(replace(named, test=tmp_path / given)).scores for given in ("test", "test.npz")
    )
    assert by_folder is not None and by_number is not None
    assert by_folder.source.value == by_number.source.value > 0.5
    # An image records its labels, which then name the folders.
    image = tmp_path / "image.tflite"
    image.write_bytes(convert(named).image)
    again = convert(ConversionRequest(str(image), test=tmp_path / "test")).scores
    assert again is not None and again.source.value == by_folder.image.value
    with pytest.raises(UsageError, match="class 'a', which is not a label of the model"):
        convert(replace(named, test=tmp_path / "test", attachments=Attachments(labels=tuple("hgfedcbA"))))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna is not installed")
def test_a_search_keeps_the_budget_or_says_what_is_missing(request_: ConversionRequest) -> None:
    asked = replace(request_, boards=(SMALL,), search=SearchOptions(trials=3))
    made = convert(replace(asked, budget=parse_budget("drop=2%")))
    assert made.calibrated is not None and made.scores is not None
    found = made.calibrated.search
    assert found is not None and found.chosen is not None and made.calibrated.recipe == found.chosen.recipe
    assert made.scores.source.samples == 125  # half of those that calibration left: the search had the others
    (verdict,) = fits(made)
    assert verdict.fits
    tight = convert(replace(asked, budget=parse_budget("flash=1k"))).calibrated
    assert tight is not None and tight.search is not None and tight.search.chosen is None
    assert "B of flash too much" in tight.search.trials[tight.search.nearest].misses(tight.search.budget)[0]


def test_what_would_be_left_out_is_refused(request_: ConversionRequest, tmp_path: Path) -> None:
    floats = replace(request_, recipe="float16")
    for asked in (replace(floats, sensitivity=True), replace(floats, field_data=request_.calibration)):
        with pytest.raises(UsageError, match="'float16' has float activations"):
            convert(asked)
    with pytest.raises(UsageError, match="9 samples cannot calibrate"):
        convert(replace(request_, calibration_samples=9))
    source = save(classifier(), tmp_path / "quantised.tflite")
    with pytest.raises(UsageError, match="its layers cannot be quantized one by one"):
        convert(ConversionRequest(str(source), sensitivity=True))


def test_a_layer_that_the_recipe_leaves_float_is_told(request_: ConversionRequest, tmp_path: Path) -> None:
    recipe = tmp_path / "mixed.toml"
    recipe.write_text('[[layers]]\nmatch = "FULLY_CONNECTED"\nactivations = "float"\n')
    with pytest.raises(UnsupportedModelError, match="'mixed' leaves layers in float32"):
        convert(replace(request_, recipe=str(recipe)))


def test_settings_for_no_layer_are_told(request_: ConversionRequest, tmp_path: Path) -> None:
    recipe = tmp_path / "typed.toml"
    entries = [f'[[layers]]\nmatch = "{match}"\nweights = "int4"\n' for match in ("CONV2D", "#0")]
    recipe.write_text("\n".join(entries))
    notes = convert(replace(request_, recipe=str(recipe))).notes
    assert [n for n in notes if "is not a layer" in n] == [
        "The recipe 'typed' has settings for 'CONV2D', which is not a layer of the model."
    ]


def test_a_budget_needs_a_board_and_samples(request_: ConversionRequest) -> None:
    budget = parse_budget("flash=64k")
    with pytest.raises(UsageError, match="needs a board"):
        convert(replace(request_, budget=budget))
    with pytest.raises(UsageError, match="calibration samples"):
        convert(replace(request_, budget=budget, boards=(SMALL,), calibration=None))
