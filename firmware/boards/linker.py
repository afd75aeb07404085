"""Linker script of a board: its real regions, so that what does not fit does not link.

Sections and what the memory report reads from them:

* flash: ``.vectors`` + ``.text`` (with constants) is code, ``.weights`` the model's weights and biases;
* RAM, upwards from the origin: ``.stack`` (reserved), ``.noinit``, ``.data``, ``.bss``, ``.arena``.

The stack lies lowest: a stack that overflows leaves the RAM and faults, rather than changing tensors.  The arena is
not cleared at start; every tensor in it is written before it is read.
"""

from __future__ import annotations

from arenite.profiles.boards import Board

_SCRIPT = """\
/* Generated for {name}: {title}. */
MEMORY
{{
{regions}
}}
ENTRY({entry})
SECTIONS
{{
    .vectors : {{ KEEP(*(.vectors .vectors.*)) }} > {flash}
    .text : ALIGN(4)
    {{
{literals}        *(.text .text.*)
        *(EXCLUDE_FILE(*weights.o) .rodata EXCLUDE_FILE(*weights.o) .rodata.*)
        . = ALIGN(4);
    }} > {flash}
    .weights : ALIGN(16) {{ *(.rodata .rodata.*) . = ALIGN(4); }} > {flash}
    ar_data_load = LOADADDR(.data);

    .stack (NOLOAD) : ALIGN(8)
    {{
        ar_stack_low = .;
        . += {stack};
        . = ALIGN(8);
        ar_stack_top = .;
    }} > {ram}
    .noinit (NOLOAD) : ALIGN(4) {{ *(.noinit .noinit.*) }} > {ram}
    .data : ALIGN(4)
    {{
        ar_data_start = .;
        *(.data .data.* .sdata .sdata.*)
        . = ALIGN(4);
        ar_data_end = .;
    }} > {ram} AT > {flash}
    .bss (NOLOAD) : ALIGN(4)
    {{
        ar_bss_start = .;
        *(EXCLUDE_FILE(*nothing.o) .bss .sbss .sbss.*)
        *(.bss.[!a]* .bss.a[!r]* .bss.ar[!_]* .bss.ar_[!a]* COMMON)
        . = ALIGN(4);
        ar_bss_end = .;
    }} > {ram}
    .arena (NOLOAD) : ALIGN(16) {{ *(.bss.ar_arena .bss.ar_arena.*) }} > {ram}

    /DISCARD/ : {{ *(.comment) *(.note .note.*) *(.ARM.exidx .ARM.exidx.* .ARM.extab .ARM.extab.*) *(.eh_frame) *(.xtensa.info) *(.xt.*) }}
}}
"""


def linker_script(board: Board, stack_bytes: int) -> str:
    """The script for ``board`` with ``stack_bytes`` reserved for the stack."""
    return _SCRIPT
