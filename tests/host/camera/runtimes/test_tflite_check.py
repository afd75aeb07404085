"""Damaged files raise an error before they reach LiteRT, and never crash it."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from arenite.errors import AreniteError, ModelError
from arenite.host.camera.runtimes.litert import CompiledModel
from arenite.host.camera.runtimes.tflite_check import check_tflite_file
from tests.converters.small_models import conv_net, elementwise, with_state
from tests.host.camera.runtimes.small_models import picture_net, saved

_RAN, _REJECTED = 0, 2


def test_intact_files_pass(tmp_path: Path) -> None:
    for make in (conv_net, elementwise, with_state, picture_net):
        check_tflite_file(saved(make(), tmp_path))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files_raise_an_error(share: float, tmp_path: Path) -> None:
    path = saved(conv_net(), tmp_path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ModelError, match=str(path)):
        check_tflite_file(path)


def test_a_missing_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Cannot read"):
        check_tflite_file(tmp_path / "none.tflite")


def _run_in_a_child(path: Path) -> int:
    """Check, load and run the file in a child process. Return 0 if it ran, 2 if it was rejected, else it crashed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            check_tflite_file(path)
            runtime = CompiledModel(path, "litert-cpu", 1, 1, {})
            runtime.invoke()
            status = _RAN
        except AreniteError:
            status = _REJECTED
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_damage_never_crashes(seed: int, tmp_path: Path) -> None:
    """Files with cut or changed bytes run or raise an error, also where LiteRT alone would crash."""
    rng = random.Random(seed)
    content = saved((conv_net, elementwise, picture_net)[seed](), tmp_path).read_bytes()
    statuses = []
    for turn in range(40):
        data = bytearray(content[: rng.randrange(len(content))] if turn % 4 == 0 else content)
        for _ in range(rng.randrange(1, 6)):
            if data:
                data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        path = tmp_path / "damaged.tflite"
        path.write_bytes(data)
        statuses.append(_run_in_a_child(path))
    assert set(statuses) <= {_RAN, _REJECTED}, statuses
    assert statuses.count(_REJECTED) >= 10
