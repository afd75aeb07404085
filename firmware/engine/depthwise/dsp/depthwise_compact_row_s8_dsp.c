/* Computes a row of outputs of one channel of a depthwise convolution: 21 instructions for an output with nine or ten
 * taps, else 14 and 5 for every two taps. depthwise_conv_2d_s8_compact_dsp.h describes the layouts. */
#include "depthwise_conv_2d_s8_compact_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* r0 is the address of a window, r1 the address of the output, r2 the number of outputs left, r3 the step; r9 is two
 * inputs, r10 the sum, r11 twice the bias, r12 the multiplier, lr the rounding. The stack has the right shift and the
 * number of channels. With five pairs of taps, r4 to r8 are the weights; otherwise r4 and r5 are the
 * addresses where the weights begin and end, and r6 to r8 are used in the loop over them.
 * FINISH rescales and stores the output (see compact_scale.h). */
/* clang-format off */
#define FINISH \
    "add r9, lr, r10, asr #31\n smmlar r10, r10, r12, r9\n" \
    "ldr r9, [sp]\n asr r10, r9\n" \
    "ldr r9, [sp, #4]\n ssat r10, #8, r10\n" \
    "strb r10, [r1]\n add r1, r9\n" \
    "subs r2, #1\n"

__attribute__((naked)) void
ar_depthwise_compact_row_s8_dsp(const ar_depthwise_compact_row *row __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_compact_row_s8_dsp, 44\n" /* in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "mov r9, r0\n"
            "ldm r9!, {r0, r1, r2, r3, r11, r12, lr}\n"
            "ldm r9, {r4, r5, r6, r7}\n"
            "push {r4, r5}\n"
            "mov r4, r6\n"
            "add r5, r6, r7, lsl #2\n"
            "cmp r7, #5\n"
            "bne 2f\n"
            "ldm r6, {r4, r5, r6, r7, r8}\n"
            "1:\n"
            "ldr r9, [r0]\n smlad r10, r9, r4, r11\n"
            "ldr r9, [r0, #4]\n smlad r10, r9, r5, r10\n"
            "ldr r9, [r0, #8]\n smlad r10, r9, r6, r10\n"
            "ldr r9, [r0, #12]\n smlad r10, r9, r7, r10\n"
            "ldr r9, [r0, #16]\n smlad r10, r9, r8, r10\n"
            "add r0, r3\n"
            FINISH
            "bne 1b\n"
            "b 4f\n"
            "2:\n"
            "mov r6, r0\n mov r7, r4\n mov r10, r11\n"
            "3:\n"
            "ldr r9, [r6], #4\n"
            "ldr r8, [r7], #4\n"
            "cmp r7, r5\n"
            "smlad r10, r9, r8, r10\n"
            "bne 3b\n"
            "add r0, r3\n"
            FINISH
            "bne 2b\n"
            "4:\n"
            "add sp, #8\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "sxtb16.h"

void ar_depthwise_compact_row_s8_dsp(const ar_depthwise_compact_row *row)
{
    const int8_t *x = (const int8_t *)row->x;
    int8_t *out = row->out;
    for (int32_t n = row->count; n != 0; n--, x += row->step, out += row->channels) {
        int32_t sum = row->bias;
        for (int32_t k = 0; k < row->pairs; k++) {
            int32_t weights, inputs;
            __builtin_memcpy(&weights, row->weights + 2 * k, 4);
            __builtin_memcpy(&inputs, x + 4 * k, 4);
            sum = ar_add_products16(sum, weights, inputs);
        }
        *out = ar_compact_output(sum, &row->scale);
    }
}

#endif
