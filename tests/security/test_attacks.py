"""Arenite refuses hostile input of every kind with a clear message, the documented exit code and less than 500 MB of
memory. It leaves no process, and no file outside of the current folder.

Other tests have further attacks, which are not repeated here:

- models: ``tests/fuzz`` (damaged .tflite files), ``tests/converters/tflite/test_verifier.py``,
  ``tests/converters/importers/test_tensorflow_sources.py`` (Lambda layers, links in HDF5, operators of SavedModels that
  read and write files), ``test_torch_sources.py`` (pickles), ``test_onnx_sources.py`` (external data, links);
- arrays and pictures that expand: ``tests/arenite/test_array_files.py``,
  ``tests/converters/processing/test_picture_files.py``;
- sounds: ``tests/converters/processing/test_media_files.py``;
- names from devices, tools and USB: ``tests/arenite/test_printable.py``, ``tests/host/link/test_hostile_device.py``,
  ``tests/host/flash/test_commands.py`` (scripts for OpenOCD and J-Link);
- the dashboard: ``tests/host/camera/dashboard``;
- downloads and the zoo: ``tests/models/test_npm.py``, ``test_zoo.py``;
- processes that stay behind: ``tests/arenite/test_processes.py``, ``tests/host/cli/bench/test_bench_killed.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.attack import Attack
from tests.security.attack_runner import MAX_MEMORY_BYTES, MAX_SECONDS, run_attack
from tests.security.file_attacks import FILE_ATTACKS
from tests.security.running_attacks import RUNNING_ATTACKS
from tests.security.setting_attacks import SETTING_ATTACKS

ATTACKS = [*FILE_ATTACKS, *SETTING_ATTACKS, *RUNNING_ATTACKS]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_hostile_input_is_refused_or_does_no_harm(attack: Attack, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    outcome = run_attack(attack.prepare(work), tmp_path)
    assert outcome.code is not None, f"did not end in {MAX_SECONDS:g} s: {outcome.text[-2000:]}"
    assert "Traceback" not in outcome.text, outcome.text[-3000:]
    assert outcome.code == attack.code, (outcome.code, outcome.text[-2000:])
    for word in attack.words:
        assert word in outcome.text, outcome.text[-2000:]
    control = {c for c in outcome.text if c < " " and c not in "\n\r\t"}
    assert not control, (control, outcome.text[-2000:])
    assert outcome.code == 0 or len(outcome.text) < 20_000, "the message is too long"
    assert outcome.peak_bytes < MAX_MEMORY_BYTES, f"{outcome.peak_bytes >> 20} MB"
    assert outcome.changes == frozenset()
