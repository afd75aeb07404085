/* Assembly that converts input pixels to lines, for the files that need it in different loops. depthwise_3x3_s8_dsp.h
 * describes the layout. r0 is the address of the second pixel of a pair, r1 of the first pixel, r2 the number of bytes
 * per pixel, r3 the address in the line. r12 is the second address for the first pair of a block: the end of the
 * previous block, or in the first block the same address as r3. */
#ifndef ARENITE_DEPTHWISE_LINE_DSP_H
#define ARENITE_DEPTHWISE_LINE_DSP_H

/* clang-format off */
/* Merges pixels a and b, which have 4 channels: channels 0 and 1 of both to `low`, channels 2 and 3 of both to
 * `high`. */
#define AR_DW_MERGE(low, high, a, b) \
    "pkhbt " low ", " a ", " b ", lsl #16\n pkhtb " high ", " b ", " a ", asr #16\n"
/* Stores one channel of three pairs of pixels in the channel's line. The first pair is also stored at the end of the
 * previous block. */
#define AR_DW_CHANNEL(p0, p1, p2, rotation, offset, after)                                         \
    "sxtb16 r1, " p0 rotation "\n sxtb16 r8, " p1 rotation "\n sxtb16 r9, " p2 rotation "\n" \
    "strd r1, r8, [r3, #" offset "]\n str r9, [r3, #" after "]\n str r1, [r12, #" offset "]\n"
/* Stores one channel of one pair in the channel's line and at r12. */
#define AR_DW_PAIR(p, rotation, offset) \
    "sxtb16 r8, " p rotation "\n str r8, [r3, #" offset "]\n str r8, [r12, #" offset "]\n"
/* Converts six pixels, and decrements lr, the number of blocks left. */
#define AR_DW_LINE_BLOCK \
    "ldr r4, [r1]\n" \
    "ldr r5, [r0]\n" \
    "ldr r6, [r0, r2]\n" \
    "ldr r7, [r0, r2, lsl #1]\n" \
    "ldr r9, [r0, r2, lsl #2]\n" \
    "add r0, r0, r2\n" \
    "ldr r8, [r0, r2, lsl #1]\n" \
    AR_DW_MERGE("r10", "r11", "r4", "r5") AR_DW_MERGE("r4", "r5", "r6", "r7") \
    AR_DW_MERGE("r6", "r7", "r8", "r9") AR_DW_CHANNEL("r10", "r4", "r6", "", "0", "8") \
    AR_DW_CHANNEL("r10", "r4", "r6", ", ror #8", "48", "56") \
    AR_DW_CHANNEL("r11", "r5", "r7", "", "96", "104") \
    AR_DW_CHANNEL("r11", "r5", "r7", ", ror #8", "144", "152") \
    "add r12, r3, #12\n" \
    "add r3, r3, #192\n" \
    "add r1, r0, r2, lsl #2\n" \
    "add r0, r1, r2\n" \
    "subs lr, lr, #1\n"

/* Converts a pair of pixels after the blocks, and subtracts 2 from r4, the number of pixels left. */
#define AR_DW_LINE_PAIR \
    "ldr r6, [r1]\n" \
    "ldr r7, [r0]\n" \
    AR_DW_MERGE("r10", "r11", "r6", "r7") AR_DW_PAIR("r10", "", "0") \
    AR_DW_PAIR("r10", ", ror #8", "48") AR_DW_PAIR("r11", "", "96") \
    AR_DW_PAIR("r11", ", ror #8", "144") \
    "add r3, r3, #4\n" \
    "mov r12, r3\n" \
    "add r1, r0, r2\n" \
    "add r0, r1, r2\n" \
    "subs r4, r4, #2\n"

/* Converts a last pixel after the blocks. The other pixel of its pair is padding, whose address is in r5. No block
 * begins with this pair. */
#define AR_DW_LAST_PIXEL(p, rotation, offset) "sxtb16 r8, " p rotation "\n str r8, [r12, #" offset "]\n"
#define AR_DW_LINE_PIXEL \
    "ldr r6, [r1]\n ldr r7, [r5]\n" AR_DW_MERGE("r10", "r11", "r6", "r7") \
    AR_DW_LAST_PIXEL("r10", "", "0") AR_DW_LAST_PIXEL("r10", ", ror #8", "48") \
    AR_DW_LAST_PIXEL("r11", "", "96") AR_DW_LAST_PIXEL("r11", ", ror #8", "144")
/* Fills a block of the line with r4 and r5, and decrements lr. */
#define AR_DW_FILL_BLOCK \
    "strd r4, r5, [r3]\n strd r4, r5, [r3, #8]\n" \
    "strd r4, r5, [r3, #48]\n strd r4, r5, [r3, #56]\n" \
    "strd r4, r5, [r3, #96]\n strd r4, r5, [r3, #104]\n" \
    "strd r4, r5, [r3, #144]\n strd r4, r5, [r3, #152]\n" \
    "add r3, r3, #192\n" \
    "subs lr, lr, #1\n"
/* clang-format on */

#endif
