"""``arenite tune`` on a model that hears tones: its figures, its file, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from arenite.converters.decision.plan import plan_decision
from arenite.converters.decision.record import Decision, Gate, recorded_decision, recorded_gate
from arenite.converters.decision.reference import EventKind, decide_all
from arenite.converters.processing.media_files import read_sound
from arenite.converters.processing.preprocess import preprocess_samples
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.tflite.image import load_image
from arenite.host.app.reference import reference_events
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare
from tests.host.cli.conftest import Arenite
from tests.host.tune.tones import LABELS, RATE, SOUND, WINDOW, noise, tone, tone_model, tone_stream, write_wav

#: Loud tones are labelled; quiet tones, which must not be events, are only in ``QUIET``.
LOUD = [(1.0 + 2.0 * k, ("low", "high")[k % 2], 900.0 + 80 * (k % 5)) for k in range(12)]
QUIET = [(2.0 + 2.0 * k, ("high", "low")[k % 2], 250.0) for k in range(12)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, a recording ``day.wav`` with loud and quiet tones, and clips."""
    folder = tmp_path_factory.mktemp("tune")
    tone_model(folder / "model.tflite")
    tone_stream(folder / "day.wav", 27, [*LOUD, *QUIET])
    rows = [f"{start}\t{start + 0.4}\t{label}" for start, label, _ in LOUD]
    (folder / "day.csv").write_text("\n".join(rows) + "\n")
    for k in range(3):
        for label in LABELS[1:]:
            clip = noise(0.6, k)
            clip[800:4000] += tone(label, 0.4, 900)
            write_wav(folder / "clips" / label / f"{k}.wav", clip)
    write_wav(folder / "clips" / "background" / "fan.wav", noise(6, 9))
    write_wav(folder / "clips" / "silence" / "room.wav", noise(2, 8))
    return folder


def test_thresholds_separate_loud_from_quiet_tones(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    output, svg = tmp_path / "tuned.tflite", tmp_path / "curve.svg"
    run = arenite(
        "tune", folder / "model.tflite", "--data", folder / "day.wav", "-o", output, "--svg", svg, "--json"
    )
    assert run.code == 0, run.err
    record = run.json
    assert record["met"] and record["total"]["misses"] == 0 == record["total"]["false_accepts"]
    assert record["total"]["labels"] == 12 and record["hours"] == pytest.approx(27 / 3600)
    assert [c["name"] for c in record["classes"]] == ["low", "high"]
    for entry in record["classes"]:
        by_threshold = {p["threshold"]: p for p in entry["curve"]}
        assert len(by_threshold) == 255
        # Low thresholds accept the quiet tones, high ones miss the loud tones.
        assert max(p["false_accepts"] for p in entry["curve"]) >= 6
        assert entry["curve"][-1]["misses"] > 0
        chosen = by_threshold[entry["threshold"]]
        assert chosen["misses"] == 0 == chosen["false_accepts"]
    assert any("one false accept is 133.3 per hour" in text for text in record["notes"])
    decision = recorded_decision(load_image(output).extra)
    assert decision is not None and decision.to_json() == record["decision"]
    assert decision.hop == WINDOW // 8 and decision.ignore == ("silence",)
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    space = {"s": "http://www.w3.org/2000/svg"}
    assert len(root.findall("s:path[@class='ar-curve ar-c0']", space)) == 1
    assert "low: threshold" in "".join(root.itertext())


def test_the_recorded_thresholds_give_the_reported_events(
    arenite: Arenite, folder: Path, tmp_path: Path
) -> None:
    """The counts follow from a second, plain implementation of windows, scores and matching."""
    output = tmp_path / "tuned.tflite"
    command = ("tune", folder / "model.tflite", "--data", folder / "day.wav", "--false-accepts-per-hour", 700)
    record = arenite(*command, "-o", output, "--json").json
    image = load_image(output)
    decision = recorded_decision(image.extra)
    assert decision is not None
    graph = image.model.main
    plan = plan_decision(decision, [graph.tensors[i] for i in graph.outputs], LABELS, RATE)
    spec = Preprocessing.from_json(SOUND).bound(graph.tensors[graph.inputs[0]])
    samples = read_sound(folder / "day.wav", RATE)
    model = Reference(output.read_bytes())
    ends = range(decision.hop, len(samples) + 1, decision.hop)
    scores = []
    for end in ends:
        window = samples[max(end - WINDOW, 0) : end]
        window = np.concatenate([np.zeros(WINDOW - len(window), np.int16), window])
        scores.append(model.run([preprocess_samples(spec, window)[None]])[0][0])
    events = decide_all(plan, np.array(scores), [end - 1 for end in ends])
    starts = [event for event in events if event.kind is EventKind.START]
    right = 0
    for start, label, _ in LOUD:
        span = range(round(start * RATE), round((start + 0.4) * RATE) + WINDOW + 2 * decision.hop)
        right += any(event.at in span and LABELS[event.index] == label for event in starts)
    total = record["total"]
    assert total["labels"] - total["misses"] == right > 0
    assert total["false_accepts"] == len(starts) - right
    assert record["inferences"] == len(scores)


def test_tuning_again_gives_the_same_file(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes((folder / "model.tflite").read_bytes())
    before = load_image(path)
    outputs = []
    for _ in range(2):
        assert arenite("tune", path, "--data", folder / "day.wav", "-o", path).code == 0
        outputs.append(path.read_bytes())
    assert outputs[0] == outputs[1] and list(tmp_path.iterdir()) == [path]
    after = load_image(path)
    assert {k: v for k, v in after.extra.items() if k != "decision"} == dict(before.extra)
    assert [op.kind for op in after.model.main.ops] == [op.kind for op in before.model.main.ops]


def test_clips_and_background_folders(arenite: Arenite, folder: Path) -> None:
    run = arenite("tune", folder / "model.tflite", "--data", folder / "clips", "--misses", "0%", "--json")
    assert run.code == 0
    record = run.json
    recordings = {Path(r["path"]).name: r for r in record["recordings"]}
    assert {name: r["labels"] for name, r in recordings.items()} == {
        "background": 0,
        "high": 3,
        "low": 3,
        "silence": 0,
    }
    # The silence between clips does not count.
    assert record["hours"] == pytest.approx((6 + 2 + 6 * 0.6) / 3600)
    assert record["total"]["misses"] == 0
    # The model runs while a window has a part of a clip.
    hops = sum(1 for _ in range(0, int((6 + 2 + 6 * 0.6) * RATE) + 8 * WINDOW, WINDOW // 8))
    assert record["inferences"] <= hops


def test_a_target_that_no_threshold_reaches_is_exit_code_1(
    arenite: Arenite, folder: Path, tmp_path: Path
) -> None:
    recording = tone_stream(
        tmp_path / "hard.wav", 8, [(1.0, "low", 900.0), (3.0, "high", 900.0), (5.0, "low", 20.0)]
    )
    output = tmp_path / "tuned.tflite"
    run = arenite("tune", folder / "model.tflite", "--data", recording, "--misses", "5%", "-o", output)
    assert run.code == 1 and "The target is not met" in run.out
    assert "decision" in load_image(output).extra


def test_a_decision_and_a_gate_of_the_image_are_used(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    settings = {"smooth": "exponential", "factor": 0.5, "minimum": 2, "hop": 512, "refractory_ms": 300}
    decision = Decision.from_json({"threshold": 0.6, "release": 0.3, "ignore": ["silence"], **settings})
    model = tone_model(tmp_path / "gated.tflite", decision=decision, gate=Gate(-40.0, 256, hang_ms=100.0))
    run = arenite("tune", model, "--data", folder / "day.wav", "--json")
    assert run.code == 0
    record = run.json
    assert record["hop_ms"] == 64 and record["decision"]["factor"] == 0.5
    # Only the loud tones open the gate: 0.4 s, at most a block before and 0.1 s after each.
    assert 12 * 0.4 / 0.064 - 12 <= record["inferences"] <= 12 * 0.6 / 0.064
    assert record["total"]["misses"] == 0


def test_a_class_for_silence_that_has_events_is_named(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    model = tone_model(tmp_path / "model.tflite", decision=Decision(0.6, hop=512))
    run = arenite("tune", model, "--data", folder / "day.wav")
    assert run.code == 1
    assert "These classes have events; add them to `ignore` if they must not: silence." in " ".join(
        run.err.split()
    )


def write_labels(path: Path, text: str) -> None:
    write_wav(path.with_suffix(".wav"), noise(1))
    path.write_text(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "missing.wav"], "missing.wav does not exist"),
        (
            ["--data", "alone.wav"],
            "alone.wav has no label file: alone.csv, alone.tsv, alone.txt do not exist",
        ),
        (["--data", "late.wav"], "an event starts at 5 s, but late.wav has only 1.000 s"),
        (["--data", "other.wav"], "The data has no event of any class"),
        (["--data", "birds"], "is named after no class of the model: silence, low, high"),
        (["--data", "empty"], "contains no WAV files"),
        (["--data", "mute"], "The sound mute/low/1.wav has no samples"),
        (["--data", "mute/low/1.wav"], "The sound mute/low/1.wav has no samples"),
        (["--data", "late.wav", "--misses", "5"], "is no percentage"),
        (["--data", "late.wav", "--misses", "5%", "--false-accepts-per-hour", "1"], "are both given"),
        (["--data", "late.wav", "--hop-ms", "0"], "--hop-ms is 0"),
        (["--data", "late.wav", "--hop-ms", "nan"], "nan is not a finite number"),
        (["--data", "late.wav", "--hop-ms", "1e308"], "'--hop-ms'"),
        (["--data", "late.wav", "--tolerance-ms", "inf"], "'--tolerance-ms'"),
        (["--data", "late.wav", "--tolerance-ms", "nan"], "nan is not a finite number"),
        (["--data", "late.wav", "--false-accepts-per-hour", "nan"], "nan is not a finite number"),
        (["--data", "late.wav", "-o", "."], "is a folder"),
    ],
)
def test_mistakes_are_sentences(
    arguments: list[str], message: str, arenite: Arenite, folder: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    write_wav(tmp_path / "alone.wav", noise(1))
    write_labels(tmp_path / "late.csv", "5,6,low\n")
    write_labels(tmp_path / "other.csv", "0,1,dog\n")
    write_wav(tmp_path / "birds" / "crow" / "1.wav", noise(1))
    (tmp_path / "empty").mkdir()
    write_wav(tmp_path / "mute" / "low" / "1.wav", noise(0))
    (tmp_path / "mute" / "low" / "1.csv").write_text("")
    run = arenite("tune", folder / "model.tflite", *arguments)
    assert run.code == 2 and message in run.err, run.err


def test_the_micro_front_end_is_tuned_on_the_scores_of_the_device(
    arenite: Arenite, folder: Path, tmp_path: Path
) -> None:
    """Its features depend on all earlier sound, so the events are those that an application finds."""
    micro = Preprocessing.from_json(
        {
            "source": SOUND["source"],
            "steps": [
                {"do": "micro", "length": 256, "step": 256, "channels": 8, "low": 200, "high": 3800},
                {"do": "normalise", "divide": 100.0},
            ],
        }
    )
    model, output = tone_model(tmp_path / "model.tflite", preprocessing=micro), tmp_path / "tuned.tflite"
    record = arenite("tune", model, "--data", folder / "day.wav", "-o", output, "--json").json
    assert record["hop_ms"] == 32  # a row of features
    counts = record["total"]
    assert counts["labels"] == 12 and counts["misses"] < 12
    events = reference_events(prepare(output), read_sound(folder / "day.wav", RATE))
    starts = [event for event in events if event.kind is EventKind.START]
    assert len(starts) == counts["labels"] - counts["misses"] + counts["false_accepts"]
    arenite("tune", model, "--data", folder / "day.wav", "--hop-ms", 20).refused(
        2, "advance by 256 samples per row"
    )


def test_models_that_cannot_be_tuned_are_named(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    for attachments, message in (
        ({"gate": Gate(-40.0, 256, channels=3)}, "records a gate with 3 channels, expected 1"),
        ({"preprocessing": None}, "records no preprocessing"),
    ):
        model = tone_model(tmp_path / "model.tflite", **attachments)
        arenite("tune", model, "--data", folder / "day.wav").refused(2, message)


def test_check_measures_the_recorded_thresholds(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "tuned.tflite"
    tuned = arenite(
        "tune", folder / "model.tflite", "--data", folder / "day.wav", "-o", output, "--json"
    ).json
    other = tone_stream(
        tmp_path / "night.wav", 9, [(1.0, "low", 900.0), (4.0, "high", 900.0), (6.0, "high", 30.0)]
    )
    command = ("tune", output, "--data", other, "--check")
    run = arenite(*command, "--misses", "50%", "--json")
    assert run.code == 0
    assert run.json["decision"] == tuned["decision"]
    assert [(c["labels"], c["misses"]) for c in run.json["classes"]] == [(1, 0), (2, 1)]
    assert arenite(*command, "--misses", "10%").code == 1
    arenite(*command, "-o", output).refused(2, "--check changes nothing that -o could write")
    arenite("tune", folder / "model.tflite", "--data", other, "--check").refused(2, "records no decision")


def test_classes_may_be_listed_by_number(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    own = [{"name": 1, "threshold": 0.9, "release": 0.2}]
    decision = Decision.from_json({"threshold": 0.5, "ignore": [0], "hop": 512, "classes": own})
    model = tone_model(tmp_path / "model.tflite", decision=decision)
    checked = arenite("tune", model, "--data", folder / "day.wav", "--check", "--json").json["classes"]
    assert [(c["name"], c["threshold"], c["release"]) for c in checked] == [
        ("low", 0.9, 0.2),
        ("high", 0.5, 0.5),
    ]
    tuned = arenite("tune", model, "--data", folder / "day.wav", "--json").json["decision"]["classes"]
    assert [entry["name"] for entry in tuned] == ["low", "high"]


def test_convert_records_a_decision_and_a_gate(arenite: Arenite, folder: Path, tmp_path: Path) -> None:
    steps, output = tmp_path / "steps.toml", tmp_path / "model.tflite"
    steps.write_text(
        '[decision]\nthreshold = 0.5\nignore = ["silence"]\n[gate]\nthreshold = -40\nblock = 256\n'
    )
    command = ("convert", folder / "model.tflite", "--decision", steps, "-o", output)
    assert arenite(*command).code == 0
    extra = load_image(output).extra
    assert recorded_decision(extra) == Decision(0.5, ignore=("silence",))
    assert recorded_gate(extra) == Gate(-40.0, 256) and tuple(extra["labels"]) == LABELS
    steps.write_text('[decision]\nthreshold = 0.5\nignore = ["birds"]\n')
    arenite(*command).refused(
        2, "'birds' is not a class of the model, which has the labels silence, low, high"
    )
    assert load_image(output).extra == extra
