"""``arenite.fit`` of language models: the numbers of the command, and refusals in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import arenite
from arenite.host.cli.main import main
from arenite.profiles.hosts import host_names
from tests.host.llm.config_files import config
from tests.host.llm.gguf_files import small_llama
from tests.host.small_graphs import classifier, save


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return small_llama().write(tmp_path / "model.gguf")


def test_the_report_has_the_numbers_of_the_command(gguf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = ["raspberry_pi_5", "jetson_orin_nano"]
    report = arenite.fit(gguf, hosts=hosts, context=1024, cache_type="q8_0", memory_gib=4)
    options = ["--context", "1024", "--cache-type", "q8_0", "--memory", "4", "--json"]
    assert main(["fit", str(gguf), "--host", hosts[0], "--host", hosts[1], *options]) == 0
    assert report.to_json() == json.loads(capsys.readouterr().out)
    assert report.fits and [prediction.host.name for prediction in report.hosts] == hosts
    first = report.hosts[0]
    assert first.memory.total <= first.memory.available < 4 << 30
    assert 0 < first.speed.decode_low <= first.speed.decode <= first.speed.decode_bound
    (single,) = arenite.fit(gguf, hosts=hosts[1], context=1024, cache_type="q8_0", memory_gib=4).hosts
    assert single == report.hosts[1]


def test_without_hosts_all_are_predicted(gguf: Path, tmp_path: Path) -> None:
    report = arenite.fit(str(gguf))
    assert isinstance(report, arenite.LanguageModelFit)
    assert [prediction.host.name for prediction in report.hosts] == host_names()
    described = config(tmp_path / "config.json")
    small, large = (arenite.fit(described, hosts="phone", quantization=name) for name in ("Q4_0", "Q8_0"))
    assert small.hosts[0].memory.weights < large.hosts[0].memory.weights
    assert not small.model.exact


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"boards": "qemu_mps2_an386"},
            "boards, build, suggest and agent are for models of microcontrollers",
        ),
        ({"suggest": True}, "for models of microcontrollers"),
        ({"hosts": "no_host"}, "no_host"),
        ({"context": 4096}, "context of 2,048 tokens"),
        ({"context": 0}, "context is 0"),
        ({"memory_gib": float("nan")}, "memory_gib is nan"),
        ({"cache_type": "q5"}, "no cache_type 'q5'"),
        ({"quantization": "Q9"}, "no quantization 'Q9'"),
        ({"quantization": "Q4_0"}, "quantized already"),
    ],
)
def test_wrong_arguments_are_named(gguf: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(arenite.AreniteError, match=text):
        arenite.fit(gguf, **options)


def test_other_models_have_no_hosts_and_missing_files_are_named(tmp_path: Path) -> None:
    image: Any = save(classifier(), tmp_path / "net.tflite")
    with pytest.raises(arenite.UsageError, match="are for language models"):
        arenite.fit(image, hosts="phone")
    with pytest.raises(arenite.UsageError, match="are for language models"):
        arenite.fit(arenite.load(image), cache_type="f16")  # type: ignore[call-overload]
    with pytest.raises(arenite.UsageError, match=r"Cannot read .*missing\.gguf"):
        arenite.fit(tmp_path / "missing.gguf")
