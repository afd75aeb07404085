/* Computes one output row of a depthwise 3x3 at stride 1: 68 instructions for 6 outputs. Layouts:
 * depthwise_3x3_s8_dsp.h. */
#include "depthwise_3x3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* r0-r5 sums of 6 outputs, r6-r7 weights (w0, w1) and (w1, w2), r8-r11 four pairs of pixels, r12 lines, lr channel.
 * The stack is an ar_dw_row; `reserved` is the address of the code that requantizes a block: label 3 for all six
 * sums, or an entry of label 4. An even output takes w0 and w1 from one pair and w2 from the next; an odd one w0
 * from one, w1 and w2 from the next. */
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
/* r6 multiplier, r7 rounding. */
#define OUTPUT(r) "smmla " r ", " r ", r6, r7\n ssat " r ", #8, " r ", asr #8\n"
/* One output of an incomplete block, 16 bytes of code, from which the entry is computed. */
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
            /* For each channel of a block. */
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
            /* The next block. */
            "ldrd r6, r7, [sp, #24]\n"
            "add r11, r11, r6\n"
            "str r11, [sp, #16]\n"
            "ldr lr, [sp, #32]\n"
            "ldr r6, [sp, #44]\n"
            "add r12, r12, r6\n"
            "cmp r12, r7\n"
            "bne 1b\n"
            /* A last block with `part` outputs. */
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
