/* Computes one output row of a depthwise 3x3 convolution at stride 2. 3 outputs take 38 instructions.
 * depthwise_3x3_s8_dsp.h describes the memory layouts. */
#include "depthwise_3x3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* Registers: r0, r1 and r5 are the sums of 3 outputs. The weights (w0, w1) of the three lines are in r2, r4 and r6;
 * the three weights w2 are in the low and the high half of r3 and in the high half of r7. r8-r11 are four pairs of
 * pixels, r12 is the address of the next pixels in the lines, lr the address of the next output.
 *
 * The stack has these words: +0 multiplier, +4 rounding, +8 pixel (bytes from one output pixel to the next), +12
 * the end of the channel's full blocks in the lines (if the last block is incomplete, an address inside that
 * block), +16 bias, +20 the address of the next channel's constants, +24 the end of the constants, +28 lines, +32
 * out, +36 the number of outputs in the incomplete block.
 *
 * LINE adds the products of one line to the three sums, which begin at s0, s1 and s2. */
#define LINE(weights, last, half, s0, s1, s2)                                   \
    "ldm r12!, {r8, r9, r10, r11}\n"                                            \
    "smlad r0, r8, " weights ", " s0 "\n smlab" half " r0, r9, " last ", r0\n"  \
    "smlad r1, r9, " weights ", " s1 "\n smlab" half " r1, r10, " last ", r1\n" \
    "smlad r5, r10, " weights ", " s2 "\n smlab" half " r5, r11, " last ", r5\n"
/* Requantizes the sum in register r. r8 is the multiplier, r9 the rounding constant. */
#define OUTPUT(r) "smmla " r ", " r ", r8, r9\n ssat " r ", #8, " r ", asr #8\n"

__attribute__((naked)) void ar_depthwise_3x3_s2_s8_dsp(void *row __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_3x3_s2_s8_dsp, 76\n"
            "push {r4-r11, lr}\n"
            "sub sp, #40\n"
            /* r1 is rounding, r2 pixel, r4 end, r5 out, r8 full, r9 channels, r10 part, r12 lines. */
            "ldm r0, {r1-r12}\n"
            /* If the last block is incomplete, the end is inside that block. */
            "cmp r10, #0\n"
            "it ne\n addne r8, r8, #188\n"
            "strd r1, r2, [sp, #4]\n"
            "str r8, [sp, #12]\n"
            "strd r9, r4, [sp, #20]\n"
            "strd r12, r5, [sp, #28]\n"
            "str r10, [sp, #36]\n"
            /* The loop over the channels. A channel's constants stay in registers. */
            "1:\n"
            "ldr r0, [sp, #20]\n"
            "ldm r0, {r1, r2, r3, r8}\n"
            "ldrd r4, r5, [r0, #20]\n"
            "ldrd r6, r7, [r0, #36]\n"
            "add r0, r0, #96\n"
            "str r0, [sp, #20]\n"
            "pkhtb r3, r5, r3, asr #16\n"
            "str r8, [sp]\n"
            "str r1, [sp, #16]\n"
            "ldrd r12, lr, [sp, #28]\n"
            "2:\n"
            "ldr r5, [sp, #16]\n"                                                           /* */
            LINE("r2", "r3", "b", "r5", "r5", "r5") LINE("r4", "r3", "t", "r0", "r1", "r5") /* */
            LINE("r6", "r7", "t", "r0", "r1", "r5")                                         /* */
            "ldm sp, {r8, r9, r10, r11}\n"                                                  /* */
            OUTPUT("r0") OUTPUT("r1") OUTPUT("r5")                                          /* */
            "add r12, r12, #144\n"
            "cmp r12, r11\n"
            "bhi 3f\n"
            "strb r0, [lr]\n"
            "strb r1, [lr, r10]\n"
            "strb r5, [lr, r10, lsl #1]\n"
            "add lr, lr, r10\n"
            "add lr, lr, r10, lsl #1\n"
            "bne 2b\n"
            /* Go to the next channel. */
            "4:\n"
            "ldrd r0, r1, [sp, #20]\n"
            "cmp r0, r1\n"
            "beq 5f\n"
            "ldrd r8, r9, [sp, #28]\n"
            "add r8, r8, #48\n"
            "add r9, r9, #1\n"
            "strd r8, r9, [sp, #28]\n"
            "add r11, r11, #48\n"
            "str r11, [sp, #12]\n"
            "b 1b\n"
            /* Store the one or two outputs of an incomplete block. */
            "3:\n"
            "strb r0, [lr]\n"
            "ldr r0, [sp, #36]\n"
            "cmp r0, #1\n"
            "it ne\n strbne r1, [lr, r10]\n"
            "b 4b\n"
            "5:\n"
            "add sp, #40\n"
            "pop {r4-r11, pc}\n");
}

#else

#include "depthwise_3x3_s8_plain.h"

void ar_depthwise_3x3_s2_s8_dsp(void *row) { ar_dw_row_plain(row, 2); }

#endif
