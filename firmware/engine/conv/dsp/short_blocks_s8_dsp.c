/* Widens the inputs of blocks of 3 pixels, and multiplies them with pairs of int16 filters: 8 instructions for 12
 * products, and 23 for each pair to requantize the 6 sums. short_blocks_s8_dsp.h describes the memory layouts. */
#include "short_blocks_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* Registers while inputs are widened: r0 is the address for the next words, r1 of the next input bytes, r2 the step, r3
 * the number of groups left in the row, r4-r9 are input bytes, then widened inputs, r10 is the address of the next
 * row's address, r11 the offset, r12 the number of groups in a row, lr the number of rows left.
 * GROUP widens four bytes of each pixel. */
#define GROUP                                                                 \
    "ldr r5, [r1, r2]\n ldr r6, [r1, r2, lsl #1]\n ldr r4, [r1], #4\n"        \
    "sxtb16 r7, r4, ror #8\n sxtb16 r8, r5, ror #8\n sxtb16 r9, r6, ror #8\n" \
    "sxtb16 r4, r4\n sxtb16 r5, r5\n sxtb16 r6, r6\n"                         \
    "stm r0!, {r4-r9}\n"

/* Registers while a pair is computed: r0-r2 are two inputs of each pixel, r3 and r4 the weights of the first and the
 * second channel, r5-r7 the sums of the first channel for each pixel, r8-r10 those of the second channel, r11 is the
 * address of the next inputs, r12 of the next words of the filters, lr of the next outputs. WORD multiplies two inputs
 * of each pixel. FIRST_WORD does the same, and starts the sums with the biases, which it loads to r5 and r8. */
#define WORD                                                               \
    "ldrd r3, r4, [r12], #8\n ldm r11!, {r0, r1, r2}\n"                    \
    "smlad r5, r3, r0, r5\n smlad r6, r3, r1, r6\n smlad r7, r3, r2, r7\n" \
    "smlad r8, r4, r0, r8\n smlad r9, r4, r1, r9\n smlad r10, r4, r2, r10\n"
#define FIRST_WORD                                                         \
    "ldm r12!, {r3, r4, r5, r8}\n ldm r11!, {r0, r1, r2}\n"                \
    "smlad r6, r3, r1, r5\n smlad r7, r3, r2, r5\n smlad r5, r3, r0, r5\n" \
    "smlad r9, r4, r1, r8\n smlad r10, r4, r2, r8\n smlad r8, r4, r0, r8\n"
/* Scales and limits a sum; `m` is the multiplier. */
#define SCALE(sum, m) "smmla " sum ", " sum ", " m ", r1\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum ", asr #12\n" /* AR_SHORT_SHIFT */

/* The stack has a copy of the ar_short_blocks_s8: sp +0: end, +4: rounding, +8: pixel, +12: x, +16: filters, +20: out,
 * +24: step, +28: rows, +32: offset, +36: groups, +40: count, +44: rest, +48: blocks. +52 is the address at which the
 * code for a pair is entered after the first word: it has 31 words of 32 bytes of code. */
/* clang-format off */
__attribute__((naked)) void ar_short_blocks_s8_dsp(const ar_short_blocks_s8 *b __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_short_blocks_s8_dsp, 92\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #56\n"
            "ldm r0, {r1-r12, lr}\n"
            "ldr r0, [r0, #52]\n"
            "stm sp, {r1-r12, lr}\n"
            "rsb r0, r0, #32\n" /* AR_SHORT_WORDS */
            "adr.w r1, 5f\n"
            "add r0, r1, r0, lsl #5\n"
            "add r0, r0, #1\n"
            "str r0, [sp, #52]\n"
            /* The loop over the blocks. */
            "1:\n"
            "add r3, sp, #24\n"
            "ldr r0, [sp, #12]\n"
            "ldm r3, {r2, r10, r11, r12, lr}\n"
            "add r3, r2, r2, lsl #1\n"
            "add r3, r3, r11\n"
            "str r3, [sp, #32]\n"
            "2:\n"
            "ldr r1, [r10], #4\n"
            "mov r3, r12\n"
            "add r1, r1, r11\n"
            "3:\n"
            GROUP
            "subs r3, #1\n"
            "bne 3b\n"
            "ldr r3, [sp, #44]\n"
            "cbz r3, 7f\n"
            "ldrsb r5, [r1, r2]\n ldrsb r6, [r1, r2, lsl #1]\n ldrsb r4, [r1]\n"
            "stm r0!, {r4-r6}\n"
            "7:\n"
            "subs lr, lr, #1\n"
            "bne 2b\n"
            "ldr r11, [sp, #12]\n"
            "ldr r12, [sp, #16]\n"
            "ldr lr, [sp, #20]\n"
            /* The loop over the pairs. */
            "4:\n"
            FIRST_WORD
            "ldr pc, [sp, #52]\n"
            ".balign 4\n"
            "5:\n"
            WORD WORD WORD WORD WORD WORD WORD WORD WORD WORD
            WORD WORD WORD WORD WORD WORD WORD WORD WORD WORD
            WORD WORD WORD WORD WORD WORD WORD WORD WORD WORD
            WORD
            "ldrd r3, r4, [r12], #8\n"
            "ldm sp, {r0, r1, r2, r11}\n"
            SCALE("r5", "r3") SCALE("r6", "r3") SCALE("r7", "r3")
            SCALE("r8", "r4") SCALE("r9", "r4") SCALE("r10", "r4")
            SATURATE("r5") SATURATE("r6") SATURATE("r7") SATURATE("r8") SATURATE("r9") SATURATE("r10")
            "bfi r5, r8, #8, #8\n bfi r6, r9, #8, #8\n bfi r7, r10, #8, #8\n"
            "strh r6, [lr, r2]\n strh r7, [lr, r2, lsl #1]\n strh r5, [lr], #2\n"
            "cmp r12, r0\n"
            "bne.w 4b\n"
            "ldr r1, [sp, #48]\n"
            "add lr, lr, r2, lsl #1\n"
            "str lr, [sp, #20]\n"
            "subs r1, r1, #1\n"
            "str r1, [sp, #48]\n"
            "bne.w 1b\n"
            "add sp, #56\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

/* Returns two inputs as two int16. */
static int32_t two(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)high << 16);
}

void ar_short_blocks_s8_dsp(const ar_short_blocks_s8 *b)
{
    for (int32_t pixel = 0; pixel < 3 * b->blocks; pixel++) {
        int32_t *x = b->x;
        for (int32_t k = 0; k < b->count; k++) {
            const int8_t *in = b->rows[k] + b->offset + pixel * b->step;
            for (int32_t i = 0; i < b->groups; i++, in += 4) {
                *x++ = two(in[0], in[2]);
                *x++ = two(in[1], in[3]);
            }
            if (b->rest) {
                *x++ = in[0];
            }
        }
        int8_t *out = b->out + pixel * b->pixel;
        for (const int32_t *w = b->filters; w != b->end; w += 4 + 2 * b->words) {
            const int32_t *multiplier = w + 2 + 2 * b->words;
            for (int32_t channel = 0; channel < 2; channel++) {
                uint32_t sum = ar_dot_smlad((uint32_t)w[2 + channel], w[channel], b->x[0]);
                for (int32_t k = 1; k < b->words; k++) {
                    sum = ar_dot_smlad(sum, w[2 + 2 * k + channel], b->x[k]);
                }
                *out++ = ar_dot_output((int32_t)sum, multiplier[channel], b->rounding, AR_SHORT_SHIFT);
            }
        }
    }
}

#endif
