"""Tests of ONNX Runtime GenAI with a small model with random weights, and with SmolLM2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.host.energy.base import ESTIMATED, Power
from arenite.host.llm.chat import Conversation
from arenite.host.llm.kv_cache import kv_bytes
from arenite.host.llm.measurement import measure
from arenite.host.llm.onnx_genai_model import read_genai_folder
from arenite.host.llm.onnx_genai_runtime import OnnxGenAiRuntime
from arenite.host.llm.runtime import ContextFullError, Message
from tests.host.llm.genai_folders import small_folder, smollm2_folder
from tests.host.llm.smollm2 import smollm2

pytest.importorskip("onnxruntime_genai", reason="runs ONNX Runtime GenAI")

PARIS = "What is the capital of France? One word."


class Meter:
    """A meter that always reads 1 W."""

    name = "test"

    def read(self, busy: float) -> Power:
        return Power(busy, ESTIMATED, "a")


@pytest.fixture(params=[32, 4])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return small_folder(tmp_path / "m", bits=request.param)


@pytest.fixture
def runtime(folder: Path) -> Iterator[OnnxGenAiRuntime]:
    opened = OnnxGenAiRuntime(folder, 128, threads=1)
    yield opened
    opened.close()


def test_the_same_conversation_has_the_same_answer_again(runtime: OnnxGenAiRuntime) -> None:
    """The second answer uses what the first has computed, the third does not."""
    question = [Message("user", "Hello?")]
    first = list(runtime.reply(question, 12))
    assert first and list(runtime.reply(question, 12)) == first
    list(runtime.reply([Message("system", "Another start."), *question], 3))
    assert list(runtime.reply(question, 12)) == first
    assert "".join(first).startswith("".join(runtime.reply(question, 4)))


def test_an_answer_that_is_not_read_to_its_end_does_no_harm(runtime: OnnxGenAiRuntime) -> None:
    question = [Message("user", "Hello?")]
    first = list(runtime.reply(question, 12))
    next(iter(runtime.reply([Message("user", "Something else")], 12)))
    assert list(runtime.reply(question, 12)) == first


def test_a_full_context_is_told_before_the_first_piece(runtime: OnnxGenAiRuntime) -> None:
    with pytest.raises(ContextFullError):
        next(runtime.reply([Message("user", "x" * 200)], 4))
    with pytest.raises(ContextFullError):
        next(runtime.decode([5] * 128, 4))
    assert list(runtime.decode([5] * 127, 4)) == [1]  # the last place
    conversation = Conversation(runtime)
    for _ in range(3):
        list(conversation.ask("x" * 50, 3))
    assert conversation.figures is not None and conversation.figures.forgotten > 0
    with pytest.raises(UsageError, match="longer than the context"):
        list(conversation.ask("x" * 200, 3))


def test_decoding_does_not_end_with_the_text(folder: Path) -> None:
    runtime = OnnxGenAiRuntime(folder, 256, threads=1)
    assert list(runtime.decode(range(3, 20), 100)) == list(range(1, 101))
    assert runtime.cache_bytes() == kv_bytes(read_genai_folder(folder).architecture, 256, "f32")


def test_a_model_is_measured_in_a_process(folder: Path) -> None:
    model = read_genai_folder(folder)
    measured = measure(model, 100, "f32", 1, [(8, 4), (40, 4)], Meter(), lambda _: None)
    assert [len(run.token_s) for run in measured.runs] == [3, 3] and measured.threads == 1
    assert measured.kv_matches(kv_bytes(model.architecture, 100, "f32", model.cache_block))
    assert measured.resident_bytes > 20_000_000


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda m: (m / "model.onnx").write_bytes(b"\x08\x08nothing"), "cannot load m: Load model from"),
        (lambda m: (m / "model.onnx.data").unlink(), "cannot load m: External data"),
        (lambda m: (m / "model.onnx.data").write_bytes(b"short"), "cannot load m: Deserialize tensor"),
        (lambda m: (m / "tokenizer.json").unlink(), "cannot load m: "),
        (lambda m: (m / "tokenizer.json").write_text("[]"), "cannot load m: "),
        (
            lambda m: (m / "genai_config.json").write_text("{"),
            "cannot load m: Error encountered while parsing",
        ),
    ],
)
def test_a_damaged_folder_is_named_with_the_reason(
    damage: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    folder = small_folder(tmp_path / "m")
    damage(folder)
    with pytest.raises(ToolError, match=message):
        OnnxGenAiRuntime(folder, 64, threads=1)


def test_a_model_without_a_chat_template_is_named(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "m")
    path = folder / "tokenizer_config.json"
    path.write_text(
        json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "chat_template"})
    )
    runtime = OnnxGenAiRuntime(folder, 64, threads=1)
    with pytest.raises(ToolError, match="no usable chat template"):
        next(runtime.reply([Message("user", "x")], 4))


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 4])
def test_a_real_model_answers_and_forgets(bits: int, tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="reads the weights of SmolLM2")
    try:
        path = smollm2()
    except ToolError as error:
        pytest.skip(str(error))
    folder = smollm2_folder(tmp_path / "smollm2", path, bits)
    model = read_genai_folder(folder)
    assert model.architecture.feed_forward == 1536 and model.architecture.tied == (bits == 32)
    runtime = OnnxGenAiRuntime(folder, 256, threads=1)
    conversation = Conversation(runtime)
    assert "Paris" in "".join(conversation.ask(PARIS, 24))
    assert conversation.figures is not None and 1 < conversation.figures.pieces <= 24
    for _ in range(3):
        list(conversation.ask("word " * 100, 4))
    assert conversation.figures.forgotten > 0
    runtime.close()
    measured = measure(model, 512, "f32", 1, [(500, 4)], Meter(), lambda _: None)
    assert measured.kv_matches(kv_bytes(model.architecture, 512, "f32", model.cache_block))
