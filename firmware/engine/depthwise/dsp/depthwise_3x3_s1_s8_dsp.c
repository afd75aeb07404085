/* Computes one output row of a depthwise 3x3 convolution at stride 1. 6 outputs take 68 instructions.
 * depthwise_3x3_s8_dsp.h describes the memory layouts. */
#include "depthwise_3x3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* Registers: r0-r5 are the sums of 6 outputs, r6 and r7 the weights (w0, w1) and (w1, w2) of a line, r8-r11 four
 * pairs of pixels, r12 is the address of the next pixels in the lines, lr the address of a channel's constants. The
 * stack has the fields of the ar_dw_row, but `skip` in place of `lines`. `reserved` is the address of the code that
 * requantizes a block: label 3 for all six sums, or an address from label 4 on for an incomplete block.
 *
 * EVEN computes an output with an even number: w0 and w1 are multiplied with one pair of pixels, w2 with the first
 * pixel of the next pair. ODD computes an output with an odd number: w0 is multiplied with the second pixel of one
 * pair, w1 and w2 with the next pair. The sum begins at `start`, which is the bias in r5 for the first line. */
#define EVEN(sum, a, b, start) "smlad " sum ", " a ", r6, " start "\n smlabt " sum ", " b ", r7, " sum "\n"
#define ODD(sum, a, b, start) "smlatb " sum ", " a ", r6, " start "\n smlad " sum ", " b ", r7, " sum "\n"
#define FIRST_LINE                                                                                \
    "ldm r12!, {r8, r9, r10, r11}\n" EVEN("r0", "r8", "r9", "r5") ODD("r1", "r8", "r9", "r5")     \
        EVEN("r2", "r9", "r10", "r5") ODD("r3", "r9", "r10", "r5") EVEN("r4", "r10", "r11", "r5") \
            ODD("r5", "r10", "r11", "r5")
#define LINE                                                                                      \
    "ldm r12!, {r8, r9, r10, r11}\n" EVEN("r0", "r8", "r9", "r0") ODD("r1", "r8", "r9", "r1")     \
        EVEN("r2", "r9", "r10", "r2") ODD("r3", "r9", "r10", "r3") EVEN("r4", "r10", "r11", "r4") \
            ODD("r5", "r10", "r11", "r5")
/* Requantizes the sum in register r. r6 is the multiplier, r7 the rounding constant. */
#define OUTPUT(r) "smmla " r ", " r ", r6, r7\n ssat " r ", #8, " r ", asr #8\n"
/* Requantizes and stores one output of an incomplete block. It is 16 bytes of code, so the address at which the
 * code after label 4 is entered can be computed from the number of outputs. */
#define PART(r) OUTPUT(r) "strb " r ", [r11, r9]\n sub r9, r9, r8\n"

__attribute__((naked)) void ar_depthwise_3x3_s1_s8_dsp(const ar_dw_row *row __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_3x3_s1_s8_dsp, 84\n"
            "push {r4-r11, lr}\n"
            "sub sp, #48\n"
            "ldr lr, [r0, #48]\n"
            "str lr, [sp, #44]\n"
            "ldm r0, {r1-r12}\n"
            "mov lr, r9\n"
            "adr.w r6, 3f\n"
            "add r6, r6, #1\n"
            "stm sp, {r1-r11}\n"
            "cmp r12, r8\n"
            "beq 5f\n"
            /* The loop over the channels of a block. */
            "1:\n"
            "ldm lr, {r5, r6, r7}\n"   /* */
            FIRST_LINE                 /* */
            "ldrd r6, r7, [lr, #20]\n" /* */
            LINE                       /* */
            "ldrd r6, r7, [lr, #36]\n" /* */
            LINE                       /* */
            "ldr r6, [lr, #12]\n"
            "ldm sp, {r7, r8, r9, r10, r11}\n"
            "ldr pc, [sp, #20]\n"
            "3:\n"                                                                        /* */
            OUTPUT("r0") OUTPUT("r1") OUTPUT("r2") OUTPUT("r3") OUTPUT("r4") OUTPUT("r5") /* */
            "strb r1, [r11, r8]\n"
            "strb r2, [r11, r8, lsl #1]\n"
            "strb r4, [r11, r8, lsl #2]\n"
            "strb r0, [r11], #1\n"
            "add r9, r9, r11\n"
            "strb r3, [r9]\n"
            "strb r5, [r9, r8, lsl #1]\n"
            "str r11, [sp, #16]\n"
            "add lr, lr, #96\n"
            "cmp lr, r10\n"
            "bne 1b\n"
            /* Go to the next block. */
            "ldrd r6, r7, [sp, #24]\n"
            "add r11, r11, r6\n"
            "str r11, [sp, #16]\n"
            "ldr lr, [sp, #32]\n"
            "ldr r6, [sp, #44]\n"
            "add r12, r12, r6\n"
            "cmp r12, r7\n"
            "bne 1b\n"
            /* Compute a last block that has only `part` outputs, if there is one. */
            "5:\n"
            "ldrd r6, r7, [sp, #36]\n"
            "cbz r6, 6f\n"
            "str r7, [sp, #8]\n"
            "adr.w r8, 4f\n"
            "rsb r6, r6, #5\n"
            "add r8, r8, r6, lsl #4\n"
            "add r8, r8, #1\n"
            "str r8, [sp, #20]\n"
            "b 1b\n"
            "4:\n"                                                   /* */
            PART("r4") PART("r3") PART("r2") PART("r1") OUTPUT("r0") /* */
            "strb r0, [r11], #1\n"
            "str r11, [sp, #16]\n"
            "add lr, lr, #96\n"
            "cmp lr, r10\n"
            "bne 1b\n"
            "6:\n"
            "add sp, #48\n"
            "pop {r4-r11, pc}\n");
}

#else

#include "depthwise_3x3_s8_plain.h"

void ar_depthwise_3x3_s1_s8_dsp(const ar_dw_row *row) { ar_dw_row_plain(row, 1); }

#endif
