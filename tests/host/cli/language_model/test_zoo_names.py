"""Language models of the zoo: the commands for them take names, and other commands refuse their files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.models import manifest as manifest_module
from arenite.models import zoo
from tests.host.cli.conftest import Arenite
from tests.host.llm.gguf_files import small_llama
from tests.host.llm.smollm2 import NAME

_PACKAGE = """
[package.tiny]
version = "1.0"
sha256 = "{sha256}"
bytes = 1000
licence = "Zlib"
url = "u"
pip = []
"""
_MODEL = """[[model]]
name = "{name}"
title = "t"
task = "{task}"
package = "tiny"
path = ["tiny/{name}.{suffix}"]
sha256 = "{sha256}"
bytes = 1000
licence = "Zlib"
precision = "F32"
preprocessing = "none"
trained_on = "nothing"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the file of the language model ``tiny_llama``, which the zoo then has, besides ``tiny_net``. The cache is
    empty, and nothing can be downloaded."""
    path = small_llama().write(tmp_path / "other_name.gguf")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest = tmp_path / "manifest.toml"
    manifest.write_text(
        manifest_module.MANIFEST.read_text("utf-8")
        + _PACKAGE.format(sha256="0" * 64)
        + _MODEL.format(name="tiny_llama", task="language model", suffix="gguf", sha256=digest)
        + _MODEL.format(name="tiny_net", task="keyword spotting", suffix="tflite", sha256="1" * 64),
        "utf-8",
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(manifest_module, "MANIFEST", manifest)
    manifest_module.manifest.cache_clear()
    yield path
    monkeypatch.undo()
    manifest_module.manifest.cache_clear()


def test_commands_for_language_models_take_a_name(arenite: Arenite, file: Path) -> None:
    assert zoo.cached_path(zoo.add(file)).name == "tiny_llama.gguf"
    fit = arenite("fit", "tiny_llama", "--host", "raspberry_pi_5", "--json").json
    assert Path(fit["model"]["path"]).name == "tiny_llama.gguf"
    named = arenite("fit", file, "--host", "raspberry_pi_5", "--json").json
    assert fit["hosts"] == named["hosts"]
    assert "tiny_llama.gguf" in arenite("fit", "tiny_llama", "--all").out
    assert "--prompt-tokens" in arenite("bench", "tiny_llama", "--help").out
    for command in ("chat", "bench", "serve"):
        arenite(command, "tiny_llama", "--context", 4096).refused(2, "context of 2,048 tokens")


def test_without_a_network_the_error_names_the_package(arenite: Arenite, file: Path) -> None:
    for command in ("chat", "bench", "serve", "fit"):
        arenite(command, "tiny_llama").refused(3, "Could not download tiny 1.0", "network")


def test_other_models_and_unknown_names_are_refused(
    arenite: Arenite, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arenite("chat", "tiny_net").refused(2, "tiny_net is for keyword spotting", "tiny_llama")
    arenite("serve", "tiny_lama").refused(
        2, "tiny_lama is no .gguf or .litertlm file", "of the zoo: ", "tiny_llama"
    )
    monkeypatch.chdir(tmp_path)
    Path("tiny_llama").write_bytes(b"a file with the name of a model")
    arenite("chat", "tiny_llama").refused(2, "tiny_llama is no .gguf or .litertlm file")


@pytest.mark.parametrize(
    "command",
    [("convert",), ("inspect",), ("firmware", "--board", "nucleo_f401re", "-o", "out"), ("web", "-o", "out")],
    ids=lambda command: command[0],
)
def test_commands_for_microcontrollers_refuse_file_and_name(
    arenite: Arenite, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = small_llama().write(tmp_path / "model.gguf")
    arenite(command[0], path, *command[1:]).refused(2, "model.gguf is a language model", "`arenite fit`")
    arenite(command[0], NAME, *command[1:]).refused(2, f"zoo's {NAME} is a language model", "`arenite fit`")
    name = "visual_wake_words"
    arenite(command[0], name, *command[1:]).refused(2, f"{name} is a model of the zoo", f"zoo fetch {name}")


def test_the_zoo_lists_its_language_model(arenite: Arenite) -> None:
    (entry,) = (e for e in arenite("zoo", "list", "--json").json["models"] if e["format"] == "gguf")
    assert (entry["name"], entry["task"]) == (NAME, "language model")
    assert NAME in arenite("zoo", "list").out
