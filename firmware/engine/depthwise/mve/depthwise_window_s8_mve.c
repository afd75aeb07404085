/* Computes neighboring outputs of a depthwise convolution on Helium, for any window. */
#include "depthwise_window_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#include "depthwise_asm_s8_mve.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the function uses, in bytes; object_files.py reads this symbol. The stack has two steps, ten
 * registers, and q4 to q7. */
__asm__(".set ar_stack_ar_depthwise_window_s8_mve, 112");

/* Registers: r0 is the list of taps (addresses of inputs), r1 the number of pairs of taps left, r2 the offset that
 * is added to the taps, r3 the position in the list, r4 the number of taps; r5 and r6 are two taps, r8 is the
 * number of outputs left, r10 is p. depthwise_asm_s8_mve.h describes the other registers. */
__attribute__((naked)) void ar_depthwise_window_s8_mve(const ar_depthwise_mve_params *p, int8_t *out,
                                                       uint32_t count)
{
    /* clang-format off */
    __asm__ volatile(
        "push {r4-r12, lr}\n"
        "vpush {d8-d15}\n"
        "sub sp, #8\n"
        "mov r10, r0\n"
        "mov r11, r1\n"
        "mov r8, r2\n"
        "ldrh r5, [r10, #30]\n" /* channels */
        "ldrb r6, [r10, #45]\n" /* stride_w */
        "add r2, r5, #15\n"
        "bic r2, r2, #15\n"
        "mul r6, r5, r6\n"
        "sub r6, r6, r2\n"
        "sub r5, r5, r2\n"
        "strd r6, r5, [sp]\n" /* added to r2 (taps) and r11 (output) after the last block of an output */
        "ldrh r4, [r10, #36]\n"
        "ldrh r2, [r10, #38]\n"
        "mul r4, r2\n"
        "ldrh lr, [r10, #48]\n"
        "ldrb r2, [r10, #53]\n"
        "orr lr, lr, r2, lsl #16\n"
        "ldr r0, [r10, #20]\n"
        "mov r2, #0\n"
        "7:\n" /* an output */
        "ldrd r9, r7, [r10, #8]\n"
        "ldrh r12, [r10, #30]\n"
        "1:\n" /* sixteen channels */
        START
        "mov r3, r0\n"
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
        "tst r4, #1\n"
        "beq 6f\n"
        "ldr r5, [r3]\n"
        "add r5, r2\n"
        SINGLE("r5")
        "6:\n"
        FINISH
        "add r2, #16\n"
        "subs r12, #16\n"
        "bgt 1b\n"
        "ldrd r5, r6, [sp]\n"
        "add r2, r5\n"
        "add r11, r6\n"
        "subs r8, #1\n"
        "bne 7b\n"
        "add sp, #8\n"
        "vpop {d8-d15}\n"
        "pop {r4-r12, pc}\n");
    /* clang-format on */
}

#else

#include "depthwise_block_s8_mve.h"

void ar_depthwise_window_s8_mve(const ar_depthwise_mve_params *p, int8_t *out, uint32_t count)
{
    const int32_t taps = p->k_h * p->k_w;
    for (int32_t at = 0; count > 0; count--, out += p->channels, at += p->stride_w * p->channels) {
        for (int32_t c = 0; c < p->channels; c++) {
            out[c] = ar_depthwise_output(p->taps, taps, at, c, p->weights, p->scales, p->output_zero);
        }
    }
}

#endif
