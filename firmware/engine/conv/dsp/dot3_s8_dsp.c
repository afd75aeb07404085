/* Multiplies the inputs of 3 pixels, widened to int16, with pairs of int8 filters: 8.5 instructions for 12 products,
 * and about 41 instructions to requantize the 6 sums of a pair. The file dot_s8_dsp.h describes the memory layouts, and
 * why the result is exact. */
#include "dot_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair.
 *  r0-r2: two inputs of each of the 3 pixels         r3-r4: two words of filters
 *  r5-r7: 256 * A + B of each pixel                  r8-r10: B of each pixel
 *  r11: address of the next widened inputs           r12: address of the next filter words
 *  lr: number of loop rounds left
 * The stack holds the other values. The first seven are fields of ar_dot_s8_dsp:
 *  sp +0: out, +4: requant, +8: rounding, +12: shift, +16: pixel, +20: x, +24: end
 *  +28: number of loop rounds for a pair             +32: address at which the first round enters the loop
 *  +36: address of the code for the one-sided, two-sided or fixed requantization (see dot_s8_dsp.h) */

/* clang-format off */
/* WORD multiplies the filter word `w` with two inputs of every pixel. FIRST_WORD does the same, and starts the sums
 * with the biases in r5 and r8. */
#define WORD(w) \
    "ldm r11!, {r0, r1, r2}\n" \
    "smlad r5, " w ", r0, r5\n smlad r6, " w ", r1, r6\n smlad r7, " w ", r2, r7\n" \
    "sxtb16 " w ", " w "\n" \
    "smlad r8, " w ", r0, r8\n smlad r9, " w ", r1, r9\n smlad r10, " w ", r2, r10\n"
#define FIRST_WORD(w) \
    "ldm r11!, {r0, r1, r2}\n" \
    "smlad r6, " w ", r1, r5\n smlad r7, " w ", r2, r5\n smlad r5, " w ", r0, r5\n" \
    "sxtb16 " w ", " w "\n" \
    "smlad r9, " w ", r1, r8\n smlad r10, " w ", r2, r8\n smlad r8, " w ", r0, r8\n"
/* Multiplies four inputs of each pixel. It has 17 instructions of 4 bytes, so the address at which the loop is entered
 * can be computed from the number of groups. */
#define GROUP "ldrd r3, r4, [r12], #8\n" WORD("r3") WORD("r4")

/* Macros of the requantization. r0 is out, r1 requant, r2 rounding and r3 shift; x is 256 * sum + offset. FIRST scales
 * the first channel of a pixel: `a` is 256 * A + B and `b` is B, so x is a - b. SECOND scales the second channel: ROR
 * makes x from B with the offset in its top byte. The macros _TWO_SIDED also overwrite r4, which otherwise holds the
 * distance in bytes from one output pixel to the next. SATURATE shifts a scaled value and limits it to int8. */
#define FIRST(a, b) "sub " a ", " a ", " b "\n smmla " a ", " a ", r11, r2\n"
#define SECOND(b) "ror " b ", " b ", #24\n smmla " b ", " b ", lr, r2\n"
#define FIRST_TWO_SIDED(a, b) \
    "sub " a ", " a ", " b "\n eor r4, lr, " a ", asr #31\n add " a ", " a ", r4\n smmla " a ", " a ", r11, r2\n"
#define SECOND_TWO_SIDED(b) \
    "eor r4, lr, " b ", asr #31\n add " b ", r4, " b ", lsl #8\n smmla " b ", " b ", r11, r2\n"
#define SATURATE(r) "asr " r ", " r ", r3\n ssat " r ", #8, " r "\n"
#define SATURATE_FIXED(r) "ssat " r ", #8, " r ", asr #12\n" /* AR_DOT_SHIFT */

__attribute__((naked)) void ar_dot3_s8_dsp(const ar_dot_s8_dsp *d __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_dot3_s8_dsp, 76\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #40\n"
            "ldm r0, {r1-r10}\n"
            "mov r12, r10\n"
            "mov r11, r6\n"
            /* The first group of a pair is computed before the loop. One round of the loop computes 16 groups. If
             * fewer groups remain for the first round, the code enters the loop after its surplus first groups. */
            "sub r0, r8, #1\n"
            "add r8, r0, #15\n"
            "lsr r8, r8, #4\n"
            "rsb r0, r0, r8, lsl #4\n"
            "add r0, r0, r0, lsl #4\n"
            "adr.w lr, 2f\n"
            "add r0, lr, r0, lsl #2\n"
            "cmp r8, #0\n"
            "it eq\n adreq.w r0, 3f\n"
            "adr.w r10, 8f\n"
            "cmp r9, #1\n"
            "it eq\n adreq.w r10, 4f\n"
            "it gt\n adrgt.w r10, 5f\n"
            "add r9, r0, #1\n"
            "add r10, r10, #1\n"
            "stm sp, {r1-r10}\n"
            /* The loop over the filter pairs. */
            "1:\n"
            "ldrd r5, r8, [r12], #8\n"
            "ldrd r3, r4, [r12], #8\n"
            FIRST_WORD("r3") WORD("r4")
            "ldr lr, [sp, #28]\n"
            "ldr pc, [sp, #32]\n"
            "2:\n"
            GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP
            GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP
            "subs lr, lr, #1\n"
            "bne.w 2b\n"
            "3:\n"
            "ldm sp, {r0, r1, r2, r3, r4}\n"
            "ldr pc, [sp, #36]\n"
            /* One-sided: r11 and lr are the multipliers of the first and the second channel. */
            "4:\n"
            "ldrd r11, lr, [r1], #8\n"
            FIRST("r5", "r8") FIRST("r6", "r9") FIRST("r7", "r10") SECOND("r8") SECOND("r9") SECOND("r10")
            "6:\n"
            SATURATE("r5") SATURATE("r6") SATURATE("r7") SATURATE("r8") SATURATE("r9") SATURATE("r10")
            "b 7f\n"
            /* Two-sided: r11 is the multiplier and lr the offset, first of the first channel, then of the second. */
            "5:\n"
            "ldrd r11, lr, [r1], #8\n"
            FIRST_TWO_SIDED("r5", "r8") FIRST_TWO_SIDED("r6", "r9") FIRST_TWO_SIDED("r7", "r10")
            "ldrd r11, lr, [r1], #8\n"
            SECOND_TWO_SIDED("r8") SECOND_TWO_SIDED("r9") SECOND_TWO_SIDED("r10")
            "ldr r4, [sp, #16]\n"
            "cmp r3, #12\n" /* AR_DOT_SHIFT */
            "bne 6b\n"
            "b 9f\n"
            /* One-sided with the fixed shift: r11 and lr are the two multipliers. */
            "8:\n"
            "ldrd r11, lr, [r1], #8\n"
            FIRST("r5", "r8") FIRST("r6", "r9") FIRST("r7", "r10") SECOND("r8") SECOND("r9") SECOND("r10")
            "9:\n"
            SATURATE_FIXED("r5") SATURATE_FIXED("r6") SATURATE_FIXED("r7")
            SATURATE_FIXED("r8") SATURATE_FIXED("r9") SATURATE_FIXED("r10")
            "7:\n"
            "strb r6, [r0, r4]\n strb r7, [r0, r4, lsl #1]\n strb r5, [r0], #1\n"
            "strb r9, [r0, r4]\n strb r10, [r0, r4, lsl #1]\n strb r8, [r0], #1\n"
            "strd r0, r1, [sp]\n"
            "ldrd r11, lr, [sp, #20]\n"
            "cmp r12, lr\n"
            "bne.w 1b\n"
            "add sp, #40\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

void ar_dot3_s8_dsp(const ar_dot_s8_dsp *d) { ar_dot_s8_plain(d, 3); }

#endif
