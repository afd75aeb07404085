/* Computes the constants of four channels of a depthwise 3x3 convolution. depthwise_3x3_s8_dsp.h describes their
 * layout. */
#include "depthwise_3x3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* r5, r6 and r7 are the taps w0, w1 and w2 of a kernel row, with a byte for each of the four channels. r8 has (w0,
 * w1) of channels 0 and 1, r9 of channels 2 and 3; r10 and r11 have (w1, w2) of the same channels. CHANNEL extracts
 * the weights of one channel, and stores them in the kernel row's entry and again three entries later. A weight in
 * the upper byte of a halfword is multiplied by 256. */
#define CHANNEL(first, last, shift, entry, again)                  \
    "and r5, r12, " first shift "\n and r6, r12, " last shift "\n" \
    "strd r5, r6, [r0, #" entry "]\n strd r5, r6, [r0, #" again "]\n"

/* Registers: r0 is the address of the kernel row's entry, r1 of the weights, r2 the number of channels, r3 the
 * address of the biases, r4 of the multipliers, r12 the mask of the upper bytes of both halfwords, lr the number of
 * kernel rows left, later of channels left. */
__attribute__((naked)) void ar_depthwise_table_s8_dsp(ar_dw_channel *table __attribute__((unused)),
                                                      const int8_t *weights __attribute__((unused)),
                                                      int32_t channels __attribute__((unused)),
                                                      const int32_t *bias __attribute__((unused)),
                                                      const int32_t *multiplier __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_table_s8_dsp, 36\n"
            "push {r4-r11, lr}\n"
            "ldr r4, [sp, #36]\n"
            "mov r12, #0xff00ff00\n"
            "mov lr, #3\n"
            "1:\n"
            "ldr r5, [r1]\n"
            "ldr r6, [r1, r2]\n"
            "ldr r7, [r1, r2, lsl #1]\n"
            "add r1, r1, r2, lsl #1\n"
            "add r1, r1, r2\n"
            "pkhbt r8, r5, r6, lsl #16\n"
            "pkhtb r9, r6, r5, asr #16\n"
            "pkhbt r10, r6, r7, lsl #16\n"
            "pkhtb r11, r7, r6, asr #16\n"                                                        /* */
            CHANNEL("r8", "r10", ", lsl #8", "4", "52")                                           /* */
            CHANNEL("r8", "r10", "", "100", "148") CHANNEL("r9", "r11", ", lsl #8", "196", "244") /* */
            CHANNEL("r9", "r11", "", "292", "340")                                                /* */
            "add r0, r0, #16\n"
            "subs lr, lr, #1\n"
            "bne 1b\n"
            "sub r0, r0, #48\n"
            "mov lr, #4\n"
            "2:\n"
            "ldr r5, [r3], #4\n"
            "ldr r6, [r4], #4\n"
            /* A multiplier and the bias of the next entry are adjacent. */
            "str r5, [r0]\n strd r6, r5, [r0, #12]\n"
            "strd r6, r5, [r0, #28]\n str r6, [r0, #44]\n"
            "add r0, r0, #96\n"
            "subs lr, lr, #1\n"
            "bne 2b\n"
            "pop {r4-r11, pc}\n");
}

#else

/* Returns two taps, multiplied by 256, in one word. */
static int32_t pack_taps(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)high << 24 | (uint32_t)(uint16_t)(low * 256));
}

void ar_depthwise_table_s8_dsp(ar_dw_channel *table, const int8_t *weights, int32_t channels,
                               const int32_t *bias, const int32_t *multiplier)
{
    for (int32_t c = 0; c < AR_DW_GROUP; c++) {
        for (int32_t k = 0; k < 6; k++) {
            const int8_t *w = weights + k % 3 * 3 * channels + c;
            table[c].line[k].bias = bias[c];
            table[c].line[k].first = pack_taps(w[0], w[channels]);
            table[c].line[k].last = pack_taps(w[channels], w[2 * channels]);
            table[c].line[k].multiplier = multiplier[c];
        }
    }
}

#endif
