"""``read_plan`` turns ``bench.toml`` into cells and names the mistakes in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.errors import AreniteError, UsageError
from arenite.host.bench.matrix.plan import MatrixPlan, read_plan
from arenite.host.report.boards_page import cell_entry

BOARDS = 'boards = ["qemu_mps2_an386", "qemu_riscv32"]\n'


def plan_of(folder: Path, content: str) -> MatrixPlan:
    """Write model and data files and a bench.toml with ``content``, and return its plan."""
    for name in ("a.tflite", "b.tflite", "x.npz", "z.npz"):
        (folder / name).write_bytes(name.encode())
    (folder / "bench.toml").write_text(content)
    return read_plan(folder / "bench.toml")


def test_every_combination_is_a_cell(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'models = ["a.tflite", { path = "b.tflite", data = "z.npz", samples = 3 }]\n'
        + BOARDS
        + 'optimise = ["speed", "ram"]\npasses = [true, false]\ndata = "x.npz"\nsamples = 7\ncycles = false\n',
    )
    assert len(plan.cells) == 2 * 2 * 2 * 2
    first, last = plan.cells[0], plan.cells[-1]
    assert first.name == "a on qemu_mps2_an386 (speed, x.npz)"
    assert (first.model, first.data, first.samples, first.cycles) == (
        tmp_path / "a.tflite",
        tmp_path / "x.npz",
        7,
        False,
    )
    assert last.name == "b on qemu_riscv32 (ram, no-passes, z.npz)"
    assert (last.data, last.samples) == (tmp_path / "z.npz", 3)
    command = last.command(Path("/s"), None, True)
    assert command[3:] == [
        *("bench", str(tmp_path / "b.tflite"), "--json", "--board", "qemu_riscv32", "--store", "/s"),
        *("--protocol", "arenite", "--optimise", "ram", "--no-passes", "--data", str(tmp_path / "z.npz")),
        *("--samples", "3", "--no-cycles"),
    ]
    assert len({c.key for c in plan.cells}) == len(plan.cells)


def test_build_options_become_modes(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'models = "a.tflite"\nboards = "qemu_riscv32"\nmark = "default"\ncores = [1, 2]\nhealth = [false, true]\n'
        "fast_ram = 0\n[[exclude]]\ncores = 2\nhealth = true\n",
    )
    assert [c.name for c in plan.cells] == [
        "a on qemu_riscv32 (cores 1, fast_ram 0, mark default)",
        "a on qemu_riscv32 (cores 1, fast_ram 0, health, mark default)",
        "a on qemu_riscv32 (cores 2, fast_ram 0, mark default)",
    ]
    assert plan.cells[1].command(Path("/s"), None, True)[-6:] == [
        *("--mark=default", "--cores", "1", "--health", "--fast-ram", "0"),
    ]
    assert cell_entry({**plan.cells[1].to_json(), "error": None, "result": None}).mode == (
        "cores 1, fast_ram 0, health, mark default"
    )


def test_impossible_combinations_are_skipped_with_a_reason(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'models = "a.tflite"\nboards = "qemu_riscv32"\nprotocol = ["arenite", "mlperf"]\n'
        "stream_input = [false, true]\n",
    )
    assert [c.name for c in plan.cells] == [
        "a on qemu_riscv32",
        "a on qemu_riscv32 (stream-input)",
        "a on qemu_riscv32 (mlperf)",
    ]
    assert len(plan.skipped) == 1 and "stores the whole input" in plan.skipped[0]


def test_excluded_combinations_are_no_cells(tmp_path: Path) -> None:
    content = 'models = ["a.tflite", "b.tflite"]\n' + BOARDS
    content += (
        '[[exclude]]\nmodel = "a"\nboard = "qemu_riscv32"\n[[exclude]]\nmodel = "b"\noptimise = "ram"\n'
    )
    assert [c.name for c in plan_of(tmp_path, content).cells] == [
        "a on qemu_mps2_an386",
        "b on qemu_mps2_an386",
        "b on qemu_riscv32",
    ]


def test_real_boards_have_ports(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path, 'models = "a.tflite"\nboards = { name = "nucleo_l4r5zi", ports = ["/dev/A", "usb:1"] }\n'
    )
    assert plan.cells[0].ports == ("/dev/A", "usb:1")


def test_a_key_changes_with_the_contents_of_files(tmp_path: Path) -> None:
    from arenite.host.bench.matrix import cell

    content = 'models = "a.tflite"\nboards = "qemu_riscv32"\ndata = "x.npz"\n'
    keys = [plan_of(tmp_path, content).cells[0].key]
    for name in ("a.tflite", "x.npz"):
        (tmp_path / name).write_bytes(b"other")
        cell._file_hash.cache_clear()
        cell._data_hash.cache_clear()
        keys.append(read_plan(tmp_path / "bench.toml").cells[0].key)
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("models = [", "is not TOML"),
        ("", "has no models"),
        ('models = "a.tflite"', "has no boards"),
        ("models = 3", "models is 3"),
        ('models = "none.tflite"\n' + BOARDS, "does not exist"),
        ('models = "a.tflite"\nboards = "nosuchboard"', "nosuchboard"),
        ('models = "a.tflite"\nboards = "nucleo_l4r5zi"', "real board without a port"),
        ('models = "a.tflite"\nspeed = 1\n' + BOARDS, "an unknown key 'speed'"),
        ('models = "a.tflite"\noptimise = "fast"\n' + BOARDS, "optimise is 'fast'"),
        ('models = "a.tflite"\npasses = 1\n' + BOARDS, "passes is 1"),
        ('models = "a.tflite"\ncores = 3\n' + BOARDS, "cores is 3"),
        ('models = "a.tflite"\nfast_ram = -1\n' + BOARDS, "fast_ram is -1"),
        ('models = "a.tflite"\nmark = true\n' + BOARDS, "mark is True"),
        ('models = "a.tflite"\nsamples = 0\n' + BOARDS, "samples is 0"),
        ('models = "a.tflite"\nsamples = true\n' + BOARDS, "samples is True"),
        ('models = { path = "a.tflite", port = 1 }\n' + BOARDS, "in models, has an unknown key 'port'"),
        ('models = { data = "x.npz" }\n' + BOARDS, "models.path is None"),
        ('models = "a.tflite"\nexclude = 1\n' + BOARDS, "exclude is 1"),
        ('models = "a.tflite"\n' + BOARDS + '[[exclude]]\nbord = "x"', "an unknown key 'bord'"),
        ('models = "a.tflite"\n' + BOARDS + '[[exclude]]\nmodel = "A"', "exclude.model is 'A'"),
        ('models = "a.tflite"\nboards = "qemu_riscv32"\n[[exclude]]\nmodel = "a"', "excludes every cell"),
    ],
)
def test_the_error_names_the_mistake_in_the_file(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(AreniteError) as caught:
        plan_of(tmp_path, content)
    assert message in caught.value.problem and caught.value.hint
    assert caught.value.exit_code == 2


def test_a_missing_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot read"):
        read_plan(tmp_path / "none.toml")


def test_every_process_computes_the_same_key(tmp_path: Path) -> None:
    (tmp_path / "a.tflite").write_bytes(b"a")
    (tmp_path / "bench.toml").write_text('models = "a.tflite"\nboards = "qemu_mps3_an547"\n')
    program = "import sys; from pathlib import Path; from arenite.host.bench.matrix.plan import read_plan\n"
    program += "print(read_plan(Path(sys.argv[1])).cells[0].key)"
    keys = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "bench.toml")],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in range(4)
    }
    assert len(keys) == 1
