"""Tree ensembles as machine code: the instructions are what an assembler writes, and a board computes the reference."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import arenite
from arenite.converters.tflite.image import to_flatbuffer
from arenite.firmware.generator.lower.trees import thumb_assembler as thumb
from arenite.firmware.generator.lower.trees.tree_code import tree_code
from tests.firmware.engine.trees.tree_models import (
    ensemble_with_shared_nodes,
    model_of,
    random_ensemble,
    samples,
)

needs_arm = pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="needs gcc-arm-none-eabi and qemu-system-arm",
)


def disassembled(halfwords: list[int], folder: Path) -> list[str]:
    """Return one line of text per instruction."""
    path = folder / "code.bin"
    path.write_bytes(np.array(halfwords, np.uint16).tobytes())
    command = [
        "arm-none-eabi-objdump",
        "-D",
        "-b",
        "binary",
        "-marm",
        "-Mforce-thumb",
        "--no-show-raw-insn",
        str(path),
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"^ *[0-9a-f]+:\t(.*)$", text, re.M)
    return [re.sub(r"\s*@.*", "", line).replace("\t", " ") for line in lines]


def compare_text(value: int) -> list[str]:
    """Return the instructions that compare r3 with a value, as the text of a disassembler."""
    size, sign = abs(value), "cmn" if value < 0 else "cmp"
    if 0 <= value < 256:
        return [f"cmp r3, #{value}"]
    if len(thumb.compare_constant(3, value, 4)) == 2:
        return [f"{sign}.w r3, #{size}"]
    return [f"{'movs' if size < 256 else 'movw'} r4, #{size}", f"{sign} r3, r4"]


@needs_arm
def test_instructions_are_what_the_disassembler_reads(tmp_path: Path) -> None:
    code: list[int] = []
    expected: list[str] = []
    large = [sign * v for v in (1020, 4080, 4095, 12345, 32767, 32768, 65280) for sign in (1, -1)]
    for value in [*range(-300, 300, 7), *large]:
        code += thumb.compare_constant(3, value, 4)
        expected += compare_text(value)
        added = thumb.add_constant(5, value, 4)
        if len(added) == 1 and value:
            expected.append(f"{'subs' if value < 0 else 'adds'} r5, #{abs(value)}")
            code += added
        elif abs(value) >= 4096:
            expected += [f"movw r4, #{abs(value)}", f"{'subs' if value < 0 else 'adds'} r5, r5, r4"]
            code += added
        elif value:
            expected.append(f"{'subw' if value < 0 else 'addw'} r5, r5, #{abs(value)}")
            code += added
    for index in (0, 31, 32, 200):
        code += thumb.load_feature(3, 0, index, 2) + thumb.load_feature(3, 0, index, 1)
        code += thumb.load_word(5, 1, index) + thumb.store_word(5, 1, index)
        wide = ".w" if index >= 32 else ""
        at = [f", #{n}" if n else "" for n in (2 * index, index)]
        expected += [f"ldrsh.w r3, [r0{at[0]}]", f"ldrsb.w r3, [r0{at[1]}]"]
        expected += [f"ldr{wide} r5, [r1, #{4 * index}]", f"str{wide} r5, [r1, #{4 * index}]"]
    for value in (12345, -12345):
        code += thumb.compare_constant(3, value, 12)
        expected += ["movw ip, #12345", "cmp r3, ip" if value > 0 else "cmn.w r3, ip"]
    code += thumb.move_register(12, 1) + thumb.move_register(3, 12) + thumb.store_word(2, 12, 3)
    expected += ["mov ip, r1", "mov r3, ip", "str.w r2, [ip, #12]"]
    for value in (0, 255, 256, 65535, -1, 0x12345678):
        code += thumb.move_32_bits(2, value)
        low, high = value & 0xFFFF, value >> 16 & 0xFFFF
        expected.append(f"{'movs' if low < 256 else 'movw'} r2, #{low}")
        expected += [f"movt r2, #{high}"] if high else []
    assert disassembled(code + thumb.RETURN, tmp_path) == [*expected, "bx lr"]


@needs_arm
@pytest.mark.parametrize("gap", [0, 120, 127, 128, 1000, 1023, 1024, 5000, 600_000 // 2])
@pytest.mark.parametrize("condition", [thumb.ALWAYS, thumb.GREATER])
def test_branches_reach_their_labels_over_any_distance(gap: int, condition: int, tmp_path: Path) -> None:
    assembler = thumb.Assembler()
    before, after = assembler.new_label(), assembler.new_label()
    assembler.place(before)
    assembler.branch(after, condition)
    assembler.add([0x0000] * gap)
    assembler.branch(before, condition)
    assembler.place(after)
    assembler.add(thumb.RETURN)
    code = assembler.halfwords()
    lines = disassembled(code, tmp_path)
    targets = [int(line.rpartition(" ")[2], 16) for line in (lines[0], lines[-2])]
    assert targets == [2 * (len(code) - 1), 0]


@needs_arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        {"dtype": "int16", "targets": True, "nodes": 150},
        {"dtype": "int8", "targets": True, "nodes": 150, "features": 40, "outputs": 40, "leaves": 40},
        {"dtype": "int16", "width": 1, "outputs": 2, "nodes": 60},
        {"dtype": "int16", "width": 1, "outputs": 1, "nodes": 400, "trees": 6, "leaves": 30, "bias": False},
        {"dtype": "int8", "outputs": 2, "nodes": 30, "leaves": 4},
        {"dtype": "int16", "nodes": 1, "trees": 1, "leaves": 1},
        {"dtype": "int16", "nodes": 90, "trees": 1, "leaves": 4, "targets": True},
        {"dtype": "int16", "nodes": 90, "trees": 1, "width": 1, "outputs": 2},
        {"dtype": "int8", "nodes": 9, "trees": 1, "leaves": 1, "width": 1, "outputs": 1, "bias": False},
    ],
    ids=str,
)
def test_a_board_computes_the_reference_with_code(case: dict, tmp_path: Path) -> None:
    """The build also has the predicted size, which includes the code."""
    rng = np.random.default_rng(len(str(case)))
    ensemble = random_ensemble(rng, **case)
    features = case.get("features", 5)
    path = tmp_path / "trees.tflite"
    path.write_bytes(to_flatbuffer(model_of(ensemble, features)))
    x = np.concatenate(samples(rng, ensemble, 40, features))
    result = arenite.bench(path, "qemu_mps2_an386", data={"x": x[:, None]})
    assert result.bit_exact
    assert [layer["kernel"] for layer in result.to_json()["layers"]] == ["ar_tree_code"]
    flash = result.to_json()["flash"]
    assert flash["total"] == flash["predicted_total"]


def test_code_is_refused_if_it_would_be_too_large() -> None:
    assert tree_code(ensemble_with_shared_nodes(), 2) is None
    assert tree_code(random_ensemble(np.random.default_rng(0)), 2) is not None
