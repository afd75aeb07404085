"""Write the linker script of a board with its real memory regions, so that a firmware that is too large does not link.

The memory report is computed from these sections:

* flash: ``.weights`` is the model's weights and biases; ``.vectors``, ``.text`` (with its constants) and the contents
  of ``.data`` (the first values of variables, and kernels that run from RAM) are code;
* RAM, upwards from the origin: ``.stack`` (reserved), ``.arena``, ``.noinit``, ``.data``, ``.bss``;
* a second RAM, if the arena is split over two: only ``.arena_slow``.

A firmware that takes updates is linked for slots instead: ``.model`` has every constant of the files that are generated
from the model, and is in the model's slot. The rest is in the slot of the firmware. ``.model`` begins with what code
refers to by its address, in the order of the layers, so that these addresses do not change with the sizes of weights.

Every input section is aligned to four bytes, no more, so that the order of sections cannot change the total and
sizes can be predicted without linking (firmware/sizes). An output section with an address before its colon begins
at that address. Without one the linker would align it like the strictest of its input sections and leave a gap.

The stack has the lowest addresses of the RAM. If no memory is below the RAM, a stack overflow causes a fault and does
not change tensors.
The arena is not cleared at start: every tensor in it is written before it is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from arenite.profiles.board import Board, MemoryRegion

_SCRIPT = """\
/* Generated for {name} ({title}). */
MEMORY
{{
{regions}
}}
ENTRY(ar_start)
SECTIONS
{{
{constants}
    .text ALIGN(4) : SUBALIGN(4)
    {{
        {text}
        *(.rodata .rodata.* .srodata .srodata.*)
        . = ALIGN(4);
    }} > {flash}
{slow}
    .stack (NOLOAD) : ALIGN(16)
    {{
        ar_stack_low = .;
        . += {stack};
        . = ALIGN(16);
        ar_stack_top = .;
    }} > {ram}
    .arena (NOLOAD) : {{ *(.bss.model_memory .bss.ar_arena .bss.ar_arena.*) }} > {ram}
    .noinit ALIGN(4) (NOLOAD) : SUBALIGN(4) {{ *(.noinit .noinit.*) . = ALIGN(4); }} > {ram}
    .data ALIGN(4) : SUBALIGN(4)
    {{
        ar_data_start = .;
{kernels}        *(.data .data.* .sdata .sdata.*)
        . = ALIGN(4);
        ar_data_end = .;
    }} > {ram} AT > {flash}
    ar_data_load = LOADADDR(.data);
    .bss ALIGN(4) (NOLOAD) : SUBALIGN(4)
    {{
        ar_bss_start = .;
        *(.bss .bss.* .sbss .sbss.* COMMON)
        . = ALIGN(4);
        ar_bss_end = .;
    }} > {ram}

    /DISCARD/ :
    {{
        *(.comment) *(.note .note.*) *(.eh_frame) *(.xtensa.info)
        *(.ARM.exidx .ARM.exidx.* .ARM.extab .ARM.extab.*)
    }}
}}
"""


_WEIGHTS = """\
    .vectors : {{ KEEP(*(.vectors)) }} > {flash}
    .weights ALIGN(4) : SUBALIGN(4) {{ *(.rodata.ar_weights .rodata.ar_weights.*) . = ALIGN(4); }} > {flash}"""

#: The section is before .vectors, because .text begins at the location counter.
_MODEL = """\
    .model : SUBALIGN(4)
    {{
{constants}
        . = ALIGN(4);
    }} > {model}
    .vectors : {{ KEEP(*(.vectors)) }} > {flash}"""

_TEXT = "*(.literal .text .literal.* .text.*)"
#: The object file of a kernel, for any separator of folders.
_KERNEL = "*lib?arenite?{name}.o"

#: The part of the arena in a second RAM. This section is placed before .stack, because after it the location counter
#: is in the second RAM, and .stack begins at the start of its own region. It is also placed before .bss, whose pattern
#: would match its input sections too.
_SLOW = """
    .arena_slow (NOLOAD) : {{ *(.bss.ar_slow .bss.ar_slow.*) }} > {ram}
"""


def linker_script(
    board: Board, stack_bytes: int, second: MemoryRegion | None = None, kernels_in_ram: Sequence[str] = ()
) -> str:
    """Return the script for ``board`` with ``stack_bytes`` reserved for the stack.

    ``second`` is the second RAM, which holds a part of the arena; None if the arena is in one RAM. ``kernels_in_ram``
    are the names of C files in lib/arenite: start-up code copies their functions to RAM with the first values of
    variables.
    """
    return _script(board, stack_bytes, board.flash[0], None, second, kernels_in_ram=kernels_in_ram)


def slot_linker_script(
    board: Board,
    stack_bytes: int,
    firmware: MemoryRegion,
    model: MemoryRegion,
    constants: Sequence[str],
) -> str:
    """Return the script of a firmware for ``board`` that takes updates, with ``stack_bytes`` reserved for the stack.

    ``firmware`` and ``model`` are the parts of the slots that hold the payloads of the images. ``constants`` are the
    lines of ``.model``: every constant of the object files that are generated from the model, and first those whose
    addresses are in the code.
    """
    return _script(board, stack_bytes, firmware, model, None, constants)


def _script(
    board: Board,
    stack_bytes: int,
    flash: MemoryRegion,
    model: MemoryRegion | None,
    second: MemoryRegion | None,
    model_lines: Sequence[str] = (),
    kernels_in_ram: Sequence[str] = (),
) -> str:
    regions = [(flash, "rx"), *([(model, "r")] if model is not None else [])]
    regions += [(region, "rwx") for region in board.ram[:1]]
    regions += [(second, "rwx")] if second is not None else []
    constants = _WEIGHTS if model is None else _MODEL
    in_ram = [_KERNEL.format(name=name) for name in sorted(kernels_in_ram)]
    return _SCRIPT.format(
        name=board.name,
        title=board.title,
        regions="\n".join(
            f"    {_quoted(region)} ({mode}) : ORIGIN = {region.origin:#010x}, LENGTH = {region.size}"
            for region, mode in regions
        ),
        flash=_quoted(flash),
        constants=constants.format(
            flash=_quoted(flash),
            model="" if model is None else _quoted(model),
            constants="\n".join(f"        {line}" for line in model_lines),
        ),
        ram=_quoted(board.ram[0]),
        text=f"EXCLUDE_FILE({' '.join(in_ram)}) {_TEXT}" if in_ram else _TEXT,
        kernels="".join(f"        {file}(.text .text.*)\n" for file in in_ram),
        stack=stack_bytes,
        slow=_SLOW.format(ram=_quoted(second)) if second is not None else "",
    )


def _quoted(region: MemoryRegion) -> str:
    """Return the region's name for the linker script, in quotes if it is more than one word."""
    return region.name if region.name.replace("_", "").isalnum() else f'"{region.name}"'
