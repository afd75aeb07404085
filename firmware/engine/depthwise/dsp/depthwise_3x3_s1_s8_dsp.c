/* Computes four channels of a depthwise 3x3 convolution of an image at stride 1. 6 outputs take 67 instructions.
 * depthwise_3x3_s8_dsp.h describes the memory layouts. */
#include "depthwise_3x3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

#include "depthwise_line_dsp.h"

/* In the assembly, .set states the stack use in bytes, which object_files.py reads.
 *
 * Registers while outputs are computed: r0-r5 are the sums of 6 outputs, r6 and r7 the weights (w0, w1) and (w1, w2) of
 * a line, r8-r11 four pairs of pixels, r12 is the address of the next pixels in the lines, lr the address of a channel's
 * constants. The stack has a copy of the ar_dw_row with these changes: at +20 there is the address of the code that
 * requantizes a block, which is label 3 for all six sums, or an address from label 4 on for an incomplete block. At +32
 * there is `skip`, at +48 `channels`, at +52 the address of `group.end` in the ar_dw_image, and at +56 the address of
 * the code that follows the conversion of a line.
 *
 * EVEN computes an output with an even number: w0 and w1 are multiplied with one pair of pixels, w2 with the first
 * pixel of the next pair. ODD computes an output with an odd number: w0 is multiplied with the second pixel of one
 * pair, w1 and w2 with the next pair. The sum begins at `start`, which is the bias in r5 for the first line. */
/* clang-format off */
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

__attribute__((naked)) void ar_depthwise_3x3_s1_s8_dsp(void *image __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_3x3_s1_s8_dsp, 96\n"
            "push {r4-r11, lr}\n"
            "sub sp, #60\n"
            "ldm r0!, {r1-r12}\n"
            "ldr r9, [r0], #4\n"
            "adr.w r6, 3f\n"
            "add r6, r6, #1\n"
            "stm sp, {r1-r12}\n"
            "adr.w r1, 8f\n"
            "add r1, r1, #1\n"
            "strd r0, r1, [sp, #52]\n"
            /* The loop over the lines. r0 and lr are the ends of the entries and the first entry, r3 and r4 the rest
             * and the padding, r5 is the number of blocks, r6 the offset of the second pixel, r7 the address of the
             * line, r8 its number, r9 the number of lines in the image, r10 the size of a line, r11 the address of the
             * last line in memory. */
            "10:\n"
            "ldr r12, [sp, #52]\n"
            "ldm r12, {r0-r11, lr}\n"
            "sub r0, r0, r7\n"
            "sub lr, lr, r7\n"
            "str r0, [sp, #12]\n"
            "str lr, [sp, #48]\n"
            "add r3, r7, #16\n"
            "cmp r7, r11\n"
            "it eq\n subeq r3, r7, #32\n"
            "add r11, r8, #1\n"
            "strd r3, r11, [r12, #28]\n"
            "mov r3, r7\n"
            "cmp r8, r9\n"
            "bhs.w 6f\n"
            "add r10, r10, r1\n"
            "str r10, [r12, #4]\n"
            "add r0, r1, r6\n"
            /* The line's first pixel may be padding. */
            "cmp r6, #0\n"
            "it eq\n moveq r1, r4\n"
            "mov r12, r3\n"
            "movs lr, r5\n"
            "beq 2f\n"
            "1:\n"
            AR_DW_LINE_BLOCK
            "bne 1b\n"
            "2:\n"
            "ldr r6, [sp, #52]\n"
            "ldrd r4, r5, [r6, #12]\n"
            "cmp r4, #1\n"
            "blo 7f\n"
            "bhi 5f\n"
            AR_DW_LINE_PIXEL
            "7:\n"
            "ldr pc, [sp, #56]\n"
            "5:\n"
            "cmp r4, #1\n"
            "it eq\n moveq r0, r5\n"
            AR_DW_LINE_PAIR
            "bhi 5b\n"
            "ldr pc, [sp, #56]\n"
            /* The line is padding: fill its blocks and one more block. */
            "6:\n"
            "mov lr, r5\n"
            "ldr r4, [r4]\n"
            "sxtb16 r4, r4\n"
            "mov r5, r4\n"
            "1:\n"
            AR_DW_FILL_BLOCK
            "bpl 1b\n"
            "ldr pc, [sp, #56]\n"
            /* The first output row needs more than one line. */
            "8:\n"
            "ldr r12, [sp, #52]\n"
            "ldr r4, [r12, #52]\n"
            "subs r4, r4, #1\n"
            "str r4, [r12, #52]\n"
            "bne.w 10b\n"
            "adr.w r4, 9f\n"
            "ldr r5, [sp, #28]\n"
            "ldr r6, [sp, #44]\n"
            "cmp r5, r6\n"
            "bne 1f\n"
            "adr.w r4, 13f\n"
            "1:\n"
            "add r4, r4, #1\n"
            "str r4, [sp, #56]\n"
            "bx r4\n"
            /* The loop over the blocks of a row and their channels. */
            "9:\n"
            "ldrd r12, lr, [sp, #44]\n"
            "11:\n"
            "ldm lr!, {r5, r6, r7}\n"
            FIRST_LINE
            "ldrd r6, r7, [lr, #8]\n"
            LINE
            "ldrd r6, r7, [lr, #24]\n"
            LINE
            "ldr r6, [lr], #84\n"
            "ldm sp, {r7, r8, r9, r10, r11}\n"
            "ldr pc, [sp, #20]\n"
            "3:\n"
            OUTPUT("r0") OUTPUT("r1") OUTPUT("r2") OUTPUT("r3") OUTPUT("r4") OUTPUT("r5")
            "strb r1, [r11, r8]\n"
            "strb r2, [r11, r8, lsl #1]\n"
            "strb r4, [r11, r8, lsl #2]\n"
            "strb r0, [r11], #1\n"
            "add r9, r9, r11\n"
            "strb r3, [r9]\n"
            "strb r5, [r9, r8, lsl #1]\n"
            "str r11, [sp, #16]\n"
            "cmp lr, r10\n"
            "bne 11b\n"
            /* Go to the next block. */
            "ldrd r6, r7, [sp, #28]\n"
            "add r12, r12, r7\n"
            "cmp r12, r6\n"
            "beq 1f\n"
            "ldr r6, [sp, #24]\n"
            "ldr lr, [sp, #48]\n"
            "add r11, r11, r6\n"
            "str r11, [sp, #16]\n"
            "b 11b\n"
            /* Go to the next row. */
            "1:\n"
            "ldrd r6, r7, [sp, #36]\n"
            "cbnz r6, 1f\n"
            "12:\n"
            "ldr r5, [sp, #52]\n"
            "ldr r11, [r5, #-36]\n"
            "ldrd r6, r7, [r5, #56]\n"
            "add r11, r11, r6\n"
            "str r11, [sp, #16]\n"
            "str r11, [r5, #-36]\n"
            "subs r7, r7, #1\n"
            "str r7, [r5, #60]\n"
            "bne.w 10b\n"
            "add sp, #60\n"
            "pop {r4-r11, pc}\n"
            /* Compute a last block that has only `part` outputs. */
            "13:\n"
            "ldrd r6, r7, [sp, #36]\n"
            "ldr r12, [sp, #44]\n"
            "b 14f\n"
            "1:\n"
            "ldr r8, [sp, #24]\n"
            "add r11, r11, r8\n"
            "str r11, [sp, #16]\n"
            "14:\n"
            "ldr lr, [sp, #48]\n"
            "str r7, [sp, #8]\n"
            "adr.w r8, 4f\n"
            "rsb r6, r6, #5\n"
            "add r8, r8, r6, lsl #4\n"
            "add r8, r8, #1\n"
            "str r8, [sp, #20]\n"
            "b 11b\n"
            ".balign 4\n"
            "4:\n"
            PART("r4") PART("r3") PART("r2") PART("r1") OUTPUT("r0")
            "strb r0, [r11], #1\n"
            "str r11, [sp, #16]\n"
            "cmp lr, r10\n"
            "bne.w 11b\n"
            "ldr r5, [sp, #52]\n"
            "ldr r6, [r5, #-44]\n"
            "str r6, [sp, #8]\n"
            "adr.w r6, 3b\n"
            "add r6, r6, #1\n"
            "str r6, [sp, #20]\n"
            "b 12b\n");
}
/* clang-format on */

#else

#include "depthwise_3x3_s8_plain.h"

static void compute_row(void *row) { ar_dw_row_plain(row, 1); }

void ar_depthwise_3x3_s1_s8_dsp(void *image) { ar_dw_image_rows(image, 1, compute_row); }

#endif
