/* Converts four channels of a row of int8 NHWC pixels to a line of int16 per channel. 6 pixels take 43 instructions.
 * depthwise_3x3_s8_dsp.h describes the layout. */
#include "depthwise_3x3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

#include "depthwise_line_dsp.h"

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* The header of the macros describes the registers. The stack has `rest` and `padding`. */
__attribute__((naked)) void ar_depthwise_line_s8_dsp(const ar_dw_line *line __attribute__((unused)),
                                                     const int8_t *row __attribute__((unused)),
                                                     int32_t *to __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_line_s8_dsp, 44\n"
            "push {r4-r11, lr}\n"
            "mov r3, r2\n"
            "ldm r0, {r2, r4, r5, r6, r7}\n"
            "push {r4, r5}\n"
            "add r0, r1, r7\n"
            "mov r12, r3\n"
            "mov lr, r6\n"
            "cmp r1, #0\n"
            "beq.w 5f\n"
            /* The row's first pixel may be padding. */
            "cmp r7, #0\n"
            "it eq\n moveq r1, r5\n"
            "cmp lr, #0\n"
            "beq 2f\n"
            /* The loop over blocks of six pixels. */
            "1:\n" AR_DW_LINE_BLOCK "bne 1b\n"
            /* Store the rest, pair by pair. If the number is odd, the last pixel's neighbor is padding. */
            "2:\n"
            "pop {r4, r5}\n"
            "cmp r4, #0\n"
            "beq 4f\n"
            "3:\n"
            "cmp r4, #1\n"
            "it eq\n moveq r0, r5\n" AR_DW_LINE_PAIR "bhi 3b\n"
            "4:\n"
            "pop {r4-r11, pc}\n"
            /* The row is padding: fill all pairs of the blocks and of one more block. */
            "5:\n"
            "pop {r6, r7}\n"
            "ldr r4, [r7]\n"
            "sxtb16 r4, r4\n"
            "mov r5, r4\n"
            "6:\n" AR_DW_FILL_BLOCK "bpl 6b\n"
            "pop {r4-r11, pc}\n");
}

#else

/* Returns channel c of the pixels a and b as two int16, a in the low halfword. */
static int32_t pair(const int8_t *a, const int8_t *b, int32_t c)
{
    return (int32_t)((uint32_t)(uint16_t)b[c] << 16 | (uint16_t)a[c]);
}

void ar_depthwise_line_s8_dsp(const ar_dw_line *line, const int8_t *row, int32_t *to)
{
    const int8_t *a = row && line->second ? row : line->padding;
    const int8_t *b = row ? row + line->second : line->padding;
    const int32_t pixel = row ? line->pixel : 0;
    const int32_t pixels = line->blocks * AR_DW_PIXELS + line->rest;
    for (int32_t at = 0; at < pixels; at += 2) {
        int32_t *pairs = to + at / AR_DW_PIXELS * AR_DW_BLOCK_WORDS + at % AR_DW_PIXELS / 2;
        b = at + 1 == pixels ? line->padding : b;
        for (int32_t c = 0; c < AR_DW_GROUP; c++) {
            pairs[c * 12] = pair(a, b, c);
            if (at && at % AR_DW_PIXELS == 0) { /* this pair also ends the previous block */
                pairs[c * 12 + 3 - AR_DW_BLOCK_WORDS] = pair(a, b, c);
            }
        }
        a = b + pixel;
        b = a + pixel;
    }
}

#endif
