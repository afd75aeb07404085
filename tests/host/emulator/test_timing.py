"""Tests of the timing classes of real instructions, which the toolchains assemble and disassemble, and of their cycles
in the tables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.errors import ProfileError, ToolError
from arenite.firmware.boards.cores import core_named
from arenite.host.bench.cycles import RULE_TITLES
from arenite.host.emulator.block_counts import Block
from arenite.host.emulator.classifiers import classifier
from arenite.host.emulator.disassembly import Instruction, disassemble
from arenite.host.emulator.instruction_class import UNITS, TimingClass
from arenite.host.emulator.timing import (
    DIRECTORY,
    KINDS,
    NO_WAIT,
    RULES,
    CycleCount,
    TimingTable,
    _parse_table,
    load_timing,
)

#: The cores that have a timing table.
TABLES = sorted(path.stem for path in DIRECTORY.glob("*.toml"))
#: The address of the first instruction.
START = 0x1000

#: Maps a core to lines of assembly, each with its timing class.
CLASSES = {
    "cortex-m0": """
        adds r0, r1, #1        @ alu
        muls r0, r1            @ multiply
        ldrb r0, [r1, r2]      @ load
        ldr r0, [pc, #4]       @ load_literal
        strh r0, [r1, r2]      @ store_register
        str r0, [sp, #4]       @ store
        ldmia r0!, {r1, r2}    @ load_multiple 2
        push {r4-r7, lr}       @ store_multiple 5
        pop {r4-r7, pc}        @ load_multiple_return 5
        beq 1f                 @ branch
        bl 1f                  @ call
        bx lr                  @ branch_register
        nop                    @ nop
        dmb                    @ barrier
        uxtb r0, r1            @ alu
    """,
    "cortex-m4f": """
        mla r0, r1, r2, r3     @ multiply_accumulate
        mlane r0, r1, r2, r3   @ multiply_accumulate
        smlad r0, r1, r2, r3   @ multiply_accumulate
        smmla r0, r1, r2, r3   @ multiply_accumulate
        smmul r0, r1, r2       @ multiply
        smuadx r0, r1, r2      @ multiply
        smull r0, r1, r2, r3   @ multiply_long
        smlal r0, r1, r2, r3   @ multiply_accumulate_long
        smlald r0, r1, r2, r3  @ multiply_accumulate_long
        sdiv r0, r1, r2        @ divide
        ssat r0, #8, r1, asr #3 @ simd
        sxtb16 r0, r1, ror #8  @ simd
        pkhbt r0, r1, r2, lsl #16 @ simd
        uadd8 r0, r1, r2       @ simd
        movs r0, #1            @ alu
        ldrd r0, r1, [r2], #8  @ load_double 2
        strd r0, r1, [r2, #8]  @ store_double 2
        ldr r0, [r1], #4       @ load
        ldrsb r0, [r1, #1]!    @ load
        str r0, [r1, r2, lsl #2] @ store_register
        ldmia r0!, {r1-r3, r7, sl-ip} @ load_multiple 7
        ldmia sp!, {r4, pc}    @ load_multiple_return 2
        stmdb sp!, {r4-r9, lr} @ store_multiple 7
        ldr pc, [sp], #4       @ load_return
        cbz r0, 1f             @ compare_branch
        tbb [pc, r0]           @ branch_table
        mov pc, lr             @ branch_register
        vmul.f32 s0, s1, s2    @ fpu
        vmov s0, r0            @ fpu
        vdiv.f32 s0, s1, s2    @ fpu_divide
        vldr s0, [r0]          @ fpu_load
        vldmia r0!, {s0-s3}    @ fpu_load 4
        vpush {s16-s17}        @ fpu_store 2
        mrs r0, PRIMASK        @ system
        lsls r0, r1            @ alu
        teq r0, r1             @ alu
    """,
    "cortex-m55": """
        vldrb.u8 q0, [r0], #16 @ mve_load
        vldrh.s32 q0, [r0]     @ mve_load
        vstrw.32 q1, [r0, #16] @ mve_store
        vldrb.u16 q0, [r0, q1] @ mve_gather 8
        vldrw.u32 q0, [r0, q1, uxtw #2] @ mve_gather 4
        vldrb.u8 q0, [r0, q1]  @ mve_gather 16
        vstrb.32 q0, [r0, q1]  @ mve_scatter 4
        vld20.8 {q0, q1}, [r0] @ mve_load_interleaved
        vst43.8 {q0, q1, q2, q3}, [r0]! @ mve_store_interleaved
        vmla.s32 q0, q1, r0    @ mve_multiply
        vmul.i16 q0, q1, q2    @ mve_multiply
        vqrdmulh.s32 q0, q1, r0 @ mve_multiply
        vmullb.s8 q0, q1, q2   @ mve_multiply
        vmladava.s8 r0, q1, q2 @ mve_multiply_reduce
        vmladav.s16 r0, q1, q2 @ mve_multiply_reduce
        vmlaldava.s16 r0, r1, q1, q2 @ mve_multiply_reduce
        vaddva.s8 r0, q1       @ mve_reduce
        vadd.i32 q0, q1, q2    @ mve_alu
        vrshl.s32 q0, q1, q2   @ mve_alu
        vqmovnb.s32 q0, q1     @ mve_alu
        vdup.8 q0, r0          @ mve_alu
        vmov q0[2], q0[0], r0, r1 @ mve_move
        vctp.8 r0              @ mve_predicate
        vpnot                  @ mve_predicate
        vldrbt.u8 q0, [r0]     @ mve_load
        dls lr, r0             @ loop_start
        wlstp.8 lr, r0, 1f     @ loop_start
        le lr, 0b              @ loop_end
        letp lr, 0b            @ loop_end
        asrl r0, r1, #3        @ shift_long
        smlad r0, r1, r2, r3   @ multiply_accumulate
        csel r0, r1, r2, eq    @ alu
    """,
    "rv32imc": """
        addi a0, a1, 1         # alu
        add a0, a0, a1         # alu
        lui a0, 4              # alu
        mul a0, a1, a2         # multiply
        mulh a0, a1, a2        # multiply_high
        divu a0, a1, a2        # divide
        lb a0, 3(a1)           # load
        lw a0, 8(sp)           # load
        sb a0, 3(a1)           # store
        bnez a0, 1f            # branch
        bltu a0, a1, 1f        # branch
        j 1f                   # jump
        jal 1f                 # call
        ret                    # jump
        jr 8(a0)               # jump
        jalr a0                # call
        .insn i 0x73, 2, a0, x0, -0x4fe # counter
        .insn i 0x73, 1, x0, a0, 0x305 # counter
        .insn i 0x73, 2, a0, x0, -0xec # system
        fence                  # system
        nop                    # nop
    """,
    "xtensa-lx106": """
        addi a2, a3, 4         # alu
        add.n a2, a2, a3       # alu
        l8ui a2, a3, 1         # load
        l32i.n a2, a3, 4       # load
        l32r a2, 0b            # load_literal
        s16i a2, a3, 2         # store
        mull a2, a3, a4        # multiply
        mul16s a2, a3, a4      # multiply_16
        bnez a2, 1f            # branch
        beqz.n a2, 1f          # branch
        blti a2, 5, 1f         # branch
        j 1f                   # jump
        call0 1f               # call
        ret.n                  # call
        memw                   # barrier
        nop.n                  # nop
        extui a2, a3, 4, 8     # alu
    """,
}


def assembled(core: str, lines: list[str], folder: Path) -> tuple[Path, list[Block]]:
    """Assemble the lines at START. Return the ELF file and one block for each line."""
    core_info = core_named(core)
    if shutil.which(f"{core_info.prefix}gcc") is None:
        pytest.skip(f"no compiler for {core}")
    arm = core.startswith("cortex")
    head = ".syntax unified\n.thumb\n" if arm else ".option norelax\n" if core.startswith("rv32") else ""
    fill = ".balign 4\n.space 4\n" if core.startswith("xtensa") else ""
    body = "".join(f"at{k}: {line}\n" for k, line in enumerate(lines))
    source = folder / "code.s"
    source.write_text(f".text\n{head}{fill}.global _start\n_start:\n0:\n{body}at{len(lines)}:\n1: nop\n")
    elf = folder / "code.elf"
    flags = [*core_info.architecture, "-nostdlib", "-static", f"-Wl,-Ttext={START:#x}", "-Wl,--no-relax"]
    command = [f"{core_info.prefix}gcc", *flags, "-Wl,--build-id=none", "-o", str(elf), str(source)]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    symbols = subprocess.run(
        [f"{core_info.prefix}nm", str(elf)], capture_output=True, text=True, check=True
    ).stdout
    addresses = {
        n: int(a, 16) for a, _, n in (row.split() for row in symbols.splitlines() if len(row.split()) == 3)
    }
    return elf, [Block(addresses[f"at{k}"], addresses[f"at{k + 1}"]) for k in range(len(lines))]


@pytest.mark.parametrize("core", CLASSES)
def test_real_instructions_have_their_class(core: str, tmp_path: Path) -> None:
    mark = "@" if core.startswith("cortex") else "# "
    rows = [line.strip().rsplit(mark, 1) for line in CLASSES[core].strip().splitlines()]
    conditional = [k for k, (text, _) in enumerate(rows) if text.startswith("mlane")]
    lines = [f"it ne\n{text}" if k in conditional else text for k, (text, _) in enumerate(rows)]
    lines = [f"vpst\n{text}" if text.startswith("vldrbt") else text for text in lines]
    elf, blocks = assembled(core, lines, tmp_path)
    code = disassemble(elf, core, blocks)
    timing = load_timing(core)
    for block, (text, expected) in zip(blocks, rows, strict=True):
        timing_class = classifier(core)(code[block][-1])
        name, _, items = expected.strip().partition(" ")
        assert (timing_class.name, timing_class.items) == (name, int(items or 1)), f"{text}: {code[block]}"
        assert name in timing.classes
        assert timing.block(code[block]).instructions == len(code[block])


def cycles(core: str, *lines: str) -> float:
    """Return the cycles of a block of instructions in the syntax of the disassembler."""
    parts = [line.partition(" ") for line in lines]
    block = [Instruction(mnemonic, operands, 4) for mnemonic, _, operands in parts]
    return load_timing(core).block(block).cycles


@pytest.mark.parametrize(
    ("core", "lines", "expected"),
    [
        # Arm DDI 0337I 3.3.2: "LDR R0,[R1,R5]; LDR R1,[R2]; LDR R2,[R3,#4]" takes four cycles, two loads three.
        ("cortex-m3", ("ldr r0, [r1, r5]", "ldr r1, [r2, #0]", "ldr r2, [r3, #4]"), 4),
        ("cortex-m3", ("ldr r0, [r1, #0]", "ldr r1, [r2, #0]"), 3),
        ("cortex-m3", ("ldr r0, [r1, r2]", "str r1, [r3, r2]"), 3),
        ("cortex-m3", ("ldr r0, [r1, r2]", "str r0, [r3, #20]"), 3),
        # The first load yields the address of the second load, so the two are not pipelined.
        ("cortex-m3", ("ldr r0, [r1, #0]", "ldr r1, [r0, #0]"), 4),
        # An address that was just computed costs one more cycle.
        ("cortex-m4f", ("adds r1, r1, #4", "ldr r0, [r1, #0]"), 4),
        ("cortex-m4f", ("adds r2, r2, #4", "ldr r0, [r1, #0]"), 3),
        ("cortex-m3", ("mla r0, r1, r2, r3",), 2),
        ("cortex-m4f", ("mla r0, r1, r2, r3",), 1),
        ("cortex-m4f", ("smull r0, r1, r2, r3",), 1),
        ("cortex-m4f", ("ldmia.w r0!, {r1, r2, r3}",), 4),
        ("cortex-m4f", ("ldrd r0, r1, [r2], #8",), 3),
        ("cortex-m0", ("ldr r0, [r1, #0]", "ldr r1, [r2, #0]"), 4),
        ("cortex-m0", ("pop {r4, r5, pc}",), 6),
        ("cortex-m0plus", ("pop {r4, r5, pc}",), 5),
        ("cortex-m0plus", ("ldr r0, [r1, #0]", "muls r0, r1"), 3),
        # Two instructions are issued together unless one needs the other's result, both load or both store, both
        # multiply, or the second is a multiplication of words.
        ("cortex-m7", ("add.w r0, r1, r2", "add.w r3, r4, r5"), 1),
        ("cortex-m7", ("add.w r0, r1, r2", "add.w r3, r0, r5"), 2),
        ("cortex-m7", ("add.w r0, r1, r2", "add.w r3, r4, r5", "add.w r6, r1, r2"), 2),
        ("cortex-m7", ("add.w r0, r1, r2", "mla r3, r4, r5, r6"), 2),
        ("cortex-m7", ("add.w r0, r1, r2", "smlad r3, r4, r5, r6"), 1),
        ("cortex-m7", ("smlad r0, r1, r2, r0", "smlad r3, r4, r5, r3"), 2),
        ("cortex-m7", ("smlad r0, r1, r2, r0", "str r4, [r5, #0]"), 2),
        ("cortex-m7", ("smlad r3, r4, r5, r6", "add.w r0, r1, r2"), 1),
        ("cortex-m7", ("ldr r0, [r1, #0]", "str r2, [r3, #0]"), 1),
        ("cortex-m7", ("ldr r0, [r1, #0]", "ldr r2, [r3, #0]"), 2),
        # A store takes its value from an instruction of the same pair, and a loaded word is ready in the next cycle,
        # except for multiplications and addresses. Products and loaded bytes are ready a cycle later.
        ("cortex-m7", ("add.w r0, r1, r2", "str r0, [r3, #0]"), 1),
        ("cortex-m7", ("add.w r3, r1, r2", "str r0, [r3, #0]"), 2),
        ("cortex-m7", ("ldr r0, [r1, #0]", "add.w r2, r0, r3"), 2),
        ("cortex-m7", ("ldr r0, [r1, #0]", "mul r2, r0, r3"), 3),
        ("cortex-m7", ("ldr r0, [r1, #0]", "ldr r2, [r0, #0]"), 3),
        ("cortex-m7", ("ldrb.w r0, [r1, #0]", "add.w r2, r0, r3"), 3),
        ("cortex-m7", ("mul r0, r1, r2", "add.w r3, r0, r4"), 3),
        # Measured on an RP2350 (github.com/jnk0le/random, cortex_m33.md): a loaded value is ready a cycle late, n
        # registers take n cycles, and multiply-accumulates follow each other without a wait.
        ("cortex-m33", ("ldr r0, [r1, #0]", "add.w r2, r0, r3"), 3),
        ("cortex-m33", ("ldr r0, [r1, #0]", "add.w r2, r4, r3"), 2),
        ("cortex-m33", ("ldmia r6!, {r0, r1, r2, r3}",), 4),
        ("cortex-m33", ("ldrd r0, r1, [r2], #8",), 2),
        ("cortex-m33", ("smlad r0, r1, r2, r0", "smlad r0, r3, r4, r0"), 2),
        # Results of multiplications, of extended values and of shifted operands are ready a cycle late too, but a
        # multiply-accumulate adds them at once, and a store stores them at once.
        ("cortex-m33", ("smlad r0, r1, r2, r0", "add.w r3, r0, r4"), 3),
        ("cortex-m33", ("smlad r0, r1, r2, r0", "smlad r3, r0, r4, r3"), 3),
        ("cortex-m33", ("uxtab r0, r1, r2", "mla r3, r4, r5, r0"), 2),
        ("cortex-m33", ("uxtab r0, r1, r2", "add.w r3, r0, r4"), 3),
        ("cortex-m33", ("add.w r0, r1, r2, ror #23", "add.w r0, r0, r3"), 3),
        ("cortex-m33", ("smlad r0, r1, r2, r0", "str r0, [r3, #0]"), 2),
        ("cortex-m33", ("ldr r0, [r1, #0]", "smlad r2, r3, r4, r0"), 2),
        ("cortex-m33", ("ldr r0, [r1, #0]", "str r0, [r2, #0]"), 2),
        ("cortex-m33", ("muls r0, r1",), 2),
        ("cortex-m33", ("mul.w r0, r1, r2",), 1),
        # Measured on an STM32H743 (the same, cortex_m7.md): two registers per cycle.
        ("cortex-m7", ("ldmia.w r0!, {r1, r2, r3, r4}",), 2),
        ("cortex-m7", ("ldrd r0, r1, [r2], #8",), 1),
        ("cortex-m7", ("stmia.w r0!, {r1, r2, r3, r4}",), 2),
        ("cortex-m7", ("ldmia.w r0!, {r1, r2}", "add.w r3, r4, r5"), 2),
        # A vector instruction takes two cycles. Neighboring instructions of different groups overlap by one cycle.
        ("cortex-m55", ("vldrb.u8 q0, [r0], #16", "vldrb.u8 q1, [r1], #16"), 4),
        ("cortex-m55", ("vldrb.u8 q0, [r0], #16", "vmladava.s8 r2, q0, q1"), 3),
        ("cortex-m55", ("vmul.i16 q0, q1, q2", "vmladava.s8 r2, q0, q1"), 4),
        ("cortex-m55", ("vldrb.u8 q0, [r0, q1]",), 16),
        ("cortex-m55", ("le lr, 0x0",), 0),
        ("rv32imc", ("lw a0,0(a1)", "add a2,a0,a3"), 3),
        ("rv32imc", ("lw a0,0(a1)", "add a2,a4,a3"), 2),
        ("rv32imc", ("mulh a0,a1,a2",), 5),
        ("rv32imc", ("auipc ra,0x0", "jalr -4(ra)"), 4),
        ("rv32imc", ("lw a5,0(a1)", "jalr a5"), 3),
        ("rv32imc", ("lw ra,12(sp)", "addi sp,sp,16", "ret"), 3),
        ("rv32imc", ("addi ra,ra,2", "ret"), 4),
        ("rv32imc", ("addi a5,a5,2", "jr a5"), 4),
        ("rv32imc", ("addi ra,ra,2", "jal ra,0x0"), 2),
        # Ibex with two stages waits for each access, so a loaded value is ready for the next instruction.
        ("ibex", ("lw a0,0(a1)", "add a2,a0,a3"), 3),
        ("ibex", ("lw a0,0(a1)", "lw a2,4(a1)", "add a3,a0,a3"), 3),
        ("ibex", ("mul a0,a1,a2", "mulhu a3,a1,a2"), 3),
        ("ibex", ("auipc ra,0x0", "jalr -4(ra)"), 2),
        ("ibex-small", ("lw a0,0(a1)", "add a2,a0,a3"), 3),
        ("ibex-small", ("sw a0,0(a1)", "add a2,a0,a3"), 3),
        ("ibex-small", ("mul a0,a1,a2", "mulhu a3,a1,a2"), 7),
        ("xtensa-lx106", ("l32i.n a2, a3, 4", "add.n a4, a2, a3"), 3),
        ("xtensa-lx106", ("mull a2, a3, a4",), 2),
    ],
)  # fmt: skip
def test_short_sequences_take_the_documented_cycles(
    core: str, lines: tuple[str, ...], expected: float
) -> None:
    assert cycles(core, *lines) == expected


def test_taken_branches_take_the_cycles_of_their_rule() -> None:
    loop = load_timing("cortex-m55")
    assert loop.taken([Instruction("letp", "lr, 0x0", 4)]) == 0
    assert loop.taken([Instruction("bne.n", "0x0", 2)]) == loop.rules["taken"].cycles > 0
    assert load_timing("cortex-m0").taken([Instruction("bl", "0x0", 4)]) == 3
    assert load_timing("cortex-m0plus").taken([Instruction("bl", "0x0", 4)]) == 2


@pytest.mark.parametrize(
    ("before", "size", "not_taken", "taken"),
    [
        # Measured on an RP2350 (github.com/jnk0le/random, cortex_m33.md).
        ("subs r7, #1", 2, 1, 3),  # the branch depends on its flags
        ("add r0, r1", 2, 1, 2),
        ("ldmia r6!, {r0, r1, r2, r3}", 2, 4, 5),
        ("add.w r0, r1, r2", 4, 2, 3),
    ],
)
def test_short_branches_are_issued_together_with_short_instructions(
    before: str, size: int, not_taken: float, taken: float
) -> None:
    table = load_timing("cortex-m33")
    mnemonic, _, operands = before.partition(" ")
    block = [Instruction(mnemonic, operands, size), Instruction("bne.n", "0x0", 2)]
    assert table.block(block).cycles == not_taken
    assert table.block(block).cycles + table.taken(block) == taken


@pytest.mark.parametrize("core", TABLES)
def test_every_table_is_complete(core: str) -> None:
    timing = load_timing(core)
    core_of = {"ibex": "rv32imc", "ibex-small": "rv32imc"}
    assert timing.core == core_of.get(core, core) and timing.summary and 0.3 < timing.plain_cpi < 3
    assert set(timing.rules) <= set(RULES)
    assert timing.never_second | timing.alone <= set(timing.classes)
    assert timing.no_wait <= set(NO_WAIT)
    assert timing.any_slot | timing.late_results | (timing.word_load_use or set()) <= set(UNITS)
    for cost in (*timing.classes.values(), *timing.rules.values()):
        assert cost.kind in KINDS and cost.source
        # The source text of an unpublished figure begins with "assumed" or "recalled".
        assert (cost.kind == "assumed") >= cost.source.startswith(("assumed", "recalled"))
    assert all(cost.cycles >= 0 and cost.per_item >= 0 for cost in timing.classes.values())


def test_every_counted_core_has_a_table() -> None:
    from arenite.host.energy.estimate_counts import COUNTING_BOARDS
    from arenite.profiles.boards import all_boards

    emulated = {b.timing or b.core for b in all_boards() if b.emulated}
    assert emulated | {core for _, core in COUNTING_BOARDS.values()} == set(TABLES)


def test_a_core_without_a_table_raises_an_error() -> None:
    with pytest.raises(ProfileError, match="no timing table for the core 'z80'"):
        load_timing("z80")


def test_a_class_without_cycles_raises_an_error() -> None:
    with pytest.raises(ProfileError, match="cortex-m0 has no class 'divide'"):
        cycles("cortex-m0", "sdiv r0, r1, r2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plain_cpi": "much"}, "malformed"),
        ({"classes": {"alu": {"cycles": 1, "kind": "measured", "source": "a"}}}, "malformed"),
        ({"classes": {"alu": {"cycles": 1, "kind": "assumed", "source": "b"}}}, "'b' is missing"),
        ({"classes": {"alu": {"cycles": 1, "knid": 1, "kind": "assumed", "source": "a"}}}, "malformed"),
        ({"rules": {}}, "include 'taken'"),
        ({"rules": {"taken": {"cycles": 1, "kind": "assumed", "source": "a"}, "x": {
            "cycles": 1, "kind": "assumed", "source": "a"}}}, "the rules must be some of"),
    ],
)  # fmt: skip
def test_a_malformed_table_raises_an_error(change: dict, message: str) -> None:
    row = {"cycles": 1, "kind": "assumed", "source": "a"}
    table = {"core": "c", "summary": "s", "plain_cpi": 1, "sources": {"a": "A"}}
    table |= {"classes": {"alu": row}, "rules": {"taken": row}}
    assert isinstance(_parse_table(table, "c.toml"), TimingTable)
    with pytest.raises(ProfileError, match=message):
        _parse_table(table | change, "c.toml")


def test_cycle_counts_are_added_with_a_factor() -> None:
    cycle_count = load_timing("cortex-m4f").block([Instruction("ldr", "r0, [r1, #0]", 2)] * 2)
    total = CycleCount()
    total.add(cycle_count, 5)
    assert (total.instructions, total.cycles) == (10, 5 * cycle_count.cycles)
    assert cycle_count.cycles == 3 and total.rules["pipelined"].count == 5


def test_aliases_of_registers_are_resolved() -> None:
    timing_class = classifier("cortex-m4f")(Instruction("add.w", "fp, ip, sl", 4))
    assert timing_class == TimingClass("alu", 1, frozenset({"r12", "r10"}), frozenset({"r11"}))


def test_code_outside_of_the_elf_raises_an_error(tmp_path: Path) -> None:
    elf, _ = assembled("cortex-m0", ["nop"], tmp_path)
    with pytest.raises(ToolError, match="0x900000, which is not in its ELF"):
        disassemble(elf, "cortex-m0", [Block(0x900000, 0x900002)])
    with pytest.raises(ToolError, match=r"no instruction|disagree"):
        disassemble(assembled("cortex-m0", ["bl 1f"], tmp_path)[0], "cortex-m0", [Block(START, START + 2)])


def test_other_engines_are_assumed_to_use_vector_instructions() -> None:
    """So their cycles per instruction differ from those of plain code on the one core with Helium."""
    cpi = {core: load_timing(core).other_cpi / load_timing(core).plain_cpi for core in TABLES}
    assert {core for core, ratio in cpi.items() if ratio != 1} == {"cortex-m55"}


def test_every_rule_has_a_title() -> None:
    assert set(RULE_TITLES) == set(RULES)
