/* Multiplies 3 transformed tiles of 2 x 2 outputs with pairs of transformed filters: 8 instructions for 12 products,
 * which replace 27 products of a direct convolution. winograd_square3_s8_dsp.h describes the algorithm, and why it is
 * exact. */
#include "winograd_square3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* Registers in the loop:
 *  r0-r2: two inputs of each of the 3 tiles           r3 and r4: filter words of the first and the second channel
 *  r5-r7: sums of the first channel for each tile     r8-r10: sums of the second channel for each tile
 *  r11: address of the next inputs                    r12: address of the next filter words
 *  lr: number of loop rounds left
 * The stack begins with the fields of ar_winograd_square_s8, with an address of code in place of `pair`:
 *  sp +0: out, +12: row, +16: pixel, +20: rounding, +24: requant, +28: x, +32: rounds, +36: where to continue after the
 *  four planes of a row, +40: end, +44: out_row
 * Then it has sets of six sums, in the order of r5-r10:
 *  +48: sums of h = 1, then their differences from those of h = 2     +72: what the sums of the right outputs still lack
 *  +96: left outputs of the present v     +120: left outputs of v = 1, then what v = 3 starts with
 *  +144: right outputs of v = 1, then what they lack at v = 3 */

/* clang-format off */
/* Multiplies two inputs of each tile with the filters of both channels. */
#define WORD \
    "ldrd r3, r4, [r12], #8\n ldm r11!, {r0, r1, r2}\n" \
    "smlad r5, r3, r0, r5\n smlad r6, r3, r1, r6\n smlad r7, r3, r2, r7\n" \
    "smlad r8, r4, r0, r8\n smlad r9, r4, r1, r9\n smlad r10, r4, r2, r10\n"
/* Multiplies a plane with its filters, 16 channels in a round. */
#define PLANE \
    "ldr lr, [sp, #32]\n 0:\n" WORD WORD WORD WORD WORD WORD WORD WORD "subs lr, lr, #1\n bne 0b\n"
#define SAVE(a, b, c) "strd r5, r6, [sp, #" a "]\n strd r7, r8, [sp, #" b "]\n strd r9, r10, [sp, #" c "]\n"
#define RESTORE(a, b, c) "ldrd r5, r6, [sp, #" a "]\n ldrd r7, r8, [sp, #" b "]\n ldrd r9, r10, [sp, #" c "]\n"
/* Combines two saved sums m1 with the sums m2 in `a` and `b`: m1 - m2 is saved, a and b become m1 + m2. */
#define COMBINE(at, a, b) \
    "ldrd r0, r1, [sp, #" at "]\n" \
    "sub r0, r0, " a "\n sub r1, r1, " b "\n add " a ", r0, " a ", lsl #1\n add " b ", r1, " b ", lsl #1\n" \
    "strd r0, r1, [sp, #" at "]\n"
/* Adds two saved numbers to a and b. */
#define ADD(at, a, b) "ldrd r0, r1, [sp, #" at "]\n add " a ", " a ", r0\n add " b ", " b ", r1\n"
/* After v = 2, for two sums: a and b are the right outputs of v = 1 plus v = 2. The left outputs of v = 1 plus v = 2
 * replace them, and what they lack to the right outputs is saved at `lack`. The differences of v = 1 and v = 2 are treated
 * in the same way: those of the left outputs replace left1, and those of the right outputs at right1 become what is
 * lacking. */
#define LEFT(lack, left, left1, right1, a, b) \
    "ldrd r0, r1, [sp, #" left1 "]\n ldrd r2, r3, [sp, #" left "]\n" \
    "sub r4, r0, r2\n add r0, r0, r2\n sub lr, r1, r3\n add r1, r1, r3\n" \
    "sub r2, " a ", r0\n mov " a ", r0\n sub r3, " b ", r1\n mov " b ", r1\n" \
    "strd r2, r3, [sp, #" lack "]\n ldrd r0, r1, [sp, #" right1 "]\n strd r4, lr, [sp, #" left1 "]\n" \
    "sub r0, r0, r4\n sub r1, r1, lr\n strd r0, r1, [sp, #" right1 "]\n"
/* Requantizes the sum r: r0 is rounding, m the multiplier, `offset` the offset. */
#define REQUANT(r, m, offset) \
    "eor lr, " offset ", " r ", asr #31\n add " r ", lr, " r ", lsl #2\n smmla " r ", " r ", " m ", r0\n" \
    "ssat " r ", #8, " r ", asr #12\n" /* AR_WINOGRAD_SHIFT */
/* Requantizes and stores six outputs. `more` is code that adds the offset of a right output to lr. */
#define OUTPUTS(more) \
    "ldrd r0, r1, [sp, #20]\n ldm r1, {r1, r2, r3, r4}\n" \
    REQUANT("r5", "r1", "r2") REQUANT("r6", "r1", "r2") REQUANT("r7", "r1", "r2") \
    REQUANT("r8", "r3", "r4") REQUANT("r9", "r3", "r4") REQUANT("r10", "r3", "r4") \
    "bfi r5, r8, #8, #8\n bfi r6, r9, #8, #8\n bfi r7, r10, #8, #8\n" \
    "ldm sp, {r0, r1, r2, lr}\n" more \
    "strh r5, [r0, lr]\n strh r6, [r1, lr]\n strh r7, [r2, lr]\n"

__attribute__((naked)) void ar_winograd_square3_s8_dsp(const ar_winograd_square_s8 *d __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_winograd_square3_s8_dsp, 204\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #168\n"
            "ldm r0, {r1-r12}\n"
            "stm sp, {r1-r12}\n"
            "mov r12, r10\n"
            /* The loop over the pairs of channels. The sums of v = 1 start with the biases. */
            "1:\n"
            "adr.w r0, 3f\n"
            "add r0, r0, #1\n"
            "str r0, [sp, #36]\n"
            "movs r0, #0\n movs r1, #0\n"
            "strd r0, r1, [sp, #72]\n strd r0, r1, [sp, #80]\n strd r0, r1, [sp, #88]\n"
            "ldr r11, [sp, #28]\n"
            "ldrd r5, r8, [r12], #8\n"
            "mov r6, r5\n mov r7, r5\n mov r9, r8\n mov r10, r8\n"
            /* The planes h = 1, 2, 0 and 3 of one v. */
            "2:\n"
            PLANE
            SAVE("48", "56", "64")
            "movs r5, #0\n movs r6, #0\n movs r7, #0\n mov r8, r5\n mov r9, r5\n mov r10, r5\n"
            PLANE
            COMBINE("48", "r5", "r6") COMBINE("56", "r7", "r8") COMBINE("64", "r9", "r10")
            PLANE
            SAVE("96", "104", "112")
            RESTORE("48", "56", "64")
            ADD("72", "r5", "r6") ADD("80", "r7", "r8") ADD("88", "r9", "r10")
            PLANE
            "ldr pc, [sp, #36]\n"
            /* After v = 1. */
            ".balign 4\n"
            "3:\n"
            "adr.w r0, 4f\n"
            "add r0, r0, #1\n"
            "str r0, [sp, #36]\n"
            SAVE("144", "152", "160")
            RESTORE("96", "104", "112")
            SAVE("120", "128", "136")
            "movs r5, #0\n movs r6, #0\n movs r7, #0\n mov r8, r5\n mov r9, r5\n mov r10, r5\n"
            "b.w 2b\n"
            /* After v = 2. */
            ".balign 4\n"
            "4:\n"
            "adr.w r0, 5f\n"
            "add r0, r0, #1\n"
            "str r0, [sp, #36]\n"
            COMBINE("144", "r5", "r6") COMBINE("152", "r7", "r8") COMBINE("160", "r9", "r10")
            LEFT("72", "96", "120", "144", "r5", "r6")
            LEFT("80", "104", "128", "152", "r7", "r8")
            LEFT("88", "112", "136", "160", "r9", "r10")
            "b.w 2b\n"
            /* After v = 0 and v = 3: the upper and the lower outputs are complete. */
            ".balign 4\n"
            "5:\n"
            OUTPUTS("ldr r3, [sp, #16]\n add lr, lr, r3\n")
            RESTORE("96", "104", "112")
            OUTPUTS("")
            "cmp lr, #0\n"
            "bne 6f\n"
            "ldr lr, [sp, #44]\n"
            "str lr, [sp, #12]\n"
            RESTORE("144", "152", "160")
            SAVE("72", "80", "88")
            RESTORE("120", "128", "136")
            "b.w 2b\n"
            "6:\n"
            "add r0, r0, #2\n add r1, r1, #2\n add r2, r2, #2\n mov r3, #0\n"
            "stm sp, {r0, r1, r2, r3}\n"
            "ldr r0, [sp, #24]\n"
            "add r0, r0, #16\n"
            "str r0, [sp, #24]\n"
            "ldr r0, [sp, #40]\n"
            "cmp r12, r0\n"
            "bne.w 1b\n"
            "add sp, #168\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

void ar_winograd_square3_s8_dsp(const ar_winograd_square_s8 *d)
{
    const int32_t words = 8 * d->rounds; /* words of inputs in a plane of each tile */
    const int32_t *requant = d->requant;
    int32_t at = 0; /* the pair's channel */
    for (const int32_t *pair = d->pair; pair != d->end; pair += 2 + 32 * words, requant += 4, at += 2) {
        for (int32_t tile = 0; tile < 3; tile++) {
            for (int32_t channel = 0; channel < 2; channel++) {
                uint32_t m[4][4] = {{0}}; /* [v][h] in the order of the planes: 1, 2, 0, 3 */
                m[0][0] = (uint32_t)pair[channel];
                for (int32_t plane = 0; plane < 16; plane++) {
                    for (int32_t k = 0; k < words; k++) {
                        const int32_t at_k = plane * words + k;
                        uint32_t *const sum = &m[plane / 4][plane % 4];
                        *sum = ar_dot_smlad(*sum, d->x[3 * at_k + tile], pair[2 + 2 * at_k + channel]);
                    }
                }
                for (int32_t column = 0; column < 2; column++) {
                    uint32_t s[4];
                    for (int32_t v = 0; v < 4; v++) {
                        s[v] = column ? m[v][0] - m[v][1] + m[v][3] : m[v][0] + m[v][1] + m[v][2];
                    }
                    for (int32_t row = 0; row < 2; row++) {
                        const uint32_t sum = row ? s[0] - s[1] + s[3] : s[0] + s[1] + s[2];
                        const int32_t offset = requant[2 * channel + 1];
                        const int32_t x =
                            (int32_t)(4 * sum + (uint32_t)((int32_t)sum < 0 ? ~offset : offset));
                        d->out[tile][at + channel + row * d->out_row + column * d->pixel] =
                            ar_dot_output(x, requant[2 * channel], d->rounding, AR_WINOGRAD_SHIFT);
                    }
                }
            }
        }
    }
}

#endif
