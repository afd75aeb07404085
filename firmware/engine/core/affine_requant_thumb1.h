/* The loop of ar_affine_channels_s8 for Arm cores with few 32-bit instructions (Armv6-M and Armv8-M Baseline): 33
 * instructions for an output. It is written by hand, because GCC moves pointers and products between low and high
 * registers, and takes 51. */
#ifndef ARENITE_AFFINE_REQUANT_THUMB1_H
#define ARENITE_AFFINE_REQUANT_THUMB1_H

#include <stdint.h>

/* Computes outputs until `out` reaches `end`. `two_sided` is the code that corrects x in r0, whose sign is in the flags;
 * see ar_affine_x. The product is computed as in ar_mul_high. */
#define AFFINE_LOOP(two_sided)                                                                             \
    __asm__ volatile(".syntax unified\n"                                                                   \
                     "1:\n\t"                                                                              \
                     "ldmia %[sum]!, {r0}\n\t"                                                             \
                     "ldmia %[bias]!, {r1}\n\t"                                                            \
                     "lsls r0, r0, #8\n\t"                                                                 \
                     "adds r0, r0, r1\n\t" /* x */                                                         \
                     two_sided "ldmia %[multiplier]!, {r2}\n\t"                                            \
                     "uxth r1, r0\n\t"      /* a_low */                                                    \
                     "asrs r0, r0, #16\n\t" /* a_high */                                                   \
                     "lsrs r3, r2, #16\n\t" /* b_high */                                                   \
                     "uxth r2, r2\n\t"      /* b_low */                                                    \
                     "mov %[low], r1\n\t"                                                                  \
                     "muls r1, r2\n\t"                                                                     \
                     "lsrs r1, r1, #16\n\t"                                                                \
                     "muls r2, r0\n\t"                                                                     \
                     "adds r2, r2, r1\n\t" /* middle */                                                    \
                     "mov r1, %[low]\n\t"                                                                  \
                     "muls r1, r3\n\t"                                                                     \
                     "muls r0, r3\n\t"                                                                     \
                     "uxth r3, r2\n\t"                                                                     \
                     "adds r1, r1, r3\n\t" /* second_middle */                                             \
                     "lsrs r1, r1, #16\n\t"                                                                \
                     "asrs r2, r2, #16\n\t"                                                                \
                     "adds r0, r0, r2\n\t"                                                                 \
                     "adds r0, r0, r1\n\t"                                                                 \
                     "add r0, %[rounding]\n\t"                                                             \
                     "mov r1, %[shift]\n\t"                                                                \
                     "asrs r0, r1\n\t"                                                                     \
                     "sxtb r1, r0\n\t"                                                                     \
                     "cmp r0, r1\n\t"                                                                      \
                     "beq 2f\n\t"                                                                          \
                     "asrs r0, r0, #31\n\t" /* saturates as ar_saturate_s8 does */                         \
                     "movs r1, #127\n\t"                                                                   \
                     "eors r0, r1\n"                                                                       \
                     "2:\n\t"                                                                              \
                     "strb r0, [%[out]]\n\t"                                                               \
                     "adds %[out], #1\n\t"                                                                 \
                     "cmp %[out], %[end]\n\t"                                                              \
                     "bne 1b"                                                                              \
                     : [sum] "+l"(sum), [bias] "+l"(bias), [multiplier] "+l"(multiplier), [out] "+l"(out), \
                       [low] "=&h"(low)                                                                    \
                     : [end] "h"(end), [rounding] "h"(rounding), [shift] "h"(shift)                        \
                     : "r0", "r1", "r2", "r3", "cc", "memory")

/* Does what ar_affine_channels_s8 does; `rounding` is the rounding constant, and `end` follows the last output. */
static inline __attribute__((always_inline)) void ar_affine_loop(int two_sided, const int32_t *sum,
                                                                 const int32_t *bias,
                                                                 const int32_t *multiplier, int32_t rounding,
                                                                 int shift, int8_t *out, const int8_t *end)
{
    uint32_t low;
    if (out == end) {
        return;
    }
    if (two_sided) {
        AFFINE_LOOP("bpl 3f\n\t"
                    "uxtb r1, r0\n\t" /* x - 2 * (x & 255) - 3, and 1 more */
                    "lsls r1, r1, #1\n\t"
                    "subs r0, r0, r1\n\t"
                    "subs r0, #3\n"
                    "3:\n\t"
                    "adds r0, #1\n\t");
    } else {
        AFFINE_LOOP("");
    }
}

#endif
