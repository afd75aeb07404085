/* Computes the constants of four channels for a kernel that computes single rows of a depthwise 3x3 convolution.
 * depthwise_3x3_row_s8_dsp.h describes their layout. */
#include "depthwise_3x3_row_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* Splits the weights of channels 0 and 1 in a, and of channels 2 and 3 in b, into one register per channel (c0 to
 * c3), which has two weights. A weight in the upper byte of a halfword is multiplied by 256. */
#define SPLIT(a, b, c0, c1, c2, c3)                             \
    "and " c0 ", r12, " a ", lsl #8\n and " c1 ", r12, " a "\n" \
    "and " c2 ", r12, " b ", lsl #8\n and " c3 ", r12, " b "\n"
/* Stores r8 to r11, one word per channel, at these offsets in the table. */
#define STORE(at0, at1, at2, at3)                       \
    "str r8, [r0, #" at0 "]\n str r9, [r0, #" at1 "]\n" \
    "str r10, [r0, #" at2 "]\n str r11, [r0, #" at3 "]\n"
/* Merges two taps of four channels, a and b: the low halfwords (channels 0 and 1) of both to `low`, the high halfwords
 * (channels 2 and 3) to `high`. */
#define MERGE(low, high, a, b) \
    "pkhbt " low ", " a ", " b ", lsl #16\n pkhtb " high ", " b ", " a ", asr #16\n"
/* Loads and stores the weights of one column of rows 0 and 1. */
#define COLUMN(at0, at1, at2, at3)                                                     \
    "ldr r5, [r1]\n ldr r6, [r1, r3]\n add r1, r1, r2\n" MERGE("r7", "r6", "r5", "r6") \
        SPLIT("r7", "r6", "r8", "r9", "r10", "r11") STORE(at0, at1, at2, at3)

/* Registers: r0 is the address of the table, r1 of the next weights, r2 the number of channels, r3 the address of
 * the biases, later 3 * channels, r4 the address of the multipliers. r5-r7 are the four channels' weights of a tap,
 * r12 is the mask of the upper bytes of both halfwords. */
__attribute__((naked)) void ar_depthwise_columns_s8_dsp(ar_dw_columns *table __attribute__((unused)),
                                                        const int8_t *weights __attribute__((unused)),
                                                        int32_t channels __attribute__((unused)),
                                                        const int32_t *bias __attribute__((unused)),
                                                        const int32_t *multiplier __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_columns_s8_dsp, 32\n"
            "push {r4-r11}\n"
            "ldr r4, [sp, #32]\n"
            "mov r12, #0xff00ff00\n"
            "ldm r4, {r8, r9, r10, r11}\n" /* */
            STORE("24", "52", "80", "108") /* */
            "ldm r3, {r8, r9, r10, r11}\n" /* */
            STORE("0", "28", "56", "84")   /* */
            "add r3, r2, r2, lsl #1\n"     /* */
            COLUMN("4", "32", "60", "88")  /* */
            COLUMN("8", "36", "64", "92")  /* */
            COLUMN("12", "40", "68", "96") /* */
            /* Load and store the weights of row 2. */
            "add r1, r1, r3\n"
            "ldr r5, [r1]\n"
            "ldr r6, [r1, r2]\n"
            "ldr r7, [r1, r2, lsl #1]\n"  /* */
            MERGE("r1", "r2", "r5", "r6") /* */
            MERGE("r3", "r4", "r6", "r7") /* */
            SPLIT("r1", "r2", "r6", "r8", "r10", "r1")
                SPLIT("r3", "r4", "r7", "r9", "r11", "r2") "strd r6, r7, [r0, #16]\n"
                                                           "strd r8, r9, [r0, #44]\n"
                                                           "strd r10, r11, [r0, #72]\n"
                                                           "strd r1, r2, [r0, #100]\n"
                                                           "pop {r4-r11}\n"
                                                           "bx lr\n");
}

#else

/* Returns two taps, multiplied by 256, in one word. */
static int32_t pack_taps(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)high << 24 | (uint32_t)(uint16_t)(low * 256));
}

void ar_depthwise_columns_s8_dsp(ar_dw_columns *table, const int8_t *weights, int32_t channels,
                                 const int32_t *bias, const int32_t *multiplier)
{
    for (int32_t c = 0; c < AR_DW_GROUP; c++) {
        const int8_t *w = weights + c;
        table[c].bias = bias[c];
        for (int32_t k = 0; k < 3; k++) {
            table[c].column[k] = pack_taps(w[k * channels], w[(3 + k) * channels]);
        }
        for (int32_t k = 0; k < 2; k++) {
            table[c].pair[k] = pack_taps(w[(6 + k) * channels], w[(7 + k) * channels]);
        }
        table[c].multiplier = multiplier[c];
    }
}

#endif
