"""Tests of reading CSV recordings in the column layouts of several programs."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.energy.meters.csv_file import read_csv
from arenite.host.energy.windows.find import find_windows
from arenite.host.energy.windows.result import measure
from tests.host.energy.meters import waveform

TRUTH = waveform.make(6, inferences=4)
TIMES = np.arange(0, TRUTH.seconds, 1e-4)
CURRENT = TRUTH.at(TIMES)
MARK = TRUTH.mark(TIMES).astype(int)


# Each function yields the lines of a recording in the layout of a program. ``_own`` has Arenite's columns.


def _ppk2():
    yield "Timestamp(ms),Current(uA),D0,D1,D2,D3,D4,D5,D6,D7"
    for t, i, m in zip(TIMES, CURRENT, MARK, strict=True):
        yield f"{t * 1e3:.4f},{i * 1e6:.3f},{m},0,0,0,0,0,0,0"


def _ppk2_together():
    """Yield a recording with all digital inputs in one column."""
    yield "Timestamp(ms),Current(uA),D0-D7"
    for t, i, m in zip(TIMES, CURRENT, MARK, strict=True):
        yield f"{t * 1e3:.4f},{i * 1e6:.3f},0{m}000001"


def _otii():
    yield '"Timestamp (s)","Main current (A)","Main voltage (V)"'
    for t, i in zip(TIMES, CURRENT, strict=True):
        yield f"{t:.6f},{i:.9f},3.0"


def _european():
    yield "# measured on Monday"
    yield "Zeit/time [s];Current [mA];Voltage [mV]"
    for t, i in zip(TIMES, CURRENT, strict=True):
        yield f"{t:.6f};{i * 1e3:.6f};3000".replace(".", ",")


def _joulescope():
    yield "#time,current,voltage,power"
    for t, i in zip(TIMES, CURRENT, strict=True):
        yield f"{t:.7g},{i:.7g},3.0,{3 * i:.7g}"


def _own():
    yield "time_s\tcurrent_ua"
    for t, i in zip(TIMES, CURRENT, strict=True):
        yield f"{t:.6f}\t{i * 1e6:.3f}"


@pytest.mark.parametrize("layout", [_ppk2, _ppk2_together, _otii, _european, _joulescope, _own])
def test_layouts_give_the_true_energy(tmp_path, layout):
    lines = list(layout())
    rng = np.random.default_rng(0)
    remaining_lines = lines[:2] + [line for line in lines[2:-1] if rng.random() > 0.02] + lines[-1:]
    file = tmp_path / "recording.csv"
    file.write_text("\n".join(remaining_lines) + "\n")
    trace = read_csv(file, supply_v=3.0)
    assert trace.lost_samples == len(lines) - len(remaining_lines)
    assert trace.rate_hz == pytest.approx(1e4, rel=1e-3)
    assert trace.energy_j() == pytest.approx(TRUTH.joules(0, TIMES[-1]), rel=0.01)
    length = float(np.median([b - a for a, b in TRUTH.windows]))
    windows = find_windows(trace, expected=4, duration_s=length)
    assert (windows.method == "gpio mark") == (layout in (_ppk2, _ppk2_together))
    assert measure(trace, windows).median_uj == pytest.approx(TRUTH.per_inference_uj(), rel=0.01)


def test_a_rate_replaces_the_column_of_time(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("current (mA)\n1\n2\nbroken\n4\n")
    trace = read_csv(file, supply_v=2.0, rate_hz=10)
    assert trace.current_a == pytest.approx([1e-3, 2e-3, 4e-3])
    assert trace.time_s == pytest.approx([0, 0.1, 0.3])
    assert trace.lost_samples == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,voltage\n1,2\n", "no header with a column of current"),
        ("current\n1\n2\n", "no column of time"),
        ("time,current\n1,2\n2,2\n", "no column of voltage"),
        ("time,current,voltage\n1,2,3\n", "1 rows"),
        ("time,current,voltage\n1,2,3\n1,2,3\n", "are not strictly ascending"),
        ("", "no header"),
    ],
)
def test_a_missing_column_raises_an_error(tmp_path, text, message):
    file = tmp_path / "x.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_csv(file)


def test_a_missing_file_raises_an_error(tmp_path):
    with pytest.raises(UsageError, match="Cannot read"):
        read_csv(tmp_path / "none.csv")


def test_inputs_in_one_field_are_marks(tmp_path):
    file = tmp_path / "recording.csv"
    file.write_text("\n".join(_ppk2_together()) + "\n")
    trace = read_csv(file, supply_v=3.0)
    assert trace.marks is not None
    assert set(trace.marks) == {0x80, 0x82}
    assert len(find_windows(trace).spans) == len(TRUTH.windows)
    assert find_windows(trace).method == "gpio mark"
