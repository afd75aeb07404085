"""``arenite chat``: refusals before a model is loaded, and an answer of a real model."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import pytest

from arenite.host.cli.language_model.loading import check_memory
from arenite.host.llm.memory import predict_memory
from arenite.profiles.hosts import detect_host
from tests.host.cli.conftest import Arenite
from tests.host.cli.language_model.sensor_tree import sensors
from tests.host.llm.genai_folders import small_folder
from tests.host.llm.gguf_files import small_llama
from tests.host.llm.litertlm_bundles import write_bundle
from tests.host.llm.smollm2 import smollm2

HAS_RUNTIME = importlib.util.find_spec("xllamacpp") is not None
HAS_ONNX = importlib.util.find_spec("onnxruntime_genai") is not None
HAS_LITERT = importlib.util.find_spec("litert_lm") is not None


def test_a_model_that_does_not_fit_is_not_loaded(arenite: Arenite, tmp_path: Path) -> None:
    file = small_llama()
    for part in ("key", "value"):
        file.metadata[f"llama.attention.{part}_length"] = 1 << 14
    file.metadata["llama.context_length"] = 1 << 24  # with 12 TiB of cache
    path = file.write(tmp_path / "large.gguf")
    arenite("chat", path, "--context", 1 << 24, "--prompt", "hello").refused(
        1, "large.gguf needs about", "--context"
    )


def test_other_files_and_contexts_are_refused(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite("chat", path, "--context", 4096).refused(2, "context of 2,048 tokens", "--context 2048")
    arenite("chat", tmp_path / "config.json").refused(2, "config.json is no .gguf or .litertlm file")
    arenite("chat", tmp_path).refused(2, "has no genai_config.json", "ONNX Runtime GenAI")
    arenite("chat", tmp_path / "missing.gguf").refused(2, "missing.gguf")


def test_budgets_that_cannot_be_kept_are_refused_before_the_model_is_loaded(
    arenite: Arenite, tmp_path: Path
) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    chat = ("chat", path, "--prompt", "hello")
    arenite(*chat, "--budget", "latency=50ms").refused(2, "'latency' is not a limit", "power=5W")
    arenite(*chat, "--budget", "power=5W", "--power-source", "none").refused(2, "No power source 'none'")
    arenite(*chat, "--budget", "power=5W", "--host", "no_such_host").refused(2, "no_such_host")
    arenite(*chat, "--memory-budget", 10).refused(
        1, "--memory-budget allows 10.0 MB", "larger --memory-budget"
    )


def test_an_estimated_power_at_rest_above_the_limit_is_refused(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    (tmp_path / "root").mkdir()
    options = ("--host", "jetson_nano", "--root", tmp_path / "root")
    arenite("chat", path, "--budget", "power=1W", *options).refused(
        2, "No sensor measures the power", "jetson_nano", "at rest"
    )


def test_options_of_a_budget_need_one(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite("chat", path, "--power-source", "rapl").refused(2, "--power-source is an option of --budget")
    arenite("bench", path, "--set-frequency").refused(2, "--set-frequency is an option of --budget")


def test_texts_of_another_encoding_are_refused(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    latin = b"caf\xe9".decode("utf-8", "surrogateescape")
    arenite("chat", path, "--prompt", latin).refused(2, "--prompt is not valid UTF-8: character 4")
    arenite("chat", path, "--system", latin, "--prompt", "hi").refused(2, "--system is not valid UTF-8")


def test_a_memory_budget_names_the_longest_context(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    need = predict_memory(check_memory(path, 1024, "f16"), detect_host(), 1024)
    megabytes = (need.total + 1000) / 1e6
    for command in ("chat", "bench", "serve"):
        run = arenite(command, path, "--context", 2048, "--memory-budget", megabytes)
        run.refused(
            1, f"--memory-budget allows {(need.total + 1000) / 1e6:,.1f} MB", "Give --context 1024 or less"
        )


@pytest.mark.skipif(HAS_RUNTIME, reason="xllamacpp is installed")
def test_a_missing_runtime_is_named(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite("chat", path).refused(2, "xllamacpp", "arenite[llm]")


@pytest.mark.skipif(HAS_ONNX, reason="onnxruntime-genai is installed")
def test_a_missing_onnx_runtime_is_named(arenite: Arenite, tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "m")
    arenite("chat", folder, "--context", 128).refused(2, "onnxruntime-genai", "arenite[llm-onnx]")


@pytest.mark.skipif(HAS_LITERT, reason="litert-lm-api is installed")
def test_a_missing_litert_lm_is_named(arenite: Arenite, tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "m.litertlm")
    arenite("chat", path, "--context", 128).refused(2, "litert-lm-api", "arenite[llm-litert]")


@pytest.mark.skipif(not HAS_LITERT, reason="litert-lm-api is not installed")
def test_a_bundle_answers(arenite: Arenite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    path = write_bundle(tmp_path / "m.litertlm")
    run = arenite("chat", path, "--prompt", "hi", "--max-tokens", 8, "--threads", 1)
    assert run.code == 0 and "Measured: 8 tokens" in run.err
    arenite("chat", path, "--context", 128, "--prompt", "x" * 200).refused(2, "longer than the context")
    arenite("chat", path, "--context", 256).refused(2, "context of 128 tokens", "--context 128")


@pytest.mark.skipif(not HAS_ONNX, reason="onnxruntime-genai is not installed")
def test_an_onnx_model_answers(arenite: Arenite, tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "m")
    run = arenite("chat", folder, "--context", 128, "--prompt", "hi", "--max-tokens", 8, "--threads", 1)
    assert run.code == 0 and "Measured: " in run.err
    arenite("chat", folder, "--context", 128, "--prompt", "x" * 200).refused(2, "longer than the context")
    arenite("chat", folder, "--context", 512).refused(2, "context of 256 tokens", "--context 256")
    arenite("chat", folder, "--context", 128, "--cache-type", "q8_0").refused(2, "type f32", "--cache-type")
    (folder / "model.onnx.data").unlink()
    arenite("chat", folder, "--context", 128).refused(3, "cannot load m", "Download")


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="xllamacpp is not installed")
def test_a_real_model_answers(arenite: Arenite) -> None:
    path = smollm2()
    run = arenite(
        "chat",
        path,
        "--prompt",
        "What is the capital of France? One word.",
        "--max-tokens",
        "24",
        "--threads",
        "1",
    )
    assert run.code == 0 and "Paris" in run.out and "Measured: " in run.err


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="xllamacpp is not installed")
def test_a_real_model_answers_within_a_budget(
    arenite: Arenite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = smollm2()
    sensors(tmp_path, watts=3.0)
    monkeypatch.setattr("sys.stdin", io.StringIO("What is the capital of France? One word.\n/exit\n"))
    options = ("--max-tokens", 8, "--threads", 1, "--root", tmp_path)
    run = arenite("chat", path, *options, "--budget", "power=20W,temperature=90C", "--memory-budget", 5000)
    assert run.code == 0 and "Paris" in run.out
    assert "Limit of power, 20 W: kept (3.00 W, measured)." in run.err
    assert "Limit of temperature, 90 °C: kept" in run.err and "Limit of memory, 5000 MB: kept" in run.err
    assert "INA3221" in run.err and "Last settings: tokens_s " in run.err
