"""Generate a layer that runs a known number of instructions."""

from __future__ import annotations

from arenite.profiles.boards import Board

# The loop has two instructions per iteration on every core. It runs UNIT iterations times the value of the first input
# byte.
UNIT = 400_009

# For Thumb-1, GCC expects the older syntax, in which "sub" sets the flags.
THUMB_1 = ("1: sub %0, #1\\n bne 1b", '"+l"', '"cc"')

THUMB_2 = ("1: subs %0, #1\\n bne 1b", '"+l"', '"cc"')

OTHERS = ("1: addi %0, %0, -1\\n bnez %0, 1b", '"+r"', "")


def counting_layer(board: Board) -> str:
    """Return the C code of the loop for ``board``."""
    loop, operand, clobbers = OTHERS
    if board.core.startswith("cortex"):
        loop, operand, clobbers = THUMB_1 if board.core == "cortex-m0" else THUMB_2
    return (
        f"uint32_t turns = {UNIT}u * AT(0)[0];\n"
        f'    __asm__ volatile("{loop}" : {operand}(turns) : : {clobbers});'
    ).replace(" : : );", ");")
