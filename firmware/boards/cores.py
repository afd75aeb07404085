"""The compiler and its flags for each processor core, for gcc. ``toolchains.py`` has the flags of zig.

The cycles of a network are estimated as instructions × ``cpi``. This is a rule of thumb for a whole network, not a
measurement; ``cpi_source`` names its source.
"""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import ProfileError, UsageError

OPTIMISE_MODES = ("speed", "ram", "flash", "balanced")


@dataclass(frozen=True)
class Core:
    """The compiler's flags for one core, and the cost of an instruction on it.

    ``prefix`` is the prefix of the toolchain's programs, ``package`` the Debian package of the compiler.
    ``architecture`` has the flags for both compiler and linker. ``cpi`` is the estimated number of cycles per
    instruction, ``cpi_source`` the document that it comes from.
    """

    name: str
    prefix: str
    package: str
    architecture: tuple[str, ...]
    start: str  # start-up source in firmware/boards
    cpi: float
    cpi_source: str
    helpers: tuple[str, ...] = ("memory.c",)  # functions that the compiler expects from libraries
    tier: str = "scalar"  # instruction set of the kernels: scalar, dsp or mve


_ARM = ("arm-none-eabi-", "gcc-arm-none-eabi")
#: The mean of the cycles per instruction in docs/performance.md, for ``--optimise speed``.
_MEAN = "the mean of the estimates for six networks"


def _cortex(name: str, cpu: str, cpi: float, source: str, *fpu: str) -> Core:
    flags = ("-mthumb", f"-mcpu={cpu}", *(fpu or ("-mfloat-abi=soft",)))
    return Core(name, *_ARM, flags, "start_cortex_m.c", cpi, source, tier=_ARM_TIERS.get(name, "scalar"))


#: The instruction set of the kernels for each Arm core; "scalar" for other Arm cores.
_ARM_TIERS = {
    **dict.fromkeys(("cortex-m4", "cortex-m4f", "cortex-m7", "cortex-m33"), "dsp"),
    **dict.fromkeys(("cortex-m55", "cortex-m85"), "mve"),
}

_FPU_SP = ("-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
_FPU_V5SP = ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16")
_RISCV = ("riscv64-unknown-elf-", "gcc-riscv64-unknown-elf")

_CORES = {
    core.name: core
    for core in (
        _cortex("cortex-m0", "cortex-m0", 1.4, _MEAN),
        _cortex("cortex-m0plus", "cortex-m0plus", 1.37, _MEAN),
        _cortex("cortex-m23", "cortex-m23", 1.37, f"{_MEAN} on a Cortex-M0+"),
        _cortex("cortex-m3", "cortex-m3", 1.73, _MEAN),
        _cortex("cortex-m4", "cortex-m4+nofp", 1.53, f"{_MEAN} on a Cortex-M4F"),
        _cortex("cortex-m4f", "cortex-m4", 1.53, _MEAN, *_FPU_SP),
        _cortex("cortex-m33", "cortex-m33", 1.36, _MEAN, *_FPU_V5SP),
        _cortex(
            "cortex-m7",
            "cortex-m7",
            1.04,
            _MEAN,
            *_FPU_V5SP,
        ),
        _cortex(
            "cortex-m55",
            "cortex-m55",
            1.49,
            _MEAN,
            "-mfloat-abi=hard",
        ),
        _cortex(
            "cortex-m85", "cortex-m55", 1.0, "Cortex-M85 TRM: dual issue, MVE 1-2 cycles", "-mfloat-abi=hard"
        ),
        Core(
            "rv32imc",
            *_RISCV,
            ("-march=rv32imc", "-mabi=ilp32"),
            "start_riscv.c",
            1.13,
            _MEAN,
        ),
        Core(
            "rv32imac",
            *_RISCV,
            ("-march=rv32imac", "-mabi=ilp32"),
            "start_riscv.c",
            1.13,
            f"{_MEAN} on a core with RV32IMC",
        ),
        Core(
            "rv32imafc",
            *_RISCV,
            ("-march=rv32imafc", "-mabi=ilp32f"),
            "start_riscv.c",
            1.13,
            f"{_MEAN} on a core with RV32IMC",
        ),
        Core(
            "xtensa-lx106",
            "xtensa-lx106-elf-",
            "gcc-xtensa-lx106",
            ("-mtext-section-literals",),
            "start_xtensa.S",
            1.2,
            _MEAN,
            ("start_xtensa.c", "memory.c", "divide.c", "soft_float.c"),
        ),
    )
}


def core_named(name: str) -> Core:
    """Return the core called ``name``. Raises ``ProfileError`` when there are no compiler flags for it."""
    if name not in _CORES:
        hint = "Build the project with `pio run`: PlatformIO installs the vendor's own toolchain."
        raise ProfileError(f"There are no compiler flags for the core '{name}'.", hint)
    return _CORES[name]


def optimise_flags(optimise: str) -> tuple[str, ...]:
    """Return the compiler's optimization flags for kernels and model. Raises ``UsageError`` for an unknown mode."""
    if optimise not in OPTIMISE_MODES:
        raise UsageError(
            f"'{optimise}' is not a goal of --optimise.", f"Choose one of {', '.join(OPTIMISE_MODES)}."
        )
    return ("-Os",) if optimise == "flash" else ("-O2",)


# Serial port, start-up and protocol do not affect the speed of an inference, so they are always built for size.
# The compiler must not turn loops of these files into calls of memcpy or memset: memory.c would call itself, and
# start-up would call them before memory is ready.
SUPPORT_OPTIMISE = ("-Os", "-fno-tree-loop-distribute-patterns")

COMMON_FLAGS = (
    "-std=c99",
    # There is no C library, but the compiler may still expand memcpy and similar functions in place.
    "-ffreestanding",
    "-fbuiltin",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-common",
    "-fno-merge-constants",  # the linker would merge strings of different files: see --no-relax below
    "-fno-strict-overflow",
    "-fno-asynchronous-unwind-tables",
    "-fstack-usage",
)

LINK_FLAGS = (
    "-nostdlib",
    "-nostartfiles",
    "-static",
    "-Wl,--gc-sections",
    "-Wl,--no-relax",  # fit predicts sizes to the byte, and cannot know what the linker would shorten
    "-Wl,--build-id=none",
    "-Wl,--no-warn-rwx-segments",
)
LINK_LIBRARIES = ("-lgcc",)


#: For each core that only its vendor's toolchain supports: the most similar core of ``_CORES``.
_NEAREST = {"xtensa-lx6": "xtensa-lx106", "xtensa-lx7": "xtensa-lx106"}


#: The instruction set of the kernels for each kind of WebAssembly module. Modules have no board and no GCC. Kernels of
#: ``simd128`` use relaxed SIMD if the compiler's options allow it.
WEBASSEMBLY_CORES = {"wasm32": "scalar", "wasm32-simd": "simd128", "wasm32-relaxed": "simd128"}
#: The bytes of the stack of a WebAssembly module. Most local variables are not on that stack.
WEBASSEMBLY_STACK_BYTES = 16384


def core_names() -> list[str]:
    """Return the names of all cores that a model can be generated for."""
    return sorted([*_CORES, *_NEAREST, *WEBASSEMBLY_CORES])


def tier_of(name: str) -> str:
    """Return the instruction set of the kernels for a core. Raises ``ProfileError`` for an unknown core."""
    return WEBASSEMBLY_CORES[name] if name in WEBASSEMBLY_CORES else nearest_core(name).tier


def nearest_core(name: str) -> Core:
    """Return the core ``name``, or the most similar core for a name in ``_NEAREST``.

    Raises ``ProfileError`` for an unknown core.
    """
    return core_named(_NEAREST.get(name, name))


def cpi_of(name: str) -> float:
    """Return the estimated cycles per instruction of any core that a profile may name."""
    return nearest_core(name).cpi
