"""Tests of LiteRT-LM bundles: what their header and graphs tell, and how LiteRT-LM runs a small one."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.errors import ModelError, ToolError, UnsupportedModelError, UsageError
from arenite.host.energy.base import ESTIMATED, Power
from arenite.host.llm.chat import Conversation
from arenite.host.llm.litert_lm_runtime import LiteRtLmRuntime
from arenite.host.llm.litertlm_header import read_sections
from arenite.host.llm.litertlm_model import read_litertlm_model
from arenite.host.llm.measurement import measure
from arenite.host.llm.memory import predict_memory
from arenite.host.llm.runtime import ContextFullError, Message
from arenite.host.llm.speed import predict_speed
from arenite.profiles.hosts import load_host
from tests.host.llm.byte_tokenizer import byte_tokens
from tests.host.llm.litertlm_bundles import (
    CONTEXT,
    DECODER,
    HEADS,
    HIDDEN,
    LAYERS,
    METADATA,
    SIZE,
    TFLITE,
    TOKENIZER,
    VOCABULARY,
    following,
    metadata,
    tflite_model,
    tokenizer_section,
    write_bundle,
)

#: The bytes of the cache of every layer, in float32.
KV = 2 * LAYERS * HEADS * SIZE * CONTEXT * 4


class Meter:
    """A meter that always reads 1 W."""

    name = "test"

    def read(self, busy: float) -> Power:
        return Power(busy, ESTIMATED, "a")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "m.litertlm")


@pytest.mark.parametrize("tokens_last", [True, False])
def test_the_graphs_tell_weights_and_cache(tmp_path: Path, tokens_last: bool) -> None:
    sections = [(TFLITE, tflite_model(tokens_last=tokens_last), DECODER)]
    model = read_litertlm_model(write_bundle(tmp_path / "m.litertlm", sections))
    shape = model.architecture
    assert (shape.hidden, shape.vocabulary, shape.context, len(shape.layers)) == (
        HIDDEN, VOCABULARY, CONTEXT, LAYERS,
    )  # fmt: skip
    assert {(layer.kv_heads, layer.key_dim, layer.value_dim) for layer in shape.layers} == {
        (HEADS, SIZE, SIZE)
    }
    matrix = VOCABULARY * HIDDEN
    assert model.weight_bytes == 4 * (2 * matrix + 1) and model.parameters == 2 * matrix
    assert model.active_bytes == 4 * (matrix + 1) and not shape.tied  # a row of the embedding is read
    assert model.quantization == "float32" and model.cache_type(None) == "f32"


def test_the_cache_is_allocated_as_the_graphs_have_it(bundle: Path) -> None:
    model, host = read_litertlm_model(bundle), load_host("raspberry_pi_5")
    assert predict_memory(model, host, 1, "f32").kv == predict_memory(model, host, CONTEXT, "f32").kv == KV
    read = model.active_bytes + KV  # the complete cache for each token
    bound = host.memory.bandwidth_gb_s * 1e9 / read
    assert predict_speed(model, host, 1, "f32").decode_bound == pytest.approx(bound)
    with pytest.raises(UsageError, match="type f32"):
        model.cache_type("q8_0")


def test_other_sections_count_as_weights_that_are_not_read(tmp_path: Path) -> None:
    alone = read_litertlm_model(write_bundle(tmp_path / "a.litertlm"))
    encoder = (TFLITE, tflite_model(), "tf_lite_vision_encoder")
    weights = (7, bytes(1000), "tf_lite_vision_encoder")
    sections = [(METADATA, metadata(), ""), encoder, weights, (TFLITE, tflite_model(), DECODER)]
    more = read_litertlm_model(write_bundle(tmp_path / "b.litertlm", sections))
    assert more.weight_bytes == 2 * alone.weight_bytes + 1000 and more.active_bytes == alone.active_bytes


def test_the_builder_of_litert_lm_writes_such_a_bundle(tmp_path: Path) -> None:
    package = pytest.importorskip("litert_lm_builder", reason="writes a bundle with litert-lm-builder")
    for name, content in (
        ("m.tflite", tflite_model()), ("m.pb", metadata()), ("tokenizer.zlib", tokenizer_section()),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
    builder = package.litertlm_builder.LitertLmFileBuilder()
    builder.add_llm_metadata(str(tmp_path / "m.pb"))
    builder.add_hf_tokenizer(str(tmp_path / "tokenizer.zlib"))
    builder.add_tflite_model(
        str(tmp_path / "m.tflite"), package.litertlm_builder.TfLiteModelType.PREFILL_DECODE
    )
    stream = io.BytesIO()
    builder.build(stream)
    theirs = memoryview(stream.getvalue())
    ours = memoryview(write_bundle(tmp_path / "ours.litertlm").read_bytes())
    contents = [
        [(s.kind, s.model, bytes(data[s.begin : s.end])) for s in read_sections(data, "m")]
        for data in (theirs, ours)
    ]
    assert contents[0] == contents[1] and [part[0] for part in contents[0]] == [METADATA, TOKENIZER, TFLITE]


def test_a_damaged_bundle_is_refused(bundle: Path) -> None:
    data = bundle.read_bytes()
    for length in (0, 7, 8, 31, 40, 200, 16384, len(data) - 16384):
        bundle.write_bytes(data[:length])
        with pytest.raises(ModelError, match=r"m\.litertlm"):
            read_litertlm_model(bundle)
    (end,) = struct.unpack_from("<Q", data, 24)
    for at in range(24, end):
        for value in (0, 127, 255):
            changed = bytearray(data)
            changed[at] = value
            bundle.write_bytes(changed)
            try:
                model = read_litertlm_model(bundle)
            except (ModelError, UnsupportedModelError):
                continue
            assert model.architecture.context == CONTEXT  # a byte that nobody reads


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ([(METADATA, b"", "")], "no section tf_lite_prefill_decode"),
        ([(TFLITE, tflite_model(), "tf_lite_embedder")], "no section tf_lite_prefill_decode"),
        ([(TFLITE, b"no model", DECODER)], "section tf_lite_prefill_decode"),
        ([(TFLITE, tflite_model().replace(b"decode", b"encode"), DECODER)], "no signature 'decode'"),
        (
            [(TFLITE, tflite_model().replace(b"kv_cache_v_1", b"kv_cache_w_1"), DECODER)],
            "cache that is not known",
        ),
    ],
)
def test_bundles_without_a_known_cache_are_refused(
    sections: list[tuple[int, bytes, str]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=message):
        read_litertlm_model(write_bundle(tmp_path / "m.litertlm", sections))


def answer(count: int) -> str:
    """Return what the model says after the end of the template, a line end."""
    tokens, token = byte_tokens(), byte_tokens().index("Ċ")
    text = ""
    for _ in range(count):
        token = following(token)
        text += tokens[token]
    known = {letter: chr(byte) for byte, letter in enumerate(tokens[3:])}
    return "".join(known[letter] for letter in text)


@pytest.fixture
def runtime(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiteRtLmRuntime]:
    pytest.importorskip("litert_lm", reason="runs LiteRT-LM")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    opened = LiteRtLmRuntime(bundle, CONTEXT, threads=1)
    yield opened
    opened.close()


def test_the_answer_is_the_known_one(runtime: LiteRtLmRuntime, bundle: Path) -> None:
    question = Message("user", "Hello?")
    for count in (1, 5, 12):
        pieces = list(runtime.reply([question], count))
        assert "".join(pieces) == answer(count) and len(pieces) == count
    conversation = Conversation(runtime, "Be brief.")
    assert "".join(conversation.ask("One?", 4)) == "".join(conversation.ask("Two?", 4)) == answer(4)
    assert [path.name for path in bundle.parent.glob("*.litertlm*")] == [
        "m.litertlm"
    ]  # nothing is left beside it


def test_an_answer_that_is_not_read_to_its_end_does_no_harm(runtime: LiteRtLmRuntime) -> None:
    next(iter(runtime.reply([Message("user", "Count.")], 50)))
    assert "".join(runtime.reply([Message("user", "Hello?")], 3)) == answer(3)


def test_a_full_context_forgets_the_oldest_question(runtime: LiteRtLmRuntime) -> None:
    conversation = Conversation(runtime)
    for _ in range(4):
        assert "".join(conversation.ask("x" * 30, 2)) == answer(2)
    assert conversation.figures is not None and conversation.figures.forgotten > 0
    with pytest.raises(UsageError, match="longer than the context"):
        list(conversation.ask("x" * 200, 2))
    with pytest.raises(ContextFullError):
        list(runtime.decode([0] * 200, 4))


def test_a_bundle_is_measured_in_a_process(runtime: LiteRtLmRuntime, bundle: Path) -> None:
    assert list(runtime.decode([0] * 40, 20)) == list(range(1, 21))
    measured = measure(read_litertlm_model(bundle), CONTEXT, "f32", 1, [(40, 8)], Meter(), lambda _: None)
    assert len(measured.runs[0].token_s) == 7 and measured.kv_mib == () and measured.threads == 1


def test_a_bundle_that_litert_lm_refuses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("litert_lm", reason="runs LiteRT-LM")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    path = write_bundle(tmp_path / "m.litertlm", [(METADATA, metadata(), "")])
    with pytest.raises(ToolError, match=r"cannot load m\.litertlm"):
        LiteRtLmRuntime(path, 64, threads=1)


def test_a_template_that_does_not_suit_texts_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("litert_lm", reason="runs LiteRT-LM")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    sections = [
        (METADATA, metadata(template="{% for m in messages %}{{ 'a' + m['content'] }}{% endfor %}"), ""),
        (TOKENIZER, tokenizer_section(), ""),
        (TFLITE, tflite_model(), DECODER),
    ]
    runtime = LiteRtLmRuntime(write_bundle(tmp_path / "m.litertlm", sections), CONTEXT, threads=1)
    with pytest.raises(ToolError, match=r"cannot answer with m\.litertlm"):
        list(runtime.reply([Message("user", "x")], 2))
    runtime.close()
