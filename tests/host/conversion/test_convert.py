"""Tests of the function ``convert`` behind ``arenite convert``, from a float model to an image with a score."""

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
    """Return a request for a trained float classifier with 400 labelled samples, 150 of them for calibration."""
    folder = tmp_path_factory.mktemp("convert")
    (folder / "trained.tflite").write_bytes(trained_models.classifier())
    x, y = trained_models.samples(400, 5)
    np.savez(folder / "data.npz", x=x, y=y, slice_room=np.array(["attic", "cellar"])[y % 2])
    return ConversionRequest(
        str(folder / "trained.tflite"), calibration=folder / "data.npz", calibration_samples=150
    )


def test_int8_loses_less_than_one_percent_on_test_samples(request_: ConversionRequest) -> None:
    conversion = convert(request_)
    assert (
        conversion.scores is not None
        and conversion.calibrated is not None
        and conversion.prepared is not None
    )
    # 150 of the 400 samples were used for calibration.
    assert conversion.scores.source.samples == 250 and conversion.scores.source.value > 0.9
    assert conversion.scores.lost <= 0.01
    assert set(conversion.scores.image.slices["room"]) == {"attic", "cellar"}
    layers = conversion.calibrated.quantized.layers
    before, after = sum(f.weight_bytes_before for f in layers), sum(f.weight_bytes for f in layers)
    assert 0.25 <= after / before < 0.3
    assert (
        len(conversion.calibrated.errors) == len(layers)
        and min(e.sqnr_db for e in conversion.calibrated.errors) > 20
    )


def test_the_score_agrees_with_the_image(request_: ConversionRequest) -> None:
    """The reported score equals the share of correct predictions when the test runs the image on every test sample."""
    conversion = convert(request_)
    assert (
        conversion.calibration is not None
        and conversion.scores is not None
        and request_.calibration is not None
    )
    with np.load(request_.calibration) as data:
        x, y = data["x"], data["y"]
    calibration_indices = np.arange(150) * 400 // 150
    test_indices = np.setdiff1d(np.arange(400), calibration_indices)
    tensor = parse_image(conversion.image).model.main
    quant = tensor.tensors[tensor.inputs[0]]
    reference, hits = Reference(conversion.image), 0
    for k in test_indices:
        stored = np.clip(np.round(x[k] / quant.scale) + quant.zero_point, -128, 127).astype(np.int8)
        (out,) = reference.run([stored[None]])
        hits += int(np.argmax(out) == y[k])
    # LiteRT divides in single precision, so a value between two steps may be rounded differently.
    assert abs(hits / len(test_indices) - conversion.scores.image.value) <= 1 / len(test_indices)


@pytest.mark.slow
def test_the_same_request_gives_the_same_bytes_and_another_does_not(request_: ConversionRequest) -> None:
    first, second = convert(request_), convert(request_)
    assert first.image == second.image
    assert convert(replace(request_, calibration_samples=149)).image != first.image


def test_with_a_test_file_all_calibration_samples_are_used_for_calibration(
    request_: ConversionRequest, tmp_path: Path
) -> None:
    x, y = trained_models.samples(90, 11)
    np.savez(tmp_path / "test.npz", x=x, y=y)
    conversion = convert(replace(request_, calibration_samples=None, test=tmp_path / "test.npz"))
    assert conversion.scores is not None and conversion.scores.source.samples == 90
    assert conversion.scores.of == str(tmp_path / "test.npz")
    assert conversion.calibrated is not None and conversion.calibrated.observations is not None
    assert conversion.calibrated.observations.samples == 400


def test_unlabelled_samples_give_the_agreement_of_source_and_image(
    request_: ConversionRequest, tmp_path: Path
) -> None:
    np.savez(tmp_path / "x.npz", x=trained_models.samples(120, 11)[0])
    conversion = convert(replace(request_, calibration=tmp_path / "x.npz", calibration_samples=50))
    assert conversion.scores is not None and conversion.scores.image.metric == "agreement"
    assert conversion.scores.source.value == 1 and conversion.scores.image.value > 0.9


def test_an_image_with_float_activations_has_no_plan(request_: ConversionRequest) -> None:
    conversion = convert(replace(request_, calibration=None, calibration_samples=None, recipe="float16"))
    assert (
        conversion.prepared is None and parse_image(conversion.image).plan is None and fits(conversion) == []
    )
    with pytest.raises(UsageError, match="float activations"):
        convert(replace(request_, recipe="float16", boards=(SMALL,)))


@pytest.mark.slow
def test_field_data_that_clip_are_reported(request_: ConversionRequest, tmp_path: Path) -> None:
    """The field data have twice the amplitude of the calibration data. The input clips, and the report contains the
    share of clipped values."""
    x, y = trained_models.samples(200, 12, gain=np.full(200, 2.0))
    np.savez(tmp_path / "field.npz", x=x, y=y)
    conversion = convert(replace(request_, field_data=tmp_path / "field.npz"))
    assert conversion.calibrated is not None and conversion.calibrated.field is not None
    report = conversion.calibrated.field
    assert report.samples == 200 and not report.passed
    assert report.clipped[0].field.clipped > 0.05 and "clip" in report.warnings[0]
    own_data = convert(
        replace(request_, calibration_samples=None, field_data=request_.calibration)
    ).calibrated
    assert own_data is not None and own_data.field is not None and own_data.field.passed


@pytest.mark.slow
def test_test_samples_on_another_scale_raise_an_error(request_: ConversionRequest, tmp_path: Path) -> None:
    x, y = trained_models.samples(60, 11)
    np.savez(tmp_path / "pixels.npz", x=255 * x, y=y)
    with pytest.raises(UsageError, match="divided by 255"):
        convert(replace(request_, test=tmp_path / "pixels.npz"))
    np.savez(tmp_path / "louder.npz", x=3 * x, y=y)
    conversion = convert(replace(request_, test=tmp_path / "louder.npz"))
    assert any("will clip" in note and "3.0 times as large" in note for note in conversion.notes)


def test_a_quantized_source_is_scored_and_recorded_unchanged(tmp_path: Path) -> None:
    source = save(classifier(), tmp_path / "int8.tflite")
    rng = np.random.default_rng(1)
    np.savez(
        tmp_path / "d.npz", x=rng.normal(size=(30, 12, 12, 3)).astype(np.float32), y=rng.integers(0, 5, 30)
    )
    conversion = convert(ConversionRequest(str(source), test=tmp_path / "d.npz"))
    assert conversion.calibrated is None and conversion.scores is not None and conversion.scores.lost == 0
    record = parse_image(conversion.image).extra["made_from"]
    assert record["kind"] == "tflite-quantised" and record["recipe"] is None
    with pytest.raises(UsageError, match="quantized already"):
        convert(ConversionRequest(str(source), recipe="int8"))


def test_one_label_per_output_is_recorded(request_: ConversionRequest) -> None:
    names = tuple("abcdefgh")
    conversion = convert(replace(request_, attachments=Attachments(labels=names)))
    assert parse_image(conversion.image).extra["labels"] == list(names)
    with pytest.raises(UsageError, match="2 labels"):
        convert(replace(request_, attachments=Attachments(labels=("a", "b"))))


@pytest.mark.slow
def test_labels_give_the_class_numbers_of_folders(request_: ConversionRequest, tmp_path: Path) -> None:
    x, y = trained_models.samples(40, 6)
    names = tuple("hgfedcba")  # the folder names are not in alphabetical order
    for k, sample in enumerate(x):
        folder = tmp_path / "test" / names[y[k]]
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{k:02}.npy", sample)
    np.savez(tmp_path / "test.npz", x=x, y=y)
    labelled_request = replace(request_, attachments=Attachments(labels=names))
    by_folder, by_number = (
        convert(replace(labelled_request, test=tmp_path / file_name)).scores
        for file_name in ("test", "test.npz")
    )
    assert by_folder is not None and by_number is not None
    assert by_folder.source.value == by_number.source.value > 0.5
    # An image records its labels, which then name the folders.
    image = tmp_path / "image.tflite"
    image.write_bytes(convert(labelled_request).image)
    image_scores = convert(ConversionRequest(str(image), test=tmp_path / "test")).scores
    assert image_scores is not None and image_scores.source.value == by_folder.image.value
    with pytest.raises(UsageError, match="class 'a', which is not a label of the model"):
        convert(
            replace(
                labelled_request, test=tmp_path / "test", attachments=Attachments(labels=tuple("hgfedcbA"))
            )
        )


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna is not installed")
def test_a_search_keeps_the_budget_or_reports_the_excess(request_: ConversionRequest) -> None:
    search_request = replace(request_, boards=(SMALL,), search=SearchOptions(trials=3))
    conversion = convert(replace(search_request, budget=parse_budget("drop=2%")))
    assert conversion.calibrated is not None and conversion.scores is not None
    search = conversion.calibrated.search
    assert (
        search is not None
        and search.chosen is not None
        and conversion.calibrated.recipe == search.chosen.recipe
    )
    # Half of the samples that were not used for calibration; the search used the other half.
    assert conversion.scores.source.samples == 125
    (verdict,) = fits(conversion)
    assert verdict.fits
    tight = convert(replace(search_request, budget=parse_budget("flash=1k"))).calibrated
    assert tight is not None and tight.search is not None and tight.search.chosen is None
    assert "B of flash too much" in tight.search.trials[tight.search.nearest].misses(tight.search.budget)[0]


def test_impossible_requests_raise_an_error(request_: ConversionRequest, tmp_path: Path) -> None:
    floats = replace(request_, recipe="float16")
    for invalid_request in (
        replace(floats, sensitivity=True),
        replace(floats, field_data=request_.calibration),
    ):
        with pytest.raises(UsageError, match="'float16' has float activations"):
            convert(invalid_request)
    with pytest.raises(UsageError, match="9 samples are too few to calibrate"):
        convert(replace(request_, calibration_samples=9))
    source = save(classifier(), tmp_path / "quantised.tflite")
    with pytest.raises(UsageError, match="its layers cannot be quantized one by one"):
        convert(ConversionRequest(str(source), sensitivity=True))


def test_a_layer_left_in_float_raises_an_error(request_: ConversionRequest, tmp_path: Path) -> None:
    recipe = tmp_path / "mixed.toml"
    recipe.write_text('[[layers]]\nmatch = "FULLY_CONNECTED"\nactivations = "float"\n')
    with pytest.raises(UnsupportedModelError, match="'mixed' leaves layers in float32"):
        convert(replace(request_, recipe=str(recipe)))


def test_settings_for_unknown_layers_add_a_note(request_: ConversionRequest, tmp_path: Path) -> None:
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
