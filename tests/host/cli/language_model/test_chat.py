"""``arenite chat``: refusals before a model is loaded, and an answer of a real model."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.host.cli.conftest import Arenite
from tests.host.llm.gguf_files import small_llama
from tests.host.llm.smollm2 import smollm2

HAS_RUNTIME = importlib.util.find_spec("xllamacpp") is not None


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
    arenite("chat", tmp_path / "config.json").refused(2, "config.json is not a .gguf file")
    arenite("chat", tmp_path / "missing.gguf").refused(2, "missing.gguf")


@pytest.mark.skipif(HAS_RUNTIME, reason="xllamacpp is installed")
def test_a_missing_runtime_is_named(arenite: Arenite, tmp_path: Path) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite("chat", path).refused(2, "xllamacpp", "arenite[llm]")


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
