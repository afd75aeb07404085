/* Multiplies 3 transformed tiles with pairs of transformed filters: 8 instructions for 12 products, which replace 18
 * products of a direct convolution. The file winograd3_s8_dsp.h describes the algorithm, and why it is exact. */
#include "winograd3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* Registers in the loop:
 *  r0-r2: two inputs of each of the 3 tiles           r3 and r4: filter words of the first and the second channel
 *  r5-r7: sums of the first channel for each tile     r8-r10: sums of the second channel for each tile
 *  r11: address of the next inputs                    r12: address of the next filter words
 *  lr: number of loop rounds left
 * The stack holds the other values. The first eight are fields of ar_winograd_s8_dsp:
 *  sp +0: out, +4: requant, +8: rounding, +12: shift, +16: tile, +20: x, +24: end, +28: groups
 *  +32: six saved sums    +56: return address of a routine    +60: saved r11 */

/* Multiplies two inputs of each tile with the filters of both channels. */
#define WORD                                                               \
    "ldrd r3, r4, [r12], #8\n ldm r11!, {r0, r1, r2}\n"                    \
    "smlad r5, r3, r0, r5\n smlad r6, r3, r1, r6\n smlad r7, r3, r2, r7\n" \
    "smlad r8, r4, r0, r8\n smlad r9, r4, r1, r9\n smlad r10, r4, r2, r10\n"
/* CALL runs a routine that ends with RETURN, and continues at the label `back`. The return address is on the stack,
 * because lr counts loop rounds. */
#define CALL(routine, back) \
    "adr r0, " back "f\n adds r0, r0, #1\n str r0, [sp, #56]\n b " routine "\n .balign 4\n" back ":\n"
#define RETURN "ldr pc, [sp, #56]\n"
/* `difference` is m2 and becomes m2 - m3; `sum` is m3 and becomes m2 + m3. */
#define COMBINE(difference, sum) \
    "sub " difference ", " difference ", " sum "\n add " sum ", " difference ", " sum ", lsl #1\n"
/* Requantizes the sum r to int8: r2 is rounding, r3 shift, r4 the multiplier and r11 the offset. */
#define REQUANT(r)                                                                              \
    "eor lr, r11, " r ", asr #31\n add " r ", lr, " r ", lsl #1\n smmla " r ", " r ", r4, r2\n" \
    "asr " r ", " r ", r3\n ssat " r ", #8, " r "\n"

/* clang-format off */
__attribute__((naked)) void ar_winograd3_s8_dsp(const ar_winograd_s8_dsp *d __attribute__((unused)))
{
    __asm__(
            ".set ar_stack_ar_winograd3_s8_dsp, 100\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #64\n"
            "ldm r0, {r1-r9}\n"
            "mov r12, r9\n"
            "stm sp, {r1-r8}\n"
            /* The loop over the pairs of channels. First m2 is computed; its sums start from the biases. */
            "1:\n"
            "ldrd r5, r8, [r12], #8\n"
            "mov r6, r5\n mov r7, r5\n mov r9, r8\n mov r10, r8\n"
            "ldr r11, [sp, #20]\n"
            CALL("7f", "2")
            "strd r5, r6, [sp, #32]\n strd r7, r8, [sp, #40]\n strd r9, r10, [sp, #48]\n"
            /* Then m3. The saved sums become m2 - m3, the sums in registers become m2 + m3. */
            "movs r5, #0\n movs r6, #0\n movs r7, #0\n mov r8, r5\n mov r9, r5\n mov r10, r5\n"
            CALL("7f", "3")
            "ldrd r0, r1, [sp, #32]\n ldrd r2, r3, [sp, #40]\n"
            COMBINE("r0", "r5") COMBINE("r1", "r6") COMBINE("r2", "r7") COMBINE("r3", "r8")
            "strd r0, r1, [sp, #32]\n strd r2, r3, [sp, #40]\n"
            "ldrd r0, r1, [sp, #48]\n"
            COMBINE("r0", "r9") COMBINE("r1", "r10")
            "strd r0, r1, [sp, #48]\n"
            /* m1 is added to m2 + m3. This gives the first output of each tile. */
            CALL("7f", "4")
            "str r11, [sp, #60]\n"
            CALL("8f", "5")
            "add r0, r0, r4, lsr #1\n sub r0, r0, #1\n str r0, [sp]\n"
            /* -m4 is added to m2 - m3. This gives the second output of each tile. */
            "ldrd r5, r6, [sp, #32]\n ldrd r7, r8, [sp, #40]\n ldrd r9, r10, [sp, #48]\n"
            "ldr r11, [sp, #60]\n"
            CALL("7f", "6")
            CALL( "8f", "9")
            "sub r0, r0, r4, lsr #1\n add r0, r0, #1\n add r1, r1, #16\n strd r0, r1, [sp]\n"
            "ldr r0, [sp, #24]\n"
            "cmp r12, r0\n"
            "bne 1b\n"
            "add sp, #64\n"
            "pop {r4-r11, pc}\n"
            /* The routine that multiplies one plane with its filters: for each group of four channels, 6 words of
             * inputs of every tile. */
            "7:\n"
            "ldr lr, [sp, #28]\n"
            "0:\n"
            WORD WORD WORD WORD WORD WORD
            "subs lr, lr, #1\n"
            "bne 0b\n"
            RETURN
            /* The routine that requantizes and stores six sums. Afterwards r0 is out + 1, r1 is requant and r4 is
             * tile. */
            "8:\n"
            "ldm sp, {r0, r1, r2, r3}\n"
            "ldrd r4, r11, [r1]\n"
            REQUANT("r5") REQUANT("r6") REQUANT("r7")
            "ldrd r4, r11, [r1, #8]\n"
            REQUANT("r8") REQUANT("r9") REQUANT("r10")
            "ldr r4, [sp, #16]\n"
            "strb r6, [r0, r4]\n strb r7, [r0, r4, lsl #1]\n strb r5, [r0], #1\n"
            "strb r9, [r0, r4]\n strb r10, [r0, r4, lsl #1]\n strb r8, [r0]\n"
            RETURN);
}
/* clang-format on */

#else

#include "affine_requant.h"

/* Returns the lower (which = 0) or the upper (which = 1) int16 of a word. */
static int32_t half(int32_t word, int32_t which) { return (int16_t)((uint32_t)word >> (16 * which)); }

void ar_winograd3_s8_dsp(const ar_winograd_s8_dsp *d)
{
    const int32_t words = 6 * d->groups; /* words of inputs in a plane of each tile */
    const int32_t *requant = d->requant;
    int8_t *out = d->out;
    for (const int32_t *pair = d->pair; pair != d->end; pair += 2 + 8 * words, requant += 4, out += 2) {
        for (int32_t tile = 0; tile < 3; tile++) {
            for (int32_t channel = 0; channel < 2; channel++) {
                uint32_t m[4] = {0, 0, 0, 0};
                for (int32_t plane = 0; plane < 4; plane++) {
                    for (int32_t k = 0; k < words; k++) {
                        const int32_t x = d->x[3 * (plane * words + k) + tile];
                        const int32_t w = pair[2 + 2 * (plane * words + k) + channel];
                        m[plane] += (uint32_t)(half(x, 0) * half(w, 0) + half(x, 1) * half(w, 1));
                    }
                }
                m[0] += (uint32_t)pair[channel];
                for (int32_t e = 0; e < 2; e++) {
                    const uint32_t sum = e ? m[0] - m[1] + m[3] : m[0] + m[1] + m[2];
                    const int32_t offset = requant[2 * channel + 1];
                    const int32_t x = (int32_t)(2 * sum + (uint32_t)((int32_t)sum < 0 ? ~offset : offset));
                    out[tile * d->tile + e * (d->tile / 2) + channel] =
                        ar_affine_s8(x, requant[2 * channel], d->rounding, d->shift);
                }
            }
        }
    }
}

#endif
