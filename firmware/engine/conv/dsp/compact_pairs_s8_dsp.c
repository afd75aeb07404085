/* Multiplies blocks of 3 pixels with pairs of filters, and rescales their sums, for builds for small flash: 19
 * instructions for 24 products, 60 for the outputs of a block, and 51 for a pair. conv_2d_s8_compact_dsp.h describes the
 * layouts. */
#include "conv_2d_s8_compact_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair.
 *  r0-r2: two inputs of each of the 3 pixels         r3-r4: two words of filters
 *  r5-r7: 256 * A + B of each pixel                  r8-r10: B of each pixel
 *  r11: address of the next widened inputs           r12: address of the next filter words
 *  lr: number of groups left
 * The stack has the address of the ar_compact_work. Offsets in it: 0 filters, 4 groups, 8 x, 12 blocks, 16 out, 20
 * pixel, 24 table, 28 pairs, 32 spare and the rest of the format, 60 `state`: the scale of A and of B
 * (ar_compact_scale), then at 84 the words with which the sums begin, 92 the inputs, output and number of the blocks that
 * are left.
 * UNPACK makes a channel's scale from its word `w` and its entry of the table `t`, and its bias in `b`: r5 is spare, r6
 * room, r7 mask, r8 shift_bits, r9 dropped, r10 shift_base, r11 zero_twice. It overwrites r3 and r12.
 * RESCALE computes an output from twice the sum in `r`, with the scale in r0 to r2 (compact_scale.h). It overwrites
 * r3. */

/* clang-format off */
#define WORD(w) \
    "ldm r11!, {r0, r1, r2}\n" \
    "smlad r5, " w ", r0, r5\n smlad r6, " w ", r1, r6\n smlad r7, " w ", r2, r7\n" \
    "sxtb16 " w ", " w "\n" \
    "smlad r8, " w ", r0, r8\n smlad r9, " w ", r1, r9\n smlad r10, " w ", r2, r10\n"
#define UNPACK(w, t, b) \
    "lsl " b ", " w ", r5\n asr " b ", r5\n" \
    "lsr " w ", r6\n orr " t ", " t ", " w ", lsl #16\n" \
    "and r12, " t ", r7\n add r12, r10\n" \
    "lsr " w ", " t ", r8\n lsl " w ", r9\n orr " w ", #0x40000000\n" \
    "lsl r3, r11, r12\n add r12, #1\n" \
    "stm lr!, {" w ", r3, r12}\n"
#define RESCALE(r) \
    "add r3, r1, " r ", asr #31\n smmlar " r ", " r ", r0, r3\n asr " r ", r2\n ssat " r ", #8, " r "\n"

__attribute__((naked)) void ar_compact_pairs_s8_dsp(ar_compact_work *work __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_compact_pairs_s8_dsp, 40\n" /* the stack use in bytes, read by object_files.py */
            "push {r0, r4-r11, lr}\n"
            "1:\n" /* a pair */
            "ldr r12, [sp]\n"
            "add lr, r12, #32\n"
            "ldm lr!, {r5-r11}\n"
            "ldr r0, [r12]\n"
            "ldrd r1, r2, [r0], #8\n"
            "str r0, [r12]\n"
            "ldr r0, [r12, #24]\n"
            "cbz r5, 2f\n"
            "ldr r4, [r0], #4\n"
            "uxth r3, r4\n"
            "lsr r4, r4, #16\n"
            "b 3f\n"
            "2:\n"
            "ldrd r3, r4, [r0], #8\n"
            "3:\n"
            "str r0, [r12, #24]\n"
            UNPACK("r1", "r3", "r0") UNPACK("r2", "r4", "r1")
            "add r0, r1, r0, lsl #8\n"
            "ldr r4, [sp]\n"
            "strd r0, r1, [lr]\n"
            "ldr r0, [r4, #8]\n"
            "ldrd r2, r1, [r4, #12]\n"
            "strd r0, r1, [r4, #92]\n"
            "str r2, [r4, #100]\n"
            "4:\n" /* a block */
            "ldr r3, [sp]\n"
            "ldm r3, {r12, lr}\n"
            "ldrd r5, r8, [r3, #84]\n"
            "ldr r11, [r3, #92]\n"
            "mov r6, r5\n mov r7, r5\n mov r9, r8\n mov r10, r8\n"
            "5:\n"
            "ldrd r3, r4, [r12], #8\n"
            WORD("r3") WORD("r4")
            "subs lr, #1\n"
            "bne 5b\n"
            "ldr r4, [sp]\n"
            "str r11, [r4, #92]\n"
            "sub r5, r8\n sub r6, r9\n sub r7, r10\n"
            "asr r5, #7\n asr r6, #7\n asr r7, #7\n"
            "add lr, r4, #60\n"
            "ldm lr!, {r0, r1, r2}\n"
            RESCALE("r5") RESCALE("r6") RESCALE("r7")
            "ldm lr, {r0, r1, r2}\n"
            "lsl r8, #1\n lsl r9, #1\n lsl r10, #1\n"
            RESCALE("r8") RESCALE("r9") RESCALE("r10")
            "ldrd r0, r1, [r4, #96]\n"
            "ldr r2, [r4, #20]\n"
            "strb r5, [r0]\n strb r8, [r0, #1]\n add r0, r2\n"
            "strb r6, [r0]\n strb r9, [r0, #1]\n add r0, r2\n"
            "strb r7, [r0]\n strb r10, [r0, #1]\n add r0, r2\n"
            "subs r1, #1\n"
            "strd r0, r1, [r4, #96]\n"
            "bne 4b\n"
            "str r12, [r4]\n"
            "ldr r0, [r4, #16]\n"
            "ldr r1, [r4, #28]\n"
            "add r0, #2\n"
            "subs r1, #1\n"
            "str r0, [r4, #16]\n"
            "str r1, [r4, #28]\n"
            "bne 1b\n"
            "pop {r0, r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

/* Computes the outputs of a pair for all blocks. */
static void compute_pair(const ar_compact_work *work, const uint32_t *pair, int8_t *out, const int32_t *bias,
                         const ar_compact_scale *scale)
{
    const int32_t words = work->groups * 2;
    const int32_t *x = work->x;
    for (int32_t b = 0; b < work->blocks; b++, x += words * AR_COMPACT_PIXELS) {
        for (int32_t i = 0; i < AR_COMPACT_PIXELS; i++, out += work->pixel) {
            uint32_t second = (uint32_t)bias[1];
            uint32_t both = ((uint32_t)bias[0] << 8) + second;
            for (int32_t k = 0; k < words; k++) {
                const int32_t inputs = x[k * AR_COMPACT_PIXELS + i];
                both = ar_dot_smlad(both, (int32_t)pair[2 + k], inputs);
                second = ar_dot_smlad(second, ar_dot_low_bytes((int32_t)pair[2 + k]), inputs);
            }
            out[0] = ar_compact_output((int32_t)(both - second) >> 7, &scale[0]);
            out[1] = ar_compact_output((int32_t)(second << 1), &scale[1]);
        }
    }
}

void ar_compact_pairs_s8_dsp(ar_compact_work *work)
{
    const ar_compact_format format = {work->table,
                                      (int16_t)work->zero_twice,
                                      (uint8_t)work->spare,
                                      (uint8_t)work->shift_bits,
                                      (int8_t)work->shift_base,
                                      (uint8_t)work->dropped};
    const uint32_t *pair = work->filters;
    for (int32_t c = 0; c < 2 * work->pairs; c += 2, pair += 2 + 2 * work->groups) {
        const int32_t bias[2] = {ar_compact_bias(&format, pair[0]), ar_compact_bias(&format, pair[1])};
        const ar_compact_scale scale[2] = {ar_compact_scale_of(&format, pair[0], c),
                                           ar_compact_scale_of(&format, pair[1], c + 1)};
        compute_pair(work, pair, work->out + c, bias, scale);
    }
}

#endif
