"""``arenite fit`` of language models: table, JSON, exit codes and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.profiles.hosts import host_names
from tests.host.cli.conftest import Arenite
from tests.host.llm.config_files import config
from tests.host.llm.genai_folders import small_folder
from tests.host.llm.gguf_files import small_llama
from tests.host.llm.litertlm_bundles import write_bundle


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return small_llama().write(tmp_path / "model.gguf")


def test_json_has_every_host_and_follows_the_schema(arenite: Arenite, gguf: Path) -> None:
    run = arenite("fit", gguf, "--all", "--json")
    report = run.json
    assert run.code == 0 and report["schema"] == "arenite.lm/1"
    assert [host["host"] for host in report["hosts"]] == host_names()
    assert report["model"] | {"path": ""} == {
        "path": "", "architecture": "llama", "parameters": 79_936, "quantization": "Q5_0", "weights": 121_984,
        "exact": True, "trained_context": 2048,
    }  # fmt: skip
    assert report["context"] == 2048 and report["kv_bytes_per_token"] == 2 * 6 * 2 * 16 * 2
    for host in report["hosts"]:
        memory = host["memory"]
        assert (
            memory["total"] == memory["weights"] + memory["kv"] + memory["activations"] + memory["overhead"]
        )
        assert host["fits"] == (memory["total"] <= memory["available"])


def test_the_exit_code_tells_whether_named_hosts_have_room(arenite: Arenite, gguf: Path) -> None:
    assert arenite("fit", gguf, "--host", "phone").code == 0
    run = arenite("fit", gguf, "--host", "phone", "--host", "jetson_nano", "--memory", "0.25")
    assert run.code == 1 and "are missing" in run.out
    assert arenite("fit", gguf, "--memory", "0.25").code == 0  # no host is named


def test_cache_and_quantization_change_the_memory(arenite: Arenite, tmp_path: Path) -> None:
    path = config(tmp_path / "config.json")

    def memory(*options: str) -> dict[str, int]:
        host = arenite("fit", path, "--host", "raspberry_pi_5", "--json", *options).json["hosts"][0]
        return {key: host["memory"][key] for key in ("weights", "kv")}

    assert memory("--quantization", "Q4_1") == {"weights": 96_576_768, "kv": 4096 * 23040}
    assert memory("--quantization", "Q4_1", "--cache-type", "q8_0", "--context", "512")["kv"] == 512 * 12240
    assert memory("--quantization", "F16")["weights"] > 2 * memory()["weights"]


def test_a_folder_for_onnx_runtime_is_a_language_model(arenite: Arenite, tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "m")
    report = arenite("fit", folder, "--host", "raspberry_pi_5", "--context", 100, "--json").json
    assert report["cache_type"] == "f32" and report["model"]["exact"]
    assert report["hosts"][0]["memory"]["kv"] == 2 * 2 * 2 * 16 * 100 * 4
    arenite("fit", folder, "--cache-type", "q4_0").refused(2, "type f32")
    arenite("fit", folder, "--quantization", "Q8_0").refused(2, "quantized already")
    named = arenite(
        "fit", folder / "genai_config.json", "--host", "raspberry_pi_5", "--context", 100, "--json"
    )
    assert named.json == report
    (folder / "model.onnx").write_bytes(b"\x3a\x7f")
    arenite("fit", folder).refused(2, "model.onnx is damaged")
    (folder / "model.onnx").unlink()
    arenite("fit", folder).refused(2, "Cannot read", "model.onnx", "A file of the model is missing")


def test_a_bundle_of_litert_lm_is_a_language_model(arenite: Arenite, tmp_path: Path) -> None:
    report = arenite("fit", write_bundle(tmp_path / "m.litertlm"), "--host", "phone", "--json").json
    assert report["cache_type"] == "f32" and report["context"] == 128
    assert report["hosts"][0]["memory"]["kv"] == 2 * 2 * 2 * 8 * 128 * 4
    assert report["hosts"][0]["remedies"] == []


def test_several_models_are_one_object(arenite: Arenite, gguf: Path, tmp_path: Path) -> None:
    report = arenite("fit", gguf, config(tmp_path / "config.json"), "--host", "phone", "--json").json
    assert [model["model"]["exact"] for model in report["models"]] == [True, False]


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (("GGUF", "--host", "raspbery_pi_5"), ("no host profile", "raspberry_pi_5")),
        (("GGUF", "--host", "phone", "--all"), ("--host and --all",)),
        (("GGUF", "--board", "qemu_mps2_an386"), ("--board", "--host")),
        (("GGUF", "--quantization", "Q8_0"), ("quantized already",)),
        (("GGUF", "--context", "4096"), ("2,048 tokens", "--context 2048")),
        (("GGUF", "model.tflite"), ("model.tflite is not a language model",)),
        (("model.tflite", "--host", "phone"), ("are for language models",)),
        (("missing.gguf",), ("missing.gguf",)),
        (("BUNDLE",), ("bundle.litertlm is damaged", "Download")),
        (("EMPTY",), ("no section tf_lite_prefill_decode", "config.json")),
    ],
)  # fmt: skip
def test_mistakes_are_refused(
    words: tuple[str, ...], texts: tuple[str, ...], arenite: Arenite, gguf: Path, tmp_path: Path
) -> None:
    files = {"GGUF": gguf, "BUNDLE": tmp_path / "bundle.litertlm"}
    files["BUNDLE"].write_bytes(b"LITERTLM" + bytes(64))
    files["EMPTY"] = write_bundle(tmp_path / "empty.litertlm", [])
    arenite("fit", *(files.get(word, word) for word in words)).refused(2, *texts)


def test_a_damaged_file_is_refused(arenite: Arenite, gguf: Path) -> None:
    gguf.write_bytes(gguf.read_bytes()[:-100])
    arenite("fit", gguf, "--json").refused(2, "is truncated", "Download")


def test_the_file_may_be_json_that_is_no_model(arenite: Arenite, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"schema": "arenite.bench/1"}))
    arenite("fit", path).refused(2, "model_type")
