"""Assembly code states the size of its stack frames in symbols, which are read from the compiled object."""

from __future__ import annotations

import subprocess
from pathlib import Path

from arenite.firmware.sizes.object_files import read_objects

_SOURCE = """\
__attribute__((naked)) void stated(void)
{
    __asm__(".set ar_stack_stated, 44\\n push {r4-r11, lr}\\n sub sp, #8\\n add sp, #8\\n pop {r4-r11, pc}");
}
int plain(int x) { volatile int y[4] = {x}; return y[0]; }
"""


def test_an_absolute_symbol_states_the_frame_of_a_function(tmp_path: Path) -> None:
    source, object_file = tmp_path / "a.c", tmp_path / "a.o"
    source.write_text(_SOURCE)
    flags = ["-mcpu=cortex-m4", "-mthumb", "-O2", "-ffunction-sections", "-fstack-usage"]
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", str(source), "-o", str(object_file)], check=True)
    objects = read_objects({"a": object_file})
    assert objects.sections["a:.text.stated"].stack == 44
    assert objects.sections["a:.text.plain"].stack >= 16
    assert "ar_stack_stated" not in objects.symbols
