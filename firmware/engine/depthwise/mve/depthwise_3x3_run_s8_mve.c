/* Computes neighboring outputs of a 3 x 3 depthwise convolution on Helium. depthwise_s8_mve.h describes the layouts. */
#include "depthwise_3x3_run_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#include "depthwise_asm_s8_mve.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the function uses, in bytes; object_files.py reads this symbol. The stack has d, nine other registers,
 * and q4 to q7. */
__asm__(".set ar_stack_ar_depthwise_3x3_run_s8_mve, 104");

/* Registers: r0 to r6, r8 and r10 are the addresses of the nine taps, r7 of the scales, r9 of the weights, r11 of
 * the output. r12 is the number of channels left, lr is d->zero (the output's zero point and two_sided).
 * depthwise_asm_s8_mve.h has the macros and describes the vector registers. */
__attribute__((naked)) void ar_depthwise_3x3_run_s8_mve(const ar_depthwise_3x3_run *d)
{
    /* clang-format off */
    __asm__ volatile(
        "push {r0, r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "mov lr, r0\n"
        "ldr r11, [lr, #44]\n" /* out */
        "ldm lr, {r0-r6, r8, r10}\n"
        "1:\n" /* an output pixel */
        "ldr r9, [lr, #36]\n"  /* weights */
        "ldr r7, [lr, #40]\n"  /* scales */
        "ldr r12, [lr, #52]\n" /* channels */
        "ldr lr, [lr, #64]\n"  /* zero */
        "2:\n" /* sixteen channels */
        START
        PAIR("r0", "r1")
        PAIR("r2", "r3")
        PAIR("r4", "r5")
        PAIR("r6", "r8")
        SINGLE("r10")
        FINISH
        "subs r12, #16\n"
        "bgt 2b\n"
        "ldr lr, [sp, #64]\n"
        "ldrd r9, r7, [lr, #56]\n" /* tap_step, out_step */
        "ldr r12, [lr, #48]\n" /* out_end */
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

#include "depthwise_block_s8_mve.h"

void ar_depthwise_3x3_run_s8_mve(const ar_depthwise_3x3_run *d)
{
    const int32_t padded_channels = (d->channels + 15) / 16 * 16;
    int32_t offset = 0; /* from the taps of the first output to those of this one */
    for (int8_t *out = d->out; out != d->out_end; out += padded_channels + d->out_step) {
        for (int32_t c = 0; c < d->channels; c++) {
            out[c] = ar_depthwise_output(d->taps, 9, offset, c, d->weights, d->scales, (int16_t)d->zero);
        }
        offset += padded_channels + d->tap_step;
    }
}

#endif
