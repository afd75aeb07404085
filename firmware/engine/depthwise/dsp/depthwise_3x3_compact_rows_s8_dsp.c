/* Computes two rows of outputs of one channel of a 3x3 depthwise convolution: 31 instructions for two outputs.
 * depthwise_3x3_s8_compact_dsp.h describes the layouts. */
#include "depthwise_3x3_s8_compact_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* r0 is the address of a window, r1 the address of the output, r2 to r7 are the weights, r8 and r9 the sums, r10 to r12
 * inputs, lr is twice the bias. The stack has the first six values of the structure.
 * ONE and TWO multiply a column of inputs at stride 1 and 2, with the weights `u` (rows 0 and 1) and `v` (rows 1 and 2),
 * and add the products to `s` and `t`. FINISH rescales and stores both outputs (see compact_scale.h); if there is only one
 * row, the first output overwrites the second one. */
/* clang-format off */
#define ONE(u, v, s, t) \
    "smlad r8, r10, " u ", " s "\n smlatb r9, r10, " u ", " t "\n" \
    "smlabt r8, r11, " v ", r8\n smlad r9, r11, " v ", r9\n"
#define TWO(u, v, s, t) \
    "smlad r8, r10, " u ", " s "\n smlad r9, r11, " u ", " t "\n" \
    "smlabt r8, r11, " v ", r8\n smlabt r9, r12, " v ", r9\n"
#define FINISH \
    "ldrd r10, r11, [sp]\n" \
    "add r12, r11, r8, asr #31\n smmlar r8, r8, r10, r12\n" \
    "add r11, r11, r9, asr #31\n smmlar r9, r9, r10, r11\n" \
    "ldrd r10, r11, [sp, #8]\n" \
    "asr r8, r10\n asr r9, r10\n" \
    "ssat r8, #8, r8\n ssat r9, #8, r9\n" \
    "strb r9, [r1, r11]\n strb r8, [r1]\n" \
    "ldrd r10, r11, [sp, #16]\n" \
    "add r1, r10\n" \
    "cmp r0, r11\n"

__attribute__((naked)) void
ar_depthwise_3x3_compact_rows_s8_dsp(const ar_depthwise_3x3_compact_rows *rows __attribute__((unused)),
                                     int32_t stride __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_3x3_compact_rows_s8_dsp, 60\n" /* in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "mov r12, r0\n"
            "cmp r1, #1\n"
            "ldm r12!, {r4-r9}\n"
            "push {r4-r9}\n"
            "ldm r12, {r0-r7, lr}\n"
            "bne 2f\n"
            "1:\n"
            "ldrd r10, r11, [r0], #8\n" ONE("r2", "r3", "lr", "lr")
            "ldrd r10, r11, [r0]\n" ONE("r4", "r5", "r8", "r9")
            "ldrd r10, r11, [r0, #8]\n" ONE("r6", "r7", "r8", "r9")
            FINISH
            "bne 1b\n"
            "b 3f\n"
            "2:\n"
            "ldm r0!, {r10, r11, r12}\n" TWO("r2", "r3", "lr", "lr")
            "ldm r0!, {r10, r11, r12}\n" TWO("r4", "r5", "r8", "r9")
            "ldm r0, {r10, r11, r12}\n" TWO("r6", "r7", "r8", "r9")
            FINISH
            "bne 2b\n"
            "3:\n"
            "add sp, #24\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "sxtb16.h"

void ar_depthwise_3x3_compact_rows_s8_dsp(const ar_depthwise_3x3_compact_rows *rows, int32_t stride)
{
    const int32_t words = stride + 1;
    int8_t *out = rows->out;
    for (const int32_t *x = rows->x; x != rows->end; x += stride * words, out += rows->channels) {
        const int16_t *values = (const int16_t *)(const void *)x;
        int32_t sum[2] = {rows->bias, rows->bias};
        for (int32_t k = 0; k < 3; k++, values += 2 * words) {
            const uint32_t *w = rows->weights[k];
            for (int32_t i = 0; i < 2; i++) {
                const int16_t *v = values + i * stride;
                sum[i] += v[0] * (int16_t)w[0] + v[1] * (int16_t)w[1] + v[2] * (int16_t)(w[1] >> 16);
            }
        }
        out[rows->next_row] = ar_compact_output(sum[1], &rows->scale);
        out[0] = ar_compact_output(sum[0], &rows->scale);
    }
}

#endif
