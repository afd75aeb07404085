/* Multiplies blocks of 3 pixels with pairs of filters, and rescales their sums, for builds for small flash: 35
 * instructions for 48 products, 51 for the outputs of a block, and 54 for a pair. conv_2d_s8_compact_dsp.h describes the
 * layouts. */
#include "conv_2d_s8_compact_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair.
 *  r0-r2: two inputs of each of the 3 pixels         r3-r4: two words of filters
 *  r5: address of the next widened inputs            r6-r8: 256 * A + B of each pixel
 *  r9-r11: B of each pixel                           r12: address of the next filter words
 *  lr: number of groups left
 * The stack has what a block begins with, in the order of the registers from r4 on: 0 output, 4 inputs, 8 sums, 32
 * filters, 36 number of groups, rounded up to a multiple of 4. Then: 40 the address at which the first round enters the
 * loop, 44 bytes between pixels, 48 bytes between blocks, 52 end of the inputs, 56 the scale of A and of B
 * (ar_compact_scale), 80 the ar_compact_work.
 * UNPACK makes a channel's scale from its word `w` and its entry of the table `t`, and its bias in `b`: r5 is spare, r6
 * room, r7 mask, r8 shift_bits, r9 dropped, r10 shift_base, r11 zero_twice. It overwrites r3 and r12.
 * RESCALE computes an output from twice the sum in `r`, with the scale in r0 to r2 (compact_scale.h). It overwrites
 * r3. */

/* clang-format off */
#define WORD(w) \
    "ldm r5!, {r0, r1, r2}\n" \
    "smlad r6, " w ", r0, r6\n smlad r7, " w ", r1, r7\n smlad r8, " w ", r2, r8\n" \
    "sxtb16 " w ", " w "\n" \
    "smlad r9, " w ", r0, r9\n smlad r10, " w ", r1, r10\n smlad r11, " w ", r2, r11\n"
/* Multiplies four inputs of each pixel. It has 64 bytes, so the address at which the loop is entered can be computed. */
#define GROUP "ldrd r3, r4, [r12], #8\n" WORD("r3") WORD("r4")
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
    __asm__(".set ar_stack_ar_compact_pairs_s8_dsp, 120\n" /* the stack use in bytes, read by object_files.py */
            "push {r0, r4-r11, lr}\n"
            "sub sp, #80\n"
            "ldm r0, {r1-r6}\n"
            "rsb r7, r2, #0\n"
            "and r7, #3\n" /* groups that the first round skips */
            "add r2, r7\n"
            "strd r1, r2, [sp, #32]\n"
            "adr r8, 5f\n"
            "add r7, r8, r7, lsl #6\n"
            "add r7, #1\n"
            "add r8, r6, r6, lsl #1\n"
            "strd r7, r6, [sp, #40]\n"
            "strd r8, r5, [sp, #48]\n"
            "1:\n" /* a pair */
            "ldr r12, [sp, #80]\n"
            "ldr r0, [sp, #32]\n"
            "add r5, r12, #28\n"
            "ldm r5, {r5-r11}\n"
            "ldrd r1, r2, [r0], #8\n"
            "cbz r5, 2f\n"
            "ldr r4, [r0], #4\n"
            "uxth r3, r4\n"
            "lsr r4, r4, #16\n"
            "b 3f\n"
            "2:\n"
            "ldrd r3, r4, [r0], #8\n"
            "3:\n"
            "str r0, [sp, #32]\n"
            "add lr, sp, #56\n"
            UNPACK("r1", "r3", "r0") UNPACK("r2", "r4", "r1")
            "ldr r2, [sp, #80]\n"
            "ldrd r4, r5, [r2, #8]\n"
            "add r6, r1, r0, lsl #8\n"
            "mov r7, r6\n mov r8, r6\n mov r9, r1\n mov r10, r1\n mov r11, r1\n"
            "stm sp, {r4-r11}\n"
            "4:\n" /* a block */
            "ldm sp, {r4-r12, lr}\n"
            "ldr pc, [sp, #40]\n"
            ".balign 4\n"
            "5:\n"
            GROUP GROUP GROUP GROUP
            "subs lr, #4\n"
            "bne 5b\n"
            "sub r6, r9\n sub r7, r10\n sub r8, r11\n"
            "asr r6, #7\n asr r7, #7\n asr r8, #7\n"
            "add r4, sp, #56\n"
            "ldm r4!, {r0, r1, r2}\n"
            RESCALE("r6") RESCALE("r7") RESCALE("r8")
            "ldm r4, {r0, r1, r2}\n"
            "lsl r9, #1\n lsl r10, #1\n lsl r11, #1\n"
            RESCALE("r9") RESCALE("r10") RESCALE("r11")
            "ldr r0, [sp]\n"
            "ldrd r1, r2, [sp, #44]\n"
            "bfi r6, r9, #8, #8\n bfi r7, r10, #8, #8\n bfi r8, r11, #8, #8\n"
            "strh r6, [r0]\n strh r7, [r0, r1]\n strh r8, [r0, r1, lsl #1]\n"
            "add r0, r2\n"
            "strd r0, r5, [sp]\n"
            "ldr r1, [sp, #52]\n"
            "cmp r5, r1\n"
            "bne 4b\n"
            "str r12, [sp, #32]\n"
            "ldr r2, [sp, #80]\n"
            "ldr r0, [r2, #8]\n"
            "ldr r1, [r2, #24]\n"
            "add r0, #2\n"
            "subs r1, #1\n"
            "str r0, [r2, #8]\n"
            "str r1, [r2, #24]\n"
            "bne 1b\n"
            "add sp, #80\n"
            "pop {r0, r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

/* Computes the outputs of a pair for all blocks. */
static void compute_pair(const ar_compact_work *work, const uint32_t *weights, int8_t *out,
                         const int32_t *bias, const ar_compact_scale *scale)
{
    const int32_t words = work->groups * 2;
    for (const int32_t *x = work->x; x != work->end; x += words * AR_COMPACT_PIXELS) {
        for (int32_t i = 0; i < AR_COMPACT_PIXELS; i++, out += work->pixel) {
            uint32_t second = (uint32_t)bias[1];
            uint32_t both = ((uint32_t)bias[0] << 8) + second;
            for (int32_t k = 0; k < words; k++) {
                const int32_t inputs = x[k * AR_COMPACT_PIXELS + i];
                both = ar_dot_smlad(both, (int32_t)weights[k], inputs);
                second = ar_dot_smlad(second, ar_dot_low_bytes((int32_t)weights[k]), inputs);
            }
            out[0] = ar_compact_output((int32_t)(both - second) >> 7, &scale[0]);
            out[1] = ar_compact_output((int32_t)(second << 1), &scale[1]);
        }
    }
}

void ar_compact_pairs_s8_dsp(ar_compact_work *work)
{
    const ar_compact_format format = {(int16_t)work->zero_twice, (uint8_t)work->spare,
                                      (uint8_t)work->shift_bits, (int8_t)work->shift_base,
                                      (uint8_t)work->dropped};
    const uint32_t *pair = work->filters;
    const int32_t start = work->spare ? 3 : 4;
    for (int32_t c = 0; c < 2 * work->pairs; c += 2, pair += start + 2 * work->groups) {
        const int32_t bias[2] = {ar_compact_bias(&format, pair[0]), ar_compact_bias(&format, pair[1])};
        const ar_compact_scale scale[2] = {ar_compact_scale_of(&format, pair[0], pair + 2, 0),
                                           ar_compact_scale_of(&format, pair[1], pair + 2, 1)};
        compute_pair(work, pair + start, work->out + c, bias, scale);
    }
}

#endif
