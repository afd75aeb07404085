/* Computes neighboring outputs of a 3 x 3 depthwise convolution on Helium, for builds for small flash. */
#include "depthwise_compact_mve.h"

#if defined(__ARM_FEATURE_MVE)

#include "depthwise_compact_asm_mve.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the function uses, in bytes; object_files.py reads this symbol. The stack has d, nine other registers,
 * and q4 to q7. */
__asm__(".set ar_stack_ar_depthwise_3x3_compact_run_mve, 104");

/* Registers: r0 to r6, r8 and r10 are the addresses of the nine taps. depthwise_asm_s8_mve.h describes the others. */
__attribute__((naked)) void ar_depthwise_3x3_compact_run_mve(const ar_depthwise_compact_run *d)
{
    /* clang-format off */
    __asm__ volatile(
        "push {r0, r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "mov lr, r0\n"
        "ldrd r9, r11, [lr, #16]\n" /* taps, out */
        "ldm r9, {r0-r6, r8, r10}\n"
        "1:\n" /* an output pixel */
        "ldm lr, {r7, r9, r12, lr}\n" /* records, weights, channels, zero */
        "2:\n" /* sixteen channels */
        START_RECORD
        PAIR("r0", "r1")
        PAIR("r2", "r3")
        PAIR("r4", "r5")
        PAIR("r6", "r8")
        SINGLE("r10")
        FINISH
        "subs r12, #16\n"
        "bgt 2b\n"
        "ldr lr, [sp, #64]\n"
        "ldrd r9, r7, [lr, #28]\n" /* tap_step, out_step */
        "ldr r12, [lr, #24]\n" /* out_end */
        "add r11, r7\n"
        "cmp r11, r12\n"
        "beq 4f\n"
        "cmp r9, #0\n"
        "beq 1b\n"
        "add r0, r9\n"
        "add r1, r9\n"
        "add r2, r9\n"
        "add r3, r9\n"
        "add r4, r9\n"
        "add r5, r9\n"
        "add r6, r9\n"
        "add r8, r9\n"
        "add r10, r9\n"
        "b 1b\n"
        "4:\n"
        "vpop {d8-d15}\n"
        "pop {r0, r4-r11, pc}\n");
    /* clang-format on */
}

#else

#include "depthwise_compact_reference_mve.h"

void ar_depthwise_3x3_compact_run_mve(const ar_depthwise_compact_run *d)
{
    ar_depthwise_compact_reference(d);
}

#endif
