/* Computes one output pixel of a depthwise convolution, four channels at a time. 8 products take 20 instructions.
 * depthwise_conv_2d_s8_dsp.h describes the memory layouts and why the result is exact. */
#include "depthwise_conv_2d_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* Registers: r0-r3 are the sums of four channels, r4-r9 temporary values, r10 is the position in the list of taps,
 * r11 the number of the first of the four channels, r12 the address of the next weights, lr the number of pairs of
 * taps left. The stack has the fields of the ar_dw_pixel, except the weights; two_sided is replaced by the address
 * of label 3 or 4.
 *
 * CHANNEL adds the products of both taps of a pair for one channel. OUTPUT requantizes and stores one sum: r4 is
 * the address of the channel's multiplier and offset, r5 the address of the output, r6 the rounding constant, r7
 * the shift. In a two-sided layer, `low` is an instruction that inverts the offset if the sum is negative. */
#define CHANNEL(sum, pixels, weights, rotation) \
    "sxtb16 r4, " pixels rotation "\n sxtb16 r5, " weights rotation "\n smlad " sum ", r4, r5, " sum "\n"
#define OUTPUT(sum, low)                                                                      \
    "ldrd r8, r9, [r4], #8\n" low "add " sum ", r9, " sum ", lsl #8\n"                        \
    "smmla " sum ", " sum ", r8, r6\n asr " sum ", " sum ", r7\n ssat " sum ", #8, " sum "\n" \
    "strb " sum ", [r5], #1\n"
#define ONE_SIDED(sum) OUTPUT(sum, "")
#define TWO_SIDED(sum) OUTPUT(sum, "eor r9, r9, " sum ", asr #31\n")

__attribute__((naked)) void ar_depthwise_pixel_s8_dsp(const ar_dw_pixel *pixel __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_depthwise_pixel_s8_dsp, 76\n"
            "push {r4-r11, lr}\n"
            "sub sp, #40\n"
            "ldm r0, {r1-r10, r12}\n"
            "adr.w r11, 3f\n"
            "cmp r10, #0\n"
            "it ne\n adrne.w r11, 4f\n"
            "add r10, r11, #1\n"
            "stm sp, {r1-r10}\n"
            "mov r11, #0\n"
            /* The loop over groups of four channels. */
            "1:\n"
            "ldrd r4, r10, [sp, #16]\n"
            "ldm r4!, {r0-r3}\n"
            "str r4, [sp, #16]\n"
            "ldrd lr, r9, [sp, #24]\n"
            "cmp lr, #0\n"
            "beq 5f\n"
            "2:\n"
            "ldrd r4, r5, [r10], #8\n"
            "ldr r4, [r4, r11]\n"
            "ldr r5, [r5, r11]\n"
            "ldrd r6, r7, [r12], #8\n"
            "pkhbt r8, r4, r5, lsl #16\n"
            "pkhtb r9, r5, r4, asr #16\n"                                       /* */
            CHANNEL("r0", "r8", "r6", "") CHANNEL("r1", "r8", "r6", ", ror #8") /* */
            CHANNEL("r2", "r9", "r7", "") CHANNEL("r3", "r9", "r7", ", ror #8") /* */
            "subs lr, lr, #1\n"
            "bne 2b\n"
            "ldr r9, [sp, #28]\n"
            "5:\n"
            "cmp r9, #0\n"
            "beq 6f\n"
            "ldr r4, [r10]\n"
            "ldr r4, [r4, r11]\n"
            "ldr r5, [r12], #4\n"
            "sxtb16 r6, r4\n sxtb16 r7, r5\n"
            "smlabb r0, r6, r7, r0\n smlatt r2, r6, r7, r2\n"
            "sxtb16 r6, r4, ror #8\n sxtb16 r7, r5, ror #8\n"
            "smlabb r1, r6, r7, r1\n smlatt r3, r6, r7, r3\n"
            "6:\n"
            "ldm sp, {r4, r5, r6, r7}\n"
            "ldr pc, [sp, #36]\n"
            "3:\n"                                          /* */
            ONE_SIDED("r0") ONE_SIDED("r1") ONE_SIDED("r2") /* */
            ONE_SIDED("r3")                                 /* */
            "b 7f\n"
            "4:\n"                                          /* */
            TWO_SIDED("r0") TWO_SIDED("r1") TWO_SIDED("r2") /* */
            TWO_SIDED("r3")                                 /* */
            "7:\n"
            "strd r4, r5, [sp]\n"
            "add r11, r11, #4\n"
            "ldr r4, [sp, #32]\n"
            "cmp r11, r4\n"
            "bne 1b\n"
            "add sp, #40\n"
            "pop {r4-r11, pc}\n");
}

#else

void ar_depthwise_pixel_s8_dsp(const ar_dw_pixel *pixel)
{
    const int8_t *w = (const int8_t *)pixel->weights;
    for (int32_t first = 0; first < pixel->end; first += 4) {
        const int32_t pairs = pixel->pairs;
        for (int32_t k = 0; k < 4; k++) {
            const int32_t c = first + k;
            int32_t sum = pixel->bias[c];
            for (int32_t t = 0; t < pairs; t++) {
                const int8_t *pair = w + 8 * t + k / 2 * 4 + k % 2;
                sum += pixel->taps[2 * t][c] * pair[0] + pixel->taps[2 * t + 1][c] * pair[2];
            }
            if (pixel->odd) {
                sum += pixel->taps[2 * pairs][c] * w[8 * pairs + k];
            }
            pixel->out[c] =
                ar_dw_output(sum, pixel->scale + 2 * c, pixel->rounding, pixel->shift, pixel->two_sided);
        }
        w += 8 * pairs + (pixel->odd ? 4 : 0);
    }
}

#endif
