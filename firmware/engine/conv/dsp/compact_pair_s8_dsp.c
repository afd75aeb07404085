/* Multiplies blocks of 3 pixels with a pair of filters, and rescales their sums, for builds for small flash: 19
 * instructions for 24 products and 60 instructions for a block. conv_2d_s8_compact_dsp.h describes the layouts. */
#include "conv_2d_s8_compact_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of the pair.
 *  r0-r2: two inputs of each of the 3 pixels         r3-r4: two words of filters
 *  r5-r7: 256 * A + B of each pixel                  r8-r10: B of each pixel
 *  r11: address of the next widened inputs           r12: address of the next filter words
 *  lr: number of groups left
 * RESCALE computes an output from twice the sum in `r`, with the scale in r0 to r2 (compact_scale.h); it overwrites
 * r3. */

/* clang-format off */
#define WORD(w) \
    "ldm r11!, {r0, r1, r2}\n" \
    "smlad r5, " w ", r0, r5\n smlad r6, " w ", r1, r6\n smlad r7, " w ", r2, r7\n" \
    "sxtb16 " w ", " w "\n" \
    "smlad r8, " w ", r0, r8\n smlad r9, " w ", r1, r9\n smlad r10, " w ", r2, r10\n"
#define RESCALE(r) \
    "add r3, r1, " r ", asr #31\n smmlar " r ", " r ", r0, r3\n asr " r ", r2\n ssat " r ", #8, " r "\n"

__attribute__((naked)) void ar_compact_pair_s8_dsp(ar_compact_pair *work __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_compact_pair_s8_dsp, 40\n" /* the stack use in bytes, read by object_files.py */
            "push {r0, r4-r11, lr}\n"
            "1:\n"
            "ldr r3, [sp]\n"
            "ldm r3, {r5, r8, r12, lr}\n"
            "ldr r11, [r3, #16]\n"
            "mov r6, r5\n mov r7, r5\n mov r9, r8\n mov r10, r8\n"
            "2:\n"
            "ldrd r3, r4, [r12], #8\n"
            WORD("r3") WORD("r4")
            "subs lr, #1\n"
            "bne 2b\n"
            "ldr r4, [sp]\n"
            "str r11, [r4, #16]\n"
            "sub r5, r8\n sub r6, r9\n sub r7, r10\n"
            "asr r5, #7\n asr r6, #7\n asr r7, #7\n"
            "add lr, r4, #20\n"
            "ldm lr!, {r0, r1, r2}\n"
            RESCALE("r5") RESCALE("r6") RESCALE("r7")
            "ldm lr, {r0, r1, r2}\n"
            "lsl r8, #1\n lsl r9, #1\n lsl r10, #1\n"
            RESCALE("r8") RESCALE("r9") RESCALE("r10")
            "ldrd r0, r1, [r4, #44]\n"
            "strb r5, [r0]\n strb r8, [r0, #1]\n add r0, r1\n"
            "strb r6, [r0]\n strb r9, [r0, #1]\n add r0, r1\n"
            "strb r7, [r0]\n strb r10, [r0, #1]\n add r0, r1\n"
            "ldr r1, [r4, #52]\n"
            "str r0, [r4, #44]\n"
            "subs r1, #1\n"
            "str r1, [r4, #52]\n"
            "bne 1b\n"
            "pop {r0, r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

void ar_compact_pair_s8_dsp(ar_compact_pair *work)
{
    const int32_t words = work->groups * 2;
    for (; work->blocks != 0; work->blocks--, work->x += words * AR_COMPACT_PIXELS) {
        for (int32_t i = 0; i < AR_COMPACT_PIXELS; i++, work->out += work->pixel) {
            uint32_t both = (uint32_t)work->both;
            uint32_t second = (uint32_t)work->second;
            for (int32_t k = 0; k < words; k++) {
                const int32_t x = work->x[k * AR_COMPACT_PIXELS + i];
                both = ar_dot_smlad(both, (int32_t)work->weights[k], x);
                second = ar_dot_smlad(second, ar_dot_low_bytes((int32_t)work->weights[k]), x);
            }
            work->out[0] = ar_compact_output((int32_t)(both - second) >> 7, &work->scale[0]);
            work->out[1] = ar_compact_output((int32_t)(second << 1), &work->scale[1]);
        }
    }
}

#endif
