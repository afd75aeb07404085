/* Multiplies the inputs of 2 pixels, widened to int16, with pairs of int4 filters: 7 instructions for 8 products. It
 * computes the last pixels of a row, after blocks of 3 pixels. The file dot_w4_dsp.h describes the memory layouts, and
 * why the result is exact. */
#include "dot_w4_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair, X is the sum of a pixel's inputs.
 *  r0-r2 and r7: inputs, two words of each pixel     r3-r4: filter words, packed or widened
 *  r5-r6: 16 * A + B + 8 * X of each pixel           r8-r9: B + 8 * X of each pixel
 *  r11: address of the next widened inputs           r12: address of the next filter word
 *  lr: number of loop rounds left
 * The stack has the same order as in dot3_s8_dsp.c. The first seven values are fields of ar_dot_w4_dsp:
 *  sp +0: out, +4: requant, +8: rounding, +12: shift, +16: pixel, +20: x, +24: end
 *  +28: number of loop rounds for a pair             +32: address at which the first round enters the loop
 *  +36: address of the code for the one-sided or the two-sided requantization
 *  +40: 8 * X of each pixel */

/* clang-format off */
/* Widens two bytes of weights to `w`, and multiplies them with two inputs of each pixel, x0 and x1. */
#define SUMS(w, bytes, x0, x1) \
    "sxtb16 " w ", " bytes "\n" \
    "smlad r5, " w ", " x0 ", r5\n smlad r6, " w ", " x1 ", r6\n" \
    "and " w ", " w ", #0x000f000f\n" \
    "smlad r8, " w ", " x0 ", r8\n smlad r9, " w ", " x1 ", r9\n"
/* Multiplies four inputs of each pixel. It has 14 instructions of 4 bytes, so the address at which the loop is entered
 * can be computed from the number of groups. */
#define GROUP \
    "ldr r3, [r12], #4\n ldm r11!, {r0, r1, r2, r7}\n" SUMS("r4", "r3", "r0", "r1") SUMS("r3", "r3, ror #8", "r2", "r7")

__attribute__((naked)) void ar_dot2_w4_dsp(const ar_dot_w4_dsp *d __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_dot2_w4_dsp, 84\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #48\n"
            "ldm r0, {r1-r10}\n"
            "ldrd r11, r12, [r0, #40]\n"
            "strd r11, r12, [sp, #40]\n"
            "mov r12, r10\n"
            "mov r11, r6\n"
            /* One round of the loop computes four groups. If fewer groups remain for the first round, the code enters
             * the loop after its surplus first groups. */
            "add r0, r8, #3\n"
            "lsr r0, r0, #2\n"
            "rsb r8, r8, r0, lsl #2\n"
            "mov r10, #56\n"
            "mul r8, r8, r10\n"
            "adr lr, 2f\n"
            "add lr, lr, r8\n"
            "mov r8, r0\n"
            "adr r10, 4f\n"
            "cmp r9, #2\n"
            "it eq\n adreq r10, 5f\n"
            "add r9, lr, #1\n"
            "add r10, r10, #1\n"
            "stm sp, {r1-r10}\n"
            /* The loop over the filter pairs. */
            "1:\n"
            "ldrd r5, r8, [r12], #8\n"
            "ldr lr, [sp, #28]\n"
            "mov r6, r5\n"
            "mov r9, r8\n"
            "ldr pc, [sp, #32]\n"
            "2:\n"
            GROUP GROUP GROUP GROUP
            "subs lr, lr, #1\n"
            "bne 2b\n"
            "ldrd r0, r1, [sp, #40]\n"
            "sub r5, r5, r8\n sub r6, r6, r9\n"
            "sub r8, r8, r0\n sub r9, r9, r1\n"
            "ldm sp, {r0, r1, r2, r3, r7}\n"
            "ldr pc, [sp, #36]\n"
            /* Two-sided: r11 is the multiplier and lr the offset, first of the first channel, then of the second. */
            "5:\n"
            "ldrd r11, lr, [r1], #8\n"
            "lsl r5, r5, #4\n eor r4, lr, r5, asr #31\n add r5, r5, r4\n smmla r5, r5, r11, r2\n"
            "lsl r6, r6, #4\n eor r4, lr, r6, asr #31\n add r6, r6, r4\n smmla r6, r6, r11, r2\n"
            "ldrd r11, lr, [r1], #8\n"
            "eor r4, lr, r8, asr #31\n add r8, r4, r8, lsl #8\n smmla r8, r8, r11, r2\n"
            "eor r4, lr, r9, asr #31\n add r9, r4, r9, lsl #8\n smmla r9, r9, r11, r2\n"
            "b 6f\n"
            /* One-sided, also with the fixed shift: r4 is the offset of the first channel, r10 and r11 are the
             * multipliers of the two channels. */
            "4:\n"
            "ldm r1!, {r4, r10, r11}\n"
            "add r5, r4, r5, lsl #4\n smmla r5, r5, r10, r2\n"
            "add r6, r4, r6, lsl #4\n smmla r6, r6, r10, r2\n"
            "ror r8, r8, #24\n smmla r8, r8, r11, r2\n"
            "ror r9, r9, #24\n smmla r9, r9, r11, r2\n"
            "6:\n"
            "asr r5, r5, r3\n ssat r5, #8, r5\n asr r6, r6, r3\n ssat r6, #8, r6\n"
            "asr r8, r8, r3\n ssat r8, #8, r8\n asr r9, r9, r3\n ssat r9, #8, r9\n"
            "strb r6, [r0, r7]\n strb r5, [r0], #1\n"
            "strb r9, [r0, r7]\n strb r8, [r0], #1\n"
            "strd r0, r1, [sp]\n"
            "ldrd r11, lr, [sp, #20]\n"
            "cmp r12, lr\n"
            "bne 1b\n"
            "add sp, #48\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_w4_plain.h"

void ar_dot2_w4_dsp(const ar_dot_w4_dsp *d) { ar_dot_w4_plain(d, 2); }

#endif
