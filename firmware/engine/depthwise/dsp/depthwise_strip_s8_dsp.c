/* Computes a single output row of four channels of a depthwise 3x3 convolution at stride 1. depthwise_3x3_row_s8_dsp.h
 * describes the memory layouts. */
#include "depthwise_3x3_row_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* Registers while two columns are stored in a block: r0-r2 are the ends of the input rows, r3 is the offset of the
 * next pixel from these ends, r4 the number of bytes per pixel, r5 the address of the column in the block, r6-r8
 * are the pixels of the three rows in one column, r9-r11 in the next column, r12 and lr are temporary values. */
/* COLUMNS stores one channel of two columns of rows 0 and 1. PAIR stores one channel of a pair of pixels of row 2
 * at r12. */
#define COLUMNS(a, b, rotation, at) \
    "sxtb16 r8, " a rotation "\n sxtb16 lr, " b rotation "\n strd r8, lr, [r5, #" at "]\n"
#define PAIR(p, rotation, at) "sxtb16 r8, " p rotation "\n str r8, [r12, #" at "]\n"

/* Registers while a channel is computed: r0-r5 are the sums of 6 outputs (r5 is the bias at first), r6-r8 the
 * weights of rows 0 and 1, r9-r11 columns, r12 is the address in the block, lr the address in the constants. After
 * that, r6 and r7 are the weights (w0, w1) and (w1, w2) of row 2, and r8-r11 the pairs of pixels of row 2. EVEN and
 * ODD add the products of row 2 to an output with an even or odd number, whose pixels are in the pairs a and b. */
#define EVEN(sum, a, b) "smlad " sum ", " a ", r6, " sum "\n smlabt " sum ", " b ", r7, " sum "\n"
#define ODD(sum, a, b) "smlatb " sum ", " a ", r6, " sum "\n smlad " sum ", " b ", r7, " sum "\n"
/* Requantizes the sum in register r. r6 is the multiplier, r7 the rounding constant. */
#define OUTPUT(r) "smmla " r ", " r ", r6, r7\n ssat " r ", #8, " r ", asr #8\n"
/* Requantizes and stores one output of an incomplete block. It is 16 bytes of code, so the address at which the
 * code after label 4 is entered can be computed from the number of outputs. */
#define PART(r) OUTPUT(r) "strb " r ", [r11, r9]\n sub r9, r9, r8\n"

/* The stack has a copy of the ar_dw_strip. `reserved` is the address of the code that requantizes a block: label 3
 * for all six sums, or an address from label 4 on for an incomplete block. */
__attribute__((naked)) void ar_depthwise_strip_s8_dsp(const ar_dw_strip *strip __attribute__((unused)),
                                                      int32_t pad_left __attribute__((unused)))
{
    __asm__(
        ".set ar_stack_ar_depthwise_strip_s8_dsp, 116\n"
        "push {r4-r11, lr}\n"
        "sub sp, #80\n"
        "mov lr, r1\n"
        "ldm r0!, {r1-r10}\n"
        "stm sp, {r1-r10}\n"
        "ldm r0, {r1-r10}\n"
        "add r12, sp, #40\n"
        "stm r12, {r1-r10}\n"
        "adr.w r6, 3f\n"
        "add r6, r6, #1\n"
        "str r6, [sp, #20]\n"
        /* The loop over the blocks. In the first block the first column may be padding. */
        "10:\n"
        "add r0, sp, #24\n"
        "ldr r4, [sp, #4]\n"
        "ldr r5, [sp, #48]\n"
        "ldm r0, {r0, r1, r2, r3}\n"
        "ldr r6, [sp, #44]\n"
        "mov r7, r6\n"
        "mov r8, r6\n"
        "cmp lr, #0\n"
        "bne 5f\n"
        "2:\n"
        "cbnz r3, 4f\n"
        /* At the end of the row, a pair of columns of padding ends the block. */
        "ldr r6, [sp, #44]\n"
        "ldr r12, [sp, #40]\n"
        "sxtb16 r6, r6\n"
        "mov r7, r6\n"
        "add r12, r12, r5, lsr #1\n"
        "strd r6, r7, [r5]\n strd r6, r7, [r5, #48]\n"
        "strd r6, r7, [r5, #96]\n strd r6, r7, [r5, #144]\n"
        "str r6, [r12]\n str r6, [r12, #48]\n str r6, [r12, #96]\n str r6, [r12, #144]\n"
        "b 8f\n"
        "4:\n"
        "ldr r6, [r0, r3]\n"
        "ldr r7, [r1, r3]\n"
        "ldr r8, [r2, r3]\n"
        "add r3, r3, r4\n"
        "5:\n"
        "cbnz r3, 6f\n"
        "ldr r9, [sp, #44]\n"
        "mov r10, r9\n"
        "mov r11, r9\n"
        "b 7f\n"
        "6:\n"
        "ldr r9, [r0, r3]\n"
        "ldr r10, [r1, r3]\n"
        "ldr r11, [r2, r3]\n"
        "add r3, r3, r4\n"
        /* Merge rows 0 and 1: channels 0 and 1 of the two columns to r12 and r6, channels 2 and 3 to r7 and r10.
         * Merge the pair of row 2: channels 0 and 1 to r9, channels 2 and 3 to r11. */
        "7:\n"
        "pkhbt r12, r6, r7, lsl #16\n"
        "pkhtb r7, r7, r6, asr #16\n"
        "pkhbt r6, r9, r10, lsl #16\n"
        "pkhtb r10, r10, r9, asr #16\n"
        "pkhbt r9, r8, r11, lsl #16\n"
        "pkhtb r11, r11, r8, asr #16\n"                                        /* */
        COLUMNS("r12", "r6", "", "0") COLUMNS("r12", "r6", ", ror #8", "48")   /* */
        COLUMNS("r7", "r10", "", "96") COLUMNS("r7", "r10", ", ror #8", "144") /* */
        "ldr r12, [sp, #40]\n"
        "add r12, r12, r5, lsr #1\n"                         /* */
        PAIR("r9", "", "0") PAIR("r9", ", ror #8", "48")     /* */
        PAIR("r11", "", "96") PAIR("r11", ", ror #8", "144") /* */
        "ldr r6, [sp, #52]\n"
        "add r5, r5, #8\n"
        "cmp r5, r6\n"
        "bne 2b\n"
        /* Prepare the outputs of the block. If the block is incomplete, set the address of the code after label 4. */
        "8:\n"
        "str r3, [sp, #36]\n"
        "ldrd r6, r7, [sp, #64]\n"
        "ldrd lr, r12, [sp, #56]\n"
        "subs r6, r6, #1\n"
        "str r6, [sp, #64]\n"
        "bpl 11f\n"
        "ldr r6, [sp, #72]\n"
        "str r6, [sp, #8]\n"
        "adr.w r6, 4f\n"
        "rsb r7, r7, #5\n"
        "add r6, r6, r7, lsl #4\n"
        "add r6, r6, #1\n"
        "str r6, [sp, #20]\n"
        /* The loop over the channels. Columns 6 and 7 are copied to columns 0 and 1 of the next block. */
        "11:\n"
        "ldm lr!, {r5, r6, r7, r8}\n"
        "ldm r12!, {r9, r10, r11}\n"
        "smlad r0, r9, r6, r5\n"
        "smlad r1, r10, r6, r5\n"
        "smlad r2, r11, r6, r5\n"
        "smlad r0, r10, r7, r0\n"
        "smlad r1, r11, r7, r1\n"
        "smlad r0, r11, r8, r0\n"
        "ldm r12!, {r9, r10, r11}\n"
        "smlad r1, r9, r8, r1\n"
        "smlad r2, r9, r7, r2\n"
        "smlad r3, r9, r6, r5\n"
        "smlad r4, r10, r6, r5\n"
        "smlad r5, r11, r6, r5\n"
        "smlad r2, r10, r8, r2\n"
        "smlad r3, r10, r7, r3\n"
        "smlad r4, r11, r7, r4\n"
        "smlad r3, r11, r8, r3\n"
        "ldm r12!, {r9, r10}\n"
        "strd r9, r10, [r12, #-32]\n"
        "smlad r4, r9, r8, r4\n"
        "smlad r5, r9, r7, r5\n"
        "smlad r5, r10, r8, r5\n"
        "ldm lr!, {r6, r7}\n"
        "ldm r12!, {r8, r9, r10, r11}\n"
        "str r11, [r12, #-16]\n"                                                /* */
        EVEN("r0", "r8", "r9") ODD("r1", "r8", "r9") EVEN("r2", "r9", "r10")    /* */
        ODD("r3", "r9", "r10") EVEN("r4", "r10", "r11") ODD("r5", "r10", "r11") /* */
        "ldr r6, [lr], #4\n"
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
        "cmp lr, r10\n"
        "bne 11b\n"
        /* Go to the next block. */
        "ldrd r6, r7, [sp, #64]\n"
        "orrs r6, r6, r7\n"
        "beq 9f\n"
        "ldr r6, [sp, #76]\n"
        "add r11, r11, r6\n"
        "str r11, [sp, #16]\n"
        "ldr r6, [sp, #52]\n"
        "sub r6, r6, #24\n"
        "str r6, [sp, #48]\n"
        "mov lr, #0\n"
        "b 10b\n"
        "4:\n"                                                   /* */
        PART("r4") PART("r3") PART("r2") PART("r1") OUTPUT("r0") /* */
        "strb r0, [r11], #1\n"
        "str r11, [sp, #16]\n"
        "cmp lr, r10\n"
        "bne 11b\n"
        "9:\n"
        "add sp, #80\n"
        "pop {r4-r11, pc}\n");
}

#else

/* Returns channel c of pixel x of row k, or the padding's value outside the row. */
static int32_t pixel(const ar_dw_strip *s, int32_t k, int32_t x, int32_t c)
{
    const int32_t at = s->width + x * s->pixel;
    return x < 0 || at >= 0 ? (int8_t)s->padding : s->row[k][at + c];
}

static int32_t half(int32_t word, int32_t index)
{
    return (int16_t)(uint16_t)((uint32_t)word >> (16 * index));
}

void ar_depthwise_strip_s8_dsp(const ar_dw_strip *s, int32_t pad_left)
{
    const int32_t skipped = AR_DW_GROUP - (int32_t)(s->end - s->first);
    const int32_t outputs = s->full * AR_DW_PIXELS + s->part;
    for (int32_t c = skipped; c < AR_DW_GROUP; c++) {
        const ar_dw_columns *t = s->first + (c - skipped);
        int32_t window[3][3] = {{0}}; /* [row][column]; an output may overwrite a column of the next window */
        for (int32_t q = -2; q < outputs; q++) {
            int64_t sum = t->bias;
            for (int32_t k = 0; k < 3; k++) {
                window[k][0] = window[k][1];
                window[k][1] = window[k][2];
                window[k][2] = pixel(s, k, q + 2 - pad_left, c);
            }
            if (q < 0) {
                continue;
            }
            for (int32_t k = 0; k < 3; k++) {
                const int32_t last = k == 2 ? half(t->pair[1], 1) : half(t->pair[0], k);
                sum += half(t->column[k], 0) * window[0][k] + half(t->column[k], 1) * window[1][k];
                sum += last * window[2][k];
            }
            const int64_t y = (sum * t->multiplier + s->rounding * ((int64_t)1 << 32)) >> (32 + 8);
            s->out[q * s->pixel + c - skipped] = (int8_t)(y < -128 ? -128 : y > 127 ? 127 : y);
        }
    }
}

#endif
