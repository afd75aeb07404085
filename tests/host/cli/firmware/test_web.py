"""Tests of ``arenite web``."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.host.web.package import FILES
from tests.converters import small_models
from tests.converters.tflite.corrupted_files import corrupted
from tests.host.cli.conftest import Arenite

pytest.importorskip("ziglang", reason="needs ziglang")
pytestmark = pytest.mark.slow


def test_a_package_is_written(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    run = arenite("web", f"net={model}", "-o", tmp_path / "package", "--json")
    assert run.code == 0 and run.json["schema"] == "arenite.web/1"
    folder = tmp_path / "package"
    modules = [f for f in run.json["files"] if "memory_bytes" in f]
    assert [f["name"] for f in modules] == [*FILES.values()] == [f["path"] for f in run.json["files"]][:3]
    assert {f["path"] for f in run.json["files"]} == {p.name for p in folder.iterdir()} - {"arenite.json"}
    for file in run.json["files"]:
        content = (folder / file["path"]).read_bytes()
        assert (file["bytes"], file["compressed_bytes"]) == (len(content), len(gzip.compress(content, 9)))
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    assert [(m["name"], m["sha256"]) for m in run.json["models"]] == [("net", sha256)]
    assert run.json["simd"] is True and run.json["memory"] == max(m["memory_bytes"] for m in modules)
    run = arenite("web", f"net={model}", "-o", folder, "--no-simd", "--json")
    assert run.json["simd"] is False and run.json["memory"] % 65536 == 0


def test_a_folder_with_other_files_is_left_alone(arenite: Arenite, model: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    arenite("web", f"net={model}", "-o", tmp_path).refused(2, "is not empty")
    assert [p.name for p in tmp_path.iterdir() if p.name == "letter.txt"] == ["letter.txt"]
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_an_operator_without_kernel_is_named_and_no_page_is_written(arenite: Arenite, tmp_path: Path) -> None:
    def change(root: Any) -> None:
        code = root.operatorCodes[root.subgraphs[0].operators[0].opcodeIndex]
        code.builtinCode = schema.BuiltinOperator.LOCAL_RESPONSE_NORMALIZATION
        code.deprecatedBuiltinCode = code.builtinCode

    (tmp_path / "net.tflite").write_bytes(corrupted(small_models.conv_net(), change))
    run = arenite("web", f"net={tmp_path / 'net.tflite'}", "-o", tmp_path / "page", "--page", "camera")
    run.refused(2, "operator 0 LOCAL_RESPONSE_NORMALIZATION")
    assert not (tmp_path / "page").exists()


def test_a_page_is_served_until_the_command_is_terminated(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("h11", reason="needs h11")
    pytest.importorskip("cryptography", reason="needs cryptography")
    pytest.importorskip("segno", reason="needs segno")
    command = [
        sys.executable,
        "-m",
        "arenite.host.cli.main",
        "web",
        f"net={model}",
        "-o",
        str(tmp_path / "package"),
    ]
    command += ["--page", "files", "--serve", "0.0.0.0:0", "--json"]
    environment = {**os.environ, "ARENITE_TOKEN": "sand-and-pressure", "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        lines: list[str] = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], "".join(lines)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    url = json.loads(output)["url"]
    assert url.startswith("https://") and url.endswith("/?token=sand-and-pressure")
    text = "".join(lines)
    assert f"Page: {url}" in text and "█" in text and "/authority.crt on the phone" in text


def test_options_of_the_server_are_refused_without_a_server(
    arenite: Arenite, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "package"
    arenite("web", f"net={model}", "-o", folder, "--serve").refused(2, "Give --page as well")
    arenite("web", f"net={model}", "-o", folder, "--page", "files", "--collect", tmp_path).refused(
        2, "--collect is an option of --serve"
    )
    arenite("web", f"net={model}", "-o", folder, "--page", "files", "--serve", "a:b:c").refused(
        2, "is not an address to bind"
    )
    assert not folder.exists()
