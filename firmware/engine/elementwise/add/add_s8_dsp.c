/* ADD and SUB, int8, as the linear function of add_linear.h. Four elements take 28 instructions.
 *
 * SMLAW adds to a sum the bits 16 and up of the product of a word and a halfword. If the byte is in the halfword's
 * upper half and the word is 256 * multiplier, these bits are exactly multiplier * byte. Multipliers must be below
 * 2^23.
 */
#include "add_linear.h"

#include "affine_requant.h"

#ifdef __ARM_FEATURE_DSP

/* In the assembly, .set states the stack use in bytes, which object_files.py reads. Empty comments keep clang-format
 * from joining lines. */

/* Registers: r0 and r1 are the addresses of the inputs, r2 is the address of the output, r3 the number of words
 * left, r4 and r5 the multipliers times 256, r6 the constant, r7 the mask of the upper bytes of both halfwords, r8
 * the shift. r9 and r10 are bytes 1 and 3 of the two inputs, r11 and r12 their bytes 0 and 2, each in the upper
 * half of a halfword.
 *
 * ELEMENT computes and stores one output from the bottom ("b") or top ("t") halfwords of a and b. */
#define ELEMENT(half, a, b)                                               \
    "smlaw" half " lr, r4, " a ", r6\n smlaw" half " lr, r5, " b ", lr\n" \
    "asr lr, lr, r8\n ssat lr, #8, lr\n strb lr, [r2], #1\n"

/* Computes `words` times four outputs. `constants` has 256 * multiplier1, 256 * multiplier2, constant and shift. */
__attribute__((naked)) static void add_words(const int8_t *a __attribute__((unused)),
                                             const int8_t *b __attribute__((unused)),
                                             int8_t *out __attribute__((unused)),
                                             uint32_t words __attribute__((unused)),
                                             const int32_t *constants __attribute__((unused)))
{
    __asm__(".set ar_stack_add_words, 36\n"
            "push {r4-r11, lr}\n"
            "ldr r7, [sp, #36]\n"
            "ldm r7, {r4, r5, r6, r8}\n"
            "mov r7, #0xff00ff00\n"
            "1:\n"
            "ldr r9, [r0], #4\n"
            "ldr r10, [r1], #4\n"
            "and r11, r7, r9, lsl #8\n"
            "and r12, r7, r10, lsl #8\n"
            "and r9, r9, r7\n"
            "and r10, r10, r7\n"       /* */
            ELEMENT("b", "r11", "r12") /* */
            ELEMENT("b", "r9", "r10")  /* */
            ELEMENT("t", "r11", "r12") /* */
            ELEMENT("t", "r9", "r10")  /* */
            "subs r3, r3, #1\n"
            "bne 1b\n"
            "pop {r4-r11, pc}\n");
}

#else

static void add_words(const int8_t *a, const int8_t *b, int8_t *out, uint32_t words, const int32_t *constants)
{
    for (const int8_t *end = out + 4 * words; out != end;) {
        const int32_t sum = *a++ * (constants[0] / 256) + *b++ * (constants[1] / 256) + constants[2];
        *out++ = (int8_t)ar_saturate_s8(sum >> constants[3]);
    }
}

#endif

void ar_add_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_add_linear_params *p = params;
    const uint32_t words = p->count / 4;
    const int32_t constants[4] = {p->multiplier1 * 256, p->multiplier2 * 256, p->constant, p->shift};
    if (words) {
        add_words(rows[0], rows[1], out, words, constants);
    }
    for (uint32_t i = 4 * words; i < p->count; i++) {
        const int32_t sum = rows[0][i] * p->multiplier1 + rows[1][i] * p->multiplier2 + p->constant;
        out[i] = (int8_t)ar_saturate_s8(sum >> p->shift);
    }
    ar_clamp_s8(out, (int32_t)p->count, p->act_min, p->act_max);
}

void ar_add_s8_dsp(const ar_add_linear_params *p)
{
    const int8_t *const rows[2] = {p->input1, p->input2};
    ar_add_s8_dsp_row(p, rows, p->output);
}
