/* Computes channels of a depthwise convolution of an image with one row: 8 instructions for 12 products.
 * depthwise_one_row_s8_dsp.h describes the memory layouts. */
#include "depthwise_one_row_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* Registers: r0-r5 are the sums of 6 outputs, r6-r8 three pairs of pixels, r9 and r10 the weights of a step for outputs
 * with even and odd numbers, r11 is the address of the next pixels, r12 of the next constants, lr the number of rounds
 * left. The stack has a copy of the ar_dw_one_row, in which `out` is that of the next block. At sp +44 there is the
 * number of full blocks left, at +48 the first output of the channel.
 *
 * STEP loads the pair of pixels c, and multiplies the pairs a, b and c. FIRST_STEP does the same, and starts the sums
 * with the bias in r5. */
#define LOAD(c) "ldrd r9, r10, [r12], #8\n ldr " c ", [r11], #4\n"
#define STEP(a, b, c)                                                                \
    LOAD(c)                                                                          \
    "smlad r0, " a ", r9, r0\n smlad r1, " a ", r10, r1\n smlad r2, " b ", r9, r2\n" \
    "smlad r3, " b ", r10, r3\n smlad r4, " c ", r9, r4\n smlad r5, " c ", r10, r5\n"
#define FIRST_STEP(a, b, c)                                                          \
    LOAD(c)                                                                          \
    "smlad r0, " a ", r9, r5\n smlad r1, " a ", r10, r5\n smlad r2, " b ", r9, r5\n" \
    "smlad r3, " b ", r10, r5\n smlad r4, " c ", r9, r5\n smlad r5, " c ", r10, r5\n"
/* Requantizes the sum in register r. r10 is the multiplier, lr the offset, r6 the rounding constant. */
#define OUTPUT(r)                                                                       \
    "eor r7, lr, " r ", asr #31\n add " r ", " r ", r7\n smmla " r ", " r ", r10, r6\n" \
    "ssat " r ", #8, " r ", asr #12\n" /* AR_DW_LINES_SHIFT */
/* Stores one output of an incomplete block. It is 8 bytes of code, so the address at which the code after label 7 is
 * entered can be computed from the number of outputs. */
#define PART(r) "strb.w " r ", [r6]\n sub.w r6, r6, r9\n"

/* clang-format off */
__attribute__((naked)) void ar_depthwise_lines_s8_dsp(const ar_dw_one_row *row __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_lines_s8_dsp, 88\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #52\n"
            "ldm r0, {r1-r11}\n"
            "stm sp, {r1-r11}\n"
            "str r3, [sp, #48]\n"
            /* The loop over the channels. */
            "1:\n"
            "ldr r11, [sp, #20]\n"
            "ldr r0, [sp, #32]\n"
            "str r0, [sp, #44]\n"
            /* The loop over the blocks. */
            "2:\n"
            "ldr r12, [sp, #16]\n"
            "ldr lr, [sp, #28]\n"
            "ldr r5, [r12], #4\n"
            "ldrd r6, r7, [r11], #8\n"
            FIRST_STEP("r6", "r7", "r8") STEP("r7", "r8", "r6") STEP("r8", "r6", "r7")
            "subs lr, lr, #1\n"
            "beq 4f\n"
            "3:\n"
            STEP("r6", "r7", "r8") STEP("r7", "r8", "r6") STEP("r8", "r6", "r7")
            "subs lr, lr, #1\n"
            "bne 3b\n"
            "4:\n"
            "ldrd r10, lr, [r12], #8\n"
            "ldm sp, {r6, r7, r8, r9}\n"
            "sub r11, r11, r7\n"
            OUTPUT("r0") OUTPUT("r1") OUTPUT("r2") OUTPUT("r3") OUTPUT("r4") OUTPUT("r5")
            "ldr lr, [sp, #44]\n"
            "subs lr, lr, #1\n"
            "str lr, [sp, #44]\n"
            "bmi 5f\n"
            "strb r0, [r8]\n strb r1, [r8, r9]\n strb r2, [r8, r9, lsl #1]\n strb r4, [r8, r9, lsl #2]\n"
            "add r6, r8, r9\n add r6, r6, r9, lsl #1\n"
            "strb r3, [r6]\n strb r5, [r6, r9, lsl #1]\n"
            "add r8, r6, r9\n add r8, r8, r9, lsl #1\n"
            "str r8, [sp, #8]\n"
            "bne 2b\n"
            "ldr r7, [sp, #36]\n"
            "cmp r7, #0\n"
            "bne 2b\n"
            /* Go to the next channel. */
            "6:\n"
            "ldr r0, [sp, #48]\n"
            "ldrd r1, r2, [sp, #20]\n"
            "add r0, r0, #1\n"
            "add r1, r1, r2\n"
            "str r0, [sp, #48]\n"
            "str r0, [sp, #8]\n"
            "strd r12, r1, [sp, #16]\n"
            "ldr r0, [sp, #40]\n"
            "subs r0, r0, #1\n"
            "str r0, [sp, #40]\n"
            "bne 1b\n"
            "add sp, #52\n"
            "pop {r4-r11, pc}\n"
            /* Store the outputs of an incomplete block, the last one first. */
            "5:\n"
            "ldr r7, [sp, #36]\n"
            "adr.w r10, 7f\n"
            "sub r6, r7, #1\n"
            "mla r6, r6, r9, r8\n"
            "rsb r7, r7, #5\n"
            "add r10, r10, r7, lsl #3\n"
            "add r10, r10, #1\n"
            "bx r10\n"
            ".balign 4\n"
            "7:\n"
            PART("r4") PART("r3") PART("r2") PART("r1") PART("r0")
            "b 6b\n");
}
/* clang-format on */

#else

/* Returns the product of two pairs of int16. */
static int32_t dot(int32_t a, int32_t b)
{
    return (int16_t)a * (int16_t)b + (int16_t)((uint32_t)a >> 16) * (int16_t)((uint32_t)b >> 16);
}

void ar_depthwise_lines_s8_dsp(const ar_dw_one_row *row)
{
    const int32_t steps = 3 * row->rounds;
    const int32_t *taps = row->taps;
    for (int32_t c = 0; c < row->channels; c++, taps += 3 + 2 * steps) {
        const int32_t *line = row->lines + c * (row->line / 4);
        for (int32_t at = 0; at < 6 * row->blocks + row->part; at++) {
            uint32_t sum = (uint32_t)taps[0];
            for (int32_t i = 0; i < steps; i++) {
                sum += (uint32_t)dot(line[at / 2 + i], taps[1 + 2 * i + at % 2]);
            }
            const int32_t offset = taps[2 + 2 * steps];
            const int32_t x = (int32_t)(sum + (uint32_t)((int32_t)sum < 0 ? ~offset : offset));
            const int64_t scaled = (int64_t)x * taps[1 + 2 * steps] + row->rounding * ((int64_t)1 << 32);
            const int32_t y = (int32_t)(scaled >> 32) >> AR_DW_LINES_SHIFT;
            row->out[at * row->pixel + c] = (int8_t)(y < -128 ? -128 : y > 127 ? 127 : y);
        }
    }
}

#endif
