/* Code that requantizes one output, for the hand-written kernels of Arm cores with few 32-bit instructions (Armv6-M and
 * Armv8-M Baseline); see affine_requant.h. */
#ifndef ARENITE_AFFINE_OUTPUT_THUMB1_H
#define ARENITE_AFFINE_OUTPUT_THUMB1_H

/* Writes the output for the sum in r2 to the address r1. r12 is the bias, r6 and r7 are the lower and the upper half of
 * the multiplier, r8 is the rounding constant, and r0 the shift. Changes r2 to r5. `correct` is AR_TWO_SIDED_THUMB1 for
 * a two-sided layer, otherwise "". The product is computed as in ar_mul_high, the limits as in ar_saturate_s8. */
#define AR_OUTPUT_THUMB1(correct)               \
    "lsls r2, r2, #8\n\t"                       \
    "add r2, r12\n\t" correct "uxth r3, r2\n\t" \
    "asrs r2, r2, #16\n\t"                      \
    "mov r4, r3\n\t"                            \
    "muls r4, r6\n\t"                           \
    "lsrs r4, r4, #16\n\t"                      \
    "mov r5, r2\n\t"                            \
    "muls r5, r6\n\t"                           \
    "adds r5, r5, r4\n\t"                       \
    "muls r3, r7\n\t"                           \
    "muls r2, r7\n\t"                           \
    "uxth r4, r5\n\t"                           \
    "adds r3, r3, r4\n\t"                       \
    "lsrs r3, r3, #16\n\t"                      \
    "asrs r5, r5, #16\n\t"                      \
    "adds r2, r2, r5\n\t"                       \
    "adds r2, r2, r3\n\t"                       \
    "add r2, r8\n\t"                            \
    "asrs r2, r0\n\t"                           \
    "sxtb r3, r2\n\t"                           \
    "cmp r2, r3\n\t"                            \
    "beq 8f\n\t"                                \
    "asrs r2, r2, #31\n\t"                      \
    "movs r3, #127\n\t"                         \
    "eors r2, r3\n"                             \
    "8:\n\t"                                    \
    "strb r2, [r1]\n\t"

/* Corrects x in r2 of a two-sided layer, see ar_affine_x. */
#define AR_TWO_SIDED_THUMB1 \
    "cmp r2, #0\n\t"        \
    "bge 7f\n\t"            \
    "uxtb r3, r2\n\t"       \
    "lsls r3, r3, #1\n\t"   \
    "subs r2, r2, r3\n\t"   \
    "subs r2, #3\n"         \
    "7:\n\t"                \
    "adds r2, #1\n\t"

/* Adds to the address r1 the distance to the next output, which is `at` bytes after the address lr. Changes r3. */
#define AR_NEXT_OUTPUT_THUMB1(at) \
    "mov r3, lr\n\t"              \
    "ldr r3, [r3, #" #at "]\n\t"  \
    "adds r1, r1, r3\n\t"

#endif
