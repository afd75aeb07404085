/* Multiplies the inputs of 2 pixels, widened to int16, with pairs of int8 filters: 6 instructions for 8 products. It
 * computes the last pixels of a row, after blocks of 3 pixels. The file dot_s8_dsp.h describes the memory layouts, and
 * why the result is exact. */
#include "dot_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair.
 *  r0-r2 and r7: inputs, two words of each pixel     r3-r4: two words of filters
 *  r5-r6: 256 * A + B of each pixel                  r8-r9: B of each pixel
 *  r11: address of the next widened inputs           r12: address of the next filter words
 *  lr: number of loop rounds left
 * The stack has the same order as in dot3_s8_dsp.c. The first seven values are fields of ar_dot_s8_dsp:
 *  sp +0: out, +4: requant, +8: rounding, +12: shift, +16: pixel, +20: x, +24: end
 *  +28: number of loop rounds for a pair             +32: address at which the first round enters the loop
 *  +36: address of the code for the one-sided or the two-sided requantization */

/* clang-format off */
/* Multiplies the filter word `w` with two inputs of each pixel, x0 and x1. */
#define SUMS(w, x0, x1) \
    "smlad r5, " w ", " x0 ", r5\n smlad r6, " w ", " x1 ", r6\n" \
    "sxtb16 " w ", " w "\n" \
    "smlad r8, " w ", " x0 ", r8\n smlad r9, " w ", " x1 ", r9\n"
/* Multiplies four inputs of each pixel. It has 12 instructions of 4 bytes, so the address at which the loop is entered
 * can be computed from the number of groups. */
#define GROUP "ldrd r3, r4, [r12], #8\n ldm r11!, {r0, r1, r2, r7}\n" SUMS("r3", "r0", "r1") SUMS("r4", "r2", "r7")

__attribute__((naked)) void ar_dot2_s8_dsp(const ar_dot_s8_dsp *d __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_dot2_s8_dsp, 76\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #40\n"
            "ldm r0, {r1-r10}\n"
            "mov r12, r10\n"
            "mov r11, r6\n"
            /* One round of the loop computes four groups. If fewer groups remain for the first round, the code enters
             * the loop after its surplus first groups. */
            "add r0, r8, #3\n"
            "lsr r0, r0, #2\n"
            "rsb r8, r8, r0, lsl #2\n"
            "add r8, r8, r8, lsl #1\n"
            "adr lr, 2f\n"
            "add lr, lr, r8, lsl #4\n"
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
            "ldm sp, {r0, r1, r2, r3, r7}\n"
            "ldr pc, [sp, #36]\n"
            /* Two-sided: r11 is the multiplier and lr the offset, first of the first channel, then of the second. */
            "5:\n"
            "ldrd r11, lr, [r1], #8\n"
            "sub r5, r5, r8\n eor r4, lr, r5, asr #31\n add r5, r5, r4\n smmla r5, r5, r11, r2\n"
            "sub r6, r6, r9\n eor r4, lr, r6, asr #31\n add r6, r6, r4\n smmla r6, r6, r11, r2\n"
            "ldrd r11, lr, [r1], #8\n"
            "eor r4, lr, r8, asr #31\n add r8, r4, r8, lsl #8\n smmla r8, r8, r11, r2\n"
            "eor r4, lr, r9, asr #31\n add r9, r4, r9, lsl #8\n smmla r9, r9, r11, r2\n"
            "b 6f\n"
            /* One-sided, also with the fixed shift: r4 and r11 are the multipliers of the two channels. */
            "4:\n"
            "ldrd r4, r11, [r1], #8\n"
            "sub r5, r5, r8\n smmla r5, r5, r4, r2\n"
            "sub r6, r6, r9\n smmla r6, r6, r4, r2\n"
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
            "add sp, #40\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

void ar_dot2_s8_dsp(const ar_dot_s8_dsp *d) { ar_dot_s8_plain(d, 2); }

#endif
