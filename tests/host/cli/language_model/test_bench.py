"""``arenite bench MODEL.gguf``: refusals, and a measurement of a real model."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from arenite.host.llm.calibration import Calibration, store_calibration
from tests.host.cli.conftest import Arenite
from tests.host.cli.language_model.sensor_tree import sensors
from tests.host.llm.genai_folders import small_folder
from tests.host.llm.gguf_files import small_llama
from tests.host.llm.litertlm_bundles import write_bundle
from tests.host.llm.smollm2 import smollm2

HAS_RUNTIME = importlib.util.find_spec("xllamacpp") is not None
HAS_ONNX = importlib.util.find_spec("onnxruntime_genai") is not None
HAS_LITERT = importlib.util.find_spec("litert_lm") is not None


def test_the_type_of_the_file_decides(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "MODEL.GGUF")
    assert "--prompt-tokens" in arenite("bench", path, "--help").out
    assert "--board" in arenite("bench", "model.tflite", "--help").out
    assert "--prompt-tokens" in arenite("bench", small_folder(tmp_path / "m"), "--help").out
    run = arenite("bench", "model.tflite")
    assert run.code == 2 and "--board" in run.err


def test_options_for_microcontrollers_are_named(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite("bench", path, "--board", "pico").refused(2, "--board is for models of microcontrollers")
    run = arenite("bench", path, "--bord", "pico")
    assert run.code == 2 and "No such option" in run.err


def test_prompts_and_contexts_that_do_not_fit_are_refused(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite("bench", path, "--context", 4096).refused(2, "context of 2,048 tokens")
    arenite("bench", path, "--context", 256, "--prompt-tokens", 240, "--tokens", 32).refused(
        2, "240 tokens and 32 more", "context of 256"
    )
    arenite("bench", tmp_path / "missing.gguf").refused(2, "missing.gguf")
    arenite("bench", path, "--calibrate", "--budget", "power=5W").refused(
        2, "--calibrate measures without pauses"
    )


@pytest.mark.skipif(HAS_RUNTIME, reason="xllamacpp is installed")
def test_a_missing_runtime_is_named(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    run = arenite("bench", path)
    assert run.code == 2 and "xllamacpp" in run.err and "arenite[llm]" in run.err


def test_a_bundle_cannot_be_calibrated(arenite: Arenite, tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "m.litertlm")
    arenite("bench", path, "--context", 128, "--calibrate").refused(2, "complete cache", "--calibrate")


@pytest.mark.skipif(not HAS_LITERT, reason="litert-lm-api is not installed")
def test_a_bundle_is_measured(arenite: Arenite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    path = write_bundle(tmp_path / "m.litertlm")
    options = ("--context", 128, "--threads", 1, "--prompt-tokens", 40, "--tokens", 8)
    result = arenite("bench", path, *options, "--json").json
    assert result["model"]["runtime"] == "LiteRT-LM" and result["tokens"] == 8
    assert result["kv"] == {"predicted": 2 * 2 * 2 * 8 * 128 * 4, "allocated_mib": None, "exact": None}
    shown = arenite("bench", path, *options)
    assert shown.code == 0 and "m.litertlm with LiteRT-LM" in shown.out and "not told" in shown.out


@pytest.mark.skipif(not HAS_ONNX, reason="onnxruntime-genai is not installed")
def test_an_onnx_model_is_measured(arenite: Arenite, tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "m", bits=4)
    options = ("--context", 100, "--threads", 1, "--prompt-tokens", 40, "--tokens", 8)
    result = arenite("bench", folder, *options, "--json").json
    assert result["model"]["runtime"] == "ONNX Runtime GenAI" and result["kv"]["exact"]
    assert (result["threads"], result["prompt"], result["tokens"]) == (1, 40, 8)
    assert result["kv"]["predicted"] == 2 * 2 * 2 * 16 * 100 * 4
    shown = arenite("bench", folder, *options)
    assert shown.code == 0 and "m with ONNX Runtime GenAI" in shown.out
    growing = small_folder(tmp_path / "growing", past_present_share_buffer=False)
    shown = arenite("bench", growing, *options)
    assert shown.code == 0 and "The cache grows with the text" in shown.out
    (folder / "model.onnx.data").unlink()
    arenite("bench", folder, *options).refused(3, "cannot load m", "Download")


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="xllamacpp is not installed")
@pytest.mark.parametrize(("context", "cache_type"), [(256, "f16"), (1024, "q8_0")])
def test_a_real_model_is_measured(
    arenite: Arenite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, context: int, cache_type: str
) -> None:
    path = smollm2()
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path))
    store_calibration(Calibration("other.gguf", "Q4_1", cache_type, 1, 7.0, 2.0))
    options = (
        "--context",
        context,
        "--cache-type",
        cache_type,
        "--threads",
        1,
        "--prompt-tokens",
        context - 8,
    )
    result = arenite("bench", path, *options, "--tokens", 8, "--json").json
    assert (result["context"], result["threads"], result["prompt"], result["tokens"]) == (
        context,
        1,
        context - 8,
        8,
    )
    assert result["kv"]["exact"]
    # 3 % with a full batch of the prompt; a context of 256 tokens leaves half of the activations untouched. How much of
    # llama.cpp's library of 106 MB is resident depends on the system: one takes 5.8 MB more than another.
    memory = result["memory"]
    share = 0.03 if context >= 512 else 0.10
    assert abs(memory["predicted"] - memory["resident"]) < share * memory["predicted"] + 8e6
    assert result["calibrated_tokens_s"]["calibration"]["model"] == "other.gguf"
    assert result["token_s"]["p50"] <= result["token_s"]["p90"] <= result["token_s"]["p99"]
    shown = arenite("bench", path, *options, "--tokens", 4)
    assert shown.code == 0 and "Calibrated with other.gguf" in shown.out


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="xllamacpp is not installed")
def test_a_real_model_is_measured_within_a_budget(arenite: Arenite, tmp_path: Path) -> None:
    """The sensor always tells 7 W, so a limit of 5 W cannot be kept, and the governor pauses as long as it can."""
    path = smollm2()
    sensors(tmp_path, watts=7.0)
    options = ("--context", 256, "--threads", 1, "--prompt-tokens", 16, "--tokens", 4, "--root", tmp_path)
    run = arenite("bench", path, *options, "--budget", "power=5W", "--memory-budget", 1000, "--json")
    budget = run.json["budget"]
    assert run.code == 1 and not budget["kept"]
    assert [(limit["limit"], limit["kept"]) for limit in budget["limits"]] == [
        ("power", False),
        ("memory", True),
    ]
    governor = budget["governor"]
    assert governor["pauses"]["count"] > 0 and governor["tokens_s"]["lost"] > 0
    assert (
        governor["power"]["mean"] == pytest.approx(7.0, rel=0.01) and governor["power"]["kind"] == "measured"
    )
    assert governor["settings"]["tokens_s"] < governor["tokens_s"]["full"]
    # The pauses are in the time of a token, and not in its processor time.
    rates = run.json["decode_tokens_s"]
    assert rates["value"] < rates["undisturbed"]
    shown = arenite("bench", path, *options, "--budget", "power=50W")
    assert shown.code == 0 and "Limit of power, 50 W: kept (7.00 W, measured)." in shown.err
