/* Computes neighboring outputs of a depthwise convolution on Helium with any window, for builds for small flash. */
#include "depthwise_compact_mve.h"

#if defined(__ARM_FEATURE_MVE)

#include "depthwise_compact_asm_mve.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the function uses, in bytes; object_files.py reads this symbol. The stack has ten registers, and q4 to
 * q7. */
__asm__(".set ar_stack_ar_depthwise_compact_run_mve, 104");

/* Registers: r0 is d, r1 the number of pairs of taps left, r2 the offset that is added to the taps, r3 the position in
 * the list, r4 the number of taps; r5 and r6 are two taps. depthwise_asm_s8_mve.h describes the others. */
__attribute__((naked)) void ar_depthwise_compact_run_mve(const ar_depthwise_compact_run *d)
{
    /* clang-format off */
    __asm__ volatile(
        "push {r4-r12, lr}\n"
        "vpush {d8-d15}\n"
        "movs r2, #0\n"
        "ldr r4, [r0, #36]\n"
        "ldr r11, [r0, #20]\n"
        "1:\n" /* an output */
        "ldm r0, {r7, r9, r12, lr}\n" /* records, weights, channels, zero */
        "2:\n" /* sixteen channels */
        START_RECORD
        "ldr r3, [r0, #16]\n"
        "lsrs r1, r4, #1\n"
        "beq 5f\n"
        "4:\n"
        "ldrd r5, r6, [r3], #8\n"
        "add r5, r2\n"
        "add r6, r2\n"
        PAIR("r5", "r6")
        "subs r1, #1\n"
        "bne 4b\n"
        "5:\n"
        "lsls r5, r4, #31\n"
        "beq 6f\n"
        "ldr r5, [r3]\n"
        "add r5, r2\n"
        SINGLE("r5")
        "6:\n"
        FINISH
        "adds r2, #16\n"
        "subs r12, #16\n"
        "bgt 2b\n"
        "ldrd r5, r6, [r0, #28]\n" /* tap_step, out_step */
        "add r2, r5\n"
        "add r11, r6\n"
        "ldr r5, [r0, #24]\n" /* out_end */
        "cmp r11, r5\n"
        "bne 1b\n"
        "vpop {d8-d15}\n"
        "pop {r4-r12, pc}\n");
    /* clang-format on */
}

#else

#include "depthwise_compact_reference_mve.h"

void ar_depthwise_compact_run_mve(const ar_depthwise_compact_run *d) { ar_depthwise_compact_reference(d); }

#endif
