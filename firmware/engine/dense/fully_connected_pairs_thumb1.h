/* The function ar_short_sum_of_pairs of fully_connected_s8_pairs_scalar.c for Arm cores with few 32-bit instructions
 * (Armv6-M and Armv8-M Baseline): 11 instructions for 8 products. The loop is written by hand, because GCC moves the
 * short sums to the stack and back. */
#ifndef ARENITE_FULLY_CONNECTED_PAIRS_THUMB1_H
#define ARENITE_FULLY_CONNECTED_PAIRS_THUMB1_H

#include <stdint.h>

/* Adds the products of one input to the four short sums. The words of weights have fixed registers, because an LDM loads
 * registers in ascending order. A load of a signed byte needs a register as its offset. */
#define INPUT                               \
    "ldrsb %[input], [%[x], %[offset]]\n\t" \
    "adds %[x], #1\n\t"                     \
    "ldmia %[w]!, {r0, r1, r2, r3}\n\t"     \
    "muls r0, %[input]\n\t"                 \
    "add %[t0], r0\n\t"                     \
    "muls r1, %[input]\n\t"                 \
    "add %[t1], r1\n\t"                     \
    "muls r2, %[input]\n\t"                 \
    "add %[t2], r2\n\t"                     \
    "muls r3, %[input]\n\t"                 \
    "add %[t3], r3\n\t"

/* Adds the upper half of the short sum t to `total`. */
#define ADD_HIGH(total, t)               \
    "mov %[offset], %[" t "]\n\t"        \
    "asrs %[offset], %[offset], #16\n\t" \
    "adds " total ", " total ", %[offset]\n\t"

/* Adds the short sums of the inputs from *x to `last`, with the weights *w, to the totals, and advances *x and *w. */
static inline __attribute__((always_inline)) void ar_short_sum_of_pairs(uint32_t *totals, const int8_t **x,
                                                                        const int8_t *last,
                                                                        const uint32_t **w)
{
    uint32_t t0, t1, t2, t3, input, offset;
    __asm__ volatile(".syntax unified\n\t"
                     "movs %[offset], #128\n\t"
                     "lsls %[offset], %[offset], #8\n\t"
                     "mov %[t0], %[offset]\n\t"
                     "mov %[t1], %[offset]\n\t"
                     "mov %[t2], %[offset]\n\t"
                     "mov %[t3], %[offset]\n\t"
                     "movs %[offset], #0\n\t"
                     "1:\n\t" INPUT INPUT INPUT INPUT "cmp %[x], %[last]\n\t"
                     "bne 1b"
                     : [t0] "=&h"(t0), [t1] "=&h"(t1), [t2] "=&h"(t2), [t3] "=&h"(t3), [x] "+l"(*x),
                       [w] "+l"(*w), [input] "=&l"(input), [offset] "=&l"(offset)
                     : [last] "h"(last)
                     : "r0", "r1", "r2", "r3", "cc", "memory");
    __asm__ volatile(".syntax unified\n\t"
                     "ldmia %[totals]!, {r0, r1, r2, r3}\n\t"
                     "add r0, %[t0]\n\t"
                     "add r1, %[t1]\n\t"
                     "add r2, %[t2]\n\t"
                     "add r3, %[t3]\n\t"
                     "subs %[totals], #16\n\t"
                     "stmia %[totals]!, {r0, r1, r2, r3}\n\t"
                     "ldmia %[totals]!, {r0, r1, r2, r3}\n\t" ADD_HIGH("r0", "t0") ADD_HIGH("r1", "t1")
                         ADD_HIGH("r2", "t2") ADD_HIGH("r3", "t3") "subs %[totals], #16\n\t"
                                                                   "stmia %[totals]!, {r0, r1, r2, r3}"
                     : [totals] "+l"(totals), [offset] "=&l"(offset)
                     : [t0] "h"(t0), [t1] "h"(t1), [t2] "h"(t2), [t3] "h"(t3)
                     : "r0", "r1", "r2", "r3", "cc", "memory");
}

#endif
