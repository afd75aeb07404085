"""Return the timing class of Thumb instructions as GNU objdump writes them: Armv6-M to Armv8.1-M with DSP, FPU and
MVE."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

from arenite.host.emulator.disassembly import Instruction
from arenite.host.emulator.instruction_class import TimingClass

_CONDITIONS = (
    "eq",
    "ne",
    "cs",
    "hs",
    "cc",
    "lo",
    "mi",
    "pl",
    "vs",
    "vc",
    "hi",
    "ls",
    "ge",
    "lt",
    "gt",
    "le",
    "al",
)
_REGISTER = re.compile(r"\b(r\d+|s[0-9]+|d[0-9]+|q[0-7]|sp|lr|pc|ip|fp|sl|sb)\b")
_ALIASES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12", "sp": "r13", "lr": "r14", "pc": "r15"}

#: Mnemonics without condition and flag suffix, by class. Other mnemonics match a pattern below or have the class "alu".
_NAMED = {
    "multiply": "mul smulbb smulbt smultb smultt smulwb smulwt smuad smuadx smusd smusdx smmul smmulr",
    "multiply_accumulate": "mla mls smlabb smlabt smlatb smlatt smlawb smlawt smlad smladx smlsd smlsdx smmla"
    " smmlar smmls smmlsr",
    "multiply_long": "smull umull",
    "multiply_accumulate_long": "smlal umlal umaal smlald smlaldx smlsld smlsldx smlalbb smlalbt smlaltb smlaltt",
    "divide": "sdiv udiv",
    "simd": "ssat usat ssat16 usat16 qadd qsub qdadd qdsub sadd8 sadd16 ssub8 ssub16 uadd8 uadd16 usub8 usub16 qadd8"
    " qadd16 qsub8 qsub16 uqadd8 uqadd16 uqsub8 uqsub16 shadd8 shadd16 shsub8 shsub16 uhadd8 uhadd16 uhsub8 uhsub16"
    " sxtb16 uxtb16 sxtab16 uxtab16 sxtab uxtab sxtah uxtah pkhbt pkhtb usad8 usada8 sel",
    "branch": "b",
    "compare_branch": "cbz cbnz",
    "call": "bl blx",
    "branch_register": "bx bxns blxns",
    "branch_table": "tbb tbh",
    "it": "it itt ite ittt itte itet itee itttt ittte ittet ittee itett itete iteet iteee",
    "nop": "nop yield wfi wfe sev",
    "barrier": "dmb dsb isb",
    "system": "mrs msr cpsid cpsie svc bkpt udf",
    "loop_start": "dls dlstp wls wlstp lctp",
    "loop_end": "le letp",
    "shift_long": "asrl lsll lsrl sqrshrl sqshll srshrl uqrshll uqshll urshrl sqrshr sqshl srshr uqrshl uqshl urshr",
}
_CLASS_OF = {name: kind for kind, names in _NAMED.items() for name in names.split()}

_EXTEND_ADD = frozenset(["sxtab", "uxtab", "sxtah", "uxtah", "sxtab16", "uxtab16"])
_MULTIPLY_16 = re.compile(r"smu[as]dx?|sml[as]l?dx?|sm(ul|lal?)([bt][bt]|w[bt])")
_SHIFT = re.compile(r"(lsl|lsr|asr|ror|rrx)\b")
_COMPARISONS = ("cmp", "cmn", "tst", "teq")

_MVE_PREDICATE = re.compile(r"vp(st|t|not)|vctp")
_MVE_MULTIPLY = re.compile(
    r"v(mul|mla|mls|mlal|rmla|rmls|q?d?mul|qr?dmul|qr?dmla|qdml|rmul|cmul|cmla|fma|fms)"
)
#: Instructions that add across lanes into a core register.
_MVE_REDUCE = re.compile(r"v(addv|addlv|addva|addlva|maxv|minv|maxav|minav|abav)")


@cache
def arm_class(instruction: Instruction) -> TimingClass:
    """Return the timing class of one instruction."""
    base = _strip_suffixes(instruction.mnemonic.split(".")[0])
    operands = _split_operands(instruction.operands)
    if base.startswith("v"):
        return _class_of_vector(base, instruction, operands)
    if base.startswith(("ldm", "stm")) or base in ("push", "pop"):
        return _class_of_multiple(base, operands)
    if base.startswith(("ldr", "str", "lda", "stl")):
        return _class_of_single(base, operands)
    name = _CLASS_OF.get(base, "alu")
    if name in ("multiply_long", "multiply_accumulate_long", "shift_long"):
        long = _timing_class(name, operands, 2, also_read=name != "multiply_long")
        return long if name == "shift_long" else replace(long, **_unit_of(base, name, operands))
    if name in ("branch", "compare_branch", "call", "branch_register", "branch_table", "loop_end", "it"):
        return TimingClass(name, reads=_registers(",".join(operands)))
    if base == "nop":
        return TimingClass(name)
    unit = _unit_of(base, name, operands)
    if base in _COMPARISONS:
        return TimingClass(name, reads=_registers(",".join(operands)), flags=True, **unit)
    # With two operands most instructions write a register that they also read (adds r0, #1).
    kind = _timing_class(name, operands, 1, also_read=len(operands) == 2 and not _is_move(base))
    if "r15" in kind.writes:
        return TimingClass("branch_register", reads=kind.reads)
    sets_flags = instruction.mnemonic.split(".")[0] == f"{base}s" or (base.endswith("s") and name == "alu")
    return replace(kind, flags=sets_flags, **unit)


def _unit_of(base: str, name: str, operands: list[str]) -> dict[str, Any]:
    """Return the fields ``unit`` and ``accumulates`` of an instruction with a result in core registers."""
    if name.startswith("multiply"):
        added = {"multiply_accumulate": operands[3:], "multiply_accumulate_long": operands[:2]}.get(name, [])
        factors = operands[1:3] if name == "multiply_accumulate" else operands[2:]
        unit = "multiply_16" if _MULTIPLY_16.fullmatch(base) else "multiply"
    elif base in _EXTEND_ADD:
        added, factors, unit = operands[1:2], operands[2:], "extend_add"
    else:
        return {"unit": "shift" if any(_SHIFT.match(operand) for operand in operands[2:]) else ""}
    return {"unit": unit, "accumulates": _registers(",".join(added)) - _registers(",".join(factors))}


def _is_move(base: str) -> bool:
    return base.startswith(("mov", "mvn", "sxt", "uxt", "rev", "clz", "rbit", "adr"))


def _strip_suffixes(mnemonic: str) -> str:
    """Return the mnemonic without a condition and without the "s" of instructions that set flags."""
    known = _CLASS_OF.keys()
    if mnemonic in known:
        return mnemonic
    for suffix in _CONDITIONS:
        head = mnemonic.removesuffix(suffix)
        if head != mnemonic and (
            head in known or head.startswith(("ldr", "str", "ldm", "stm", "push", "pop"))
        ):
            return head
    # "smmls", "mls", "lsls": the class table lists only the form without the final s.
    return mnemonic[:-1] if mnemonic.endswith("s") and mnemonic[:-1] in known else mnemonic


def _split_operands(operands: str) -> list[str]:
    """Split the operands at the commas outside brackets."""
    parts, depth, current = [], 0, ""
    for ch in operands:
        depth += (ch in "[{") - (ch in "]}")
        if ch == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += ch
    return [*parts, current.strip()] if current.strip() else parts


def _registers(text: str) -> frozenset[str]:
    names: list[str] = _REGISTER.findall(text)
    return frozenset(_ALIASES.get(name, name) for name in names)


def _timing_class(name: str, operands: list[str], results: int, *, also_read: bool) -> TimingClass:
    writes = _registers(",".join(operands[:results]))
    reads = _registers(",".join(operands[results:]))
    return TimingClass(name, 1, reads | writes if also_read else reads, writes)


def _count_registers(text: str) -> int:
    """Return the number of registers in a list such as "{r4, r5-r7, pc}"."""
    count = 0
    for part in text.strip("{}^! ").split(","):
        ends = [int(re.sub(r"\D", "", _ALIASES.get(r.strip(), r.strip()))) for r in part.split("-")]
        count += ends[-1] - ends[0] + 1
    return count


def _class_of_multiple(base: str, operands: list[str]) -> TimingClass:
    """Return the timing class of an instruction that loads or stores a list of registers."""
    text = operands[-1]
    base_register = frozenset({"r13"}) if base in ("push", "pop") else _registers(operands[0])
    items = _count_registers(text)
    if base.startswith("stm") or base == "push":
        return TimingClass("store_multiple", items, _registers(text) | base_register, address=base_register)
    returns = "r15" in _registers(text)
    return TimingClass(
        "load_multiple_return" if returns else "load_multiple",
        items,
        base_register,
        _registers(text),
        base_register,
    )


def _class_of_single(base: str, operands: list[str]) -> TimingClass:
    """Return the timing class of a load or store of one register, or of two (ldrd, strd)."""
    first_address = next((k for k, part in enumerate(operands) if part.startswith("[")), len(operands))
    # A literal may be disassembled as a bare address.
    values = _registers(",".join(operands[:first_address]))
    address = _registers(",".join(operands[first_address:]))
    double = base in ("ldrd", "strd")
    items = 2 if double else 1
    if base.startswith("st"):
        by_register = len(address) > 1 and not double
        name = "store_double" if double else "store_register" if by_register else "store"
        return TimingClass(name, items, values | address, address=address)
    name = "load_double" if double else "load_literal" if not address or address == {"r15"} else "load"
    if "r15" in values:
        name = "load_return"
    narrow = base.startswith(("ldrb", "ldrh", "ldrsb", "ldrsh"))
    return TimingClass(name, items, address, values, address, unit="narrow_load" if narrow else "")


def _class_of_vector(base: str, instruction: Instruction, operands: list[str]) -> TimingClass:
    """Return the timing class of an FPU or MVE instruction."""
    text = instruction.operands
    helium = re.search(r"\bq[0-7]\b", text) is not None
    if _MVE_PREDICATE.match(base):
        return TimingClass("mve_predicate", reads=_registers(text))
    if base.startswith(("vldr", "vstr", "vld2", "vld4", "vst2", "vst4")) and helium:
        return _class_of_vector_memory(base, instruction, operands)
    if helium:
        if base.startswith("vmov") and re.search(r"\br\d+|\b(ip|lr|fp|sl|sb)\b", text):
            return _timing_class("mve_move", operands, 1, also_read=True)
        if _MVE_REDUCE.match(base) or re.match(
            r"v(r?ml[as]l?d|mla?d|mls?d)av|vr?ml[as]ldav|vml[as]l?v", base
        ):
            multiplies = _MVE_REDUCE.match(base) is None
            results = 2 if len(operands) == 4 else 1
            return _timing_class(
                "mve_multiply_reduce" if multiplies else "mve_reduce", operands, results, also_read=True
            )
        name = "mve_multiply" if _MVE_MULTIPLY.match(base) else "mve_alu"
        return _timing_class(name, operands, 1, also_read=True)
    if base.startswith(("vldm", "vpop", "vstm", "vpush")):
        items = _count_registers(operands[-1])
        return TimingClass(
            "fpu_load" if base[1] == "l" or base == "vpop" else "fpu_store", items, _registers(text)
        )
    if base.startswith("vldr"):
        return TimingClass(
            "fpu_load", 1, _registers(operands[-1]), _registers(operands[0]), _registers(operands[-1])
        )
    if base.startswith("vstr"):
        return TimingClass("fpu_store", 1, _registers(text), address=_registers(operands[-1]))
    if base.startswith(("vdiv", "vsqrt")):
        return _timing_class("fpu_divide", operands, 1, also_read=False)
    return _timing_class("fpu", operands, 1, also_read=base.startswith(("vml", "vfm", "vfn", "vnml")))


def _class_of_vector_memory(base: str, instruction: Instruction, operands: list[str]) -> TimingClass:
    """Return the timing class of an MVE load or store."""
    values, address = _registers(operands[0]), _registers(",".join(operands[1:]))
    store = base.startswith("vst")
    reads, writes = (values | address, frozenset()) if store else (address, values)
    if base[3] in "24":
        name = "mve_store_interleaved" if store else "mve_load_interleaved"
        return TimingClass(name, 1, reads, writes, address)
    if any(r.startswith("q") for r in address):
        bits = re.search(r"\.[a-z]?(\d+)", instruction.mnemonic)
        elements = 128 // int(bits[1]) if bits else 4
        return TimingClass("mve_scatter" if store else "mve_gather", elements, reads, writes, address)
    return TimingClass("mve_store" if store else "mve_load", 1, reads, writes, address)
