"""Build a classifier for a Cortex-M4F, run it on all samples in QEMU, and count its bytes and instructions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_HERE = Path(__file__).parent
_CPU = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
#: Ticks of SysTick per instruction: 64 ns in QEMU at 25 MHz.
_TICKS = 1.6


@dataclass(frozen=True)
class Measurement:
    """The figures of one classifier. ``flash`` has its code, tables, initial values and the library functions that it
    calls; ``ram`` its variables without the stack; ``instructions`` is the mean per sample."""

    flash: int
    ram: int
    instructions: float
    answers: np.ndarray


def measure(
    folder: Path,
    sources: Sequence[Path],
    includes: Sequence[Path],
    samples: np.ndarray,
    level: str,
    newlib: Path,
) -> Measurement:
    """Return the figures of the function ``classify`` in ``sources``, compiled with the optimization ``level``.

    ``newlib`` is the folder into which Debian's packages libnewlib-dev and libnewlib-arm-none-eabi were installed.
    ``samples`` has one row per sample, int16 or float32. Object files go to ``folder``. Raises
    ``CalledProcessError`` if a program cannot be built.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples.h").write_text(_samples(samples))
    headers = newlib / "usr/include/newlib"
    libraries = newlib / "usr/lib/arm-none-eabi/newlib/thumb/v7e-m+fp/hard"
    flags = (
        *_CPU,
        level,
        f"-isystem{headers}",
        "-ffunction-sections",
        "-fdata-sections",
        "-std=c99",
        "-DNDEBUG",
        f"-I{folder}",
    )
    objects = []
    for source in (_HERE / "harness.c", *sources):
        target = folder / f"{source.stem}.o"
        subprocess.run(
            [
                "arm-none-eabi-gcc",
                *flags,
                *(f"-I{i}" for i in includes),
                "-c",
                str(source),
                "-o",
                str(target),
            ],
            check=True,
        )
        objects.append(str(target))
    elf = folder / "program.elf"
    subprocess.run(
        ["arm-none-eabi-gcc", *_CPU, "-nostdlib", "-Wl,--gc-sections", f"-T{_HERE / 'harness.ld'}", *objects,
         f"-L{libraries}", "-lm", "-lc_nano", "-lgcc", "-lnosys", "-o", str(elf)],
        check=True,
    )  # fmt: skip
    flash, ram = _sizes(elf)
    run = subprocess.run(
        ["qemu-system-arm", "-machine", "mps2-an386", "-icount", "shift=6", "-display", "none", "-monitor", "none",
         "-serial", "null", "-semihosting-config", "enable=on,target=native", "-kernel", str(elf)],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )  # fmt: skip
    rows = np.array([line.split() for line in (run.stdout + run.stderr).splitlines()], np.float64)
    return Measurement(flash, ram, float(rows[:, 1].mean() / _TICKS), rows[:, 0].astype(np.int64))


def _samples(samples: np.ndarray) -> str:
    c_type = "float" if samples.dtype == np.float32 else "int16_t"
    suffix = "f" if c_type == "float" else ""
    rows = ",\n".join("{" + ", ".join(f"{v!r}{suffix}" for v in row) + "}" for row in samples.tolist())
    return (
        f"#include <stdint.h>\ntypedef {c_type} sample_type;\n"
        f"#define SAMPLES {len(samples)}\n#define FEATURES {samples.shape[1]}\n"
        "#ifdef HARNESS\n"
        f'__attribute__((section(".samples"))) static const sample_type samples[SAMPLES][FEATURES] = {{\n{rows}}};\n'
        "#endif\n"
    )


def _sizes(elf: Path) -> tuple[int, int]:
    """Return the bytes of flash and RAM of the classifier."""
    listing = subprocess.run(
        ["arm-none-eabi-size", "-A", str(elf)], check=True, capture_output=True, text=True
    )
    sizes = {
        row[0]: int(row[1])
        for row in map(str.split, listing.stdout.splitlines())
        if len(row) == 3 and row[1].isdigit()
    }
    flash = sum(sizes.get(name, 0) for name in (".flash", ".ARM.exidx", ".data"))
    return flash, sizes.get(".data", 0) + sizes.get(".bss", 0)
