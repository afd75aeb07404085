/* Multiplies one row of inputs with quads of int8 filters, with a constant shift of the requantization: 27 instructions
 * for 32 products. The file row_dot_s8_dsp.h describes the layouts. */
#include "row_dot_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair.
 *  r0-r3: filter words                               r8-r11: input words
 *  r4 and r5: 256 * A + B and B of the first pair    r6 and r7: 256 * A + B and B of the second pair
 *  r12: address of the next inputs                   lr: address of the next filter words
 * The stack holds the other values:
 *  sp +0: out, +4: rounding, +8: end of the filters, +12: x, +16: end of the inputs
 *  +20: address at which the first round enters the loop */

/* Multiplies a filter word `w` with an input word `x`. */
#define PAIR(w, x, both, b) \
    "smlad " both ", " w ", " x ", " both "\n sxtb16 " w ", " w "\n smlad " b ", " w ", " x ", " b "\n"
/* Multiplies four inputs with the filters of both pairs. */
#define FOUR(x0, x1)                                                                                      \
    "ldm lr!, {r0-r3}\n" PAIR("r0", x0, "r4", "r5") PAIR("r1", x0, "r6", "r7") PAIR("r2", x1, "r4", "r5") \
        PAIR("r3", x1, "r6", "r7")
/* Multiplies a group of eight inputs. It has 27 instructions of 4 bytes, so the address at which the loop is entered
 * can be computed from the number of groups. */
#define GROUP "ldm r12!, {r8-r11}\n" FOUR("r8", "r9") FOUR("r10", "r11")
#define SATURATE(r) "ssat " r ", #8, " r ", asr #8\n" /* AR_ROW_SHIFT */

/* clang-format off */
__attribute__((naked)) void ar_row_dot4_fixed_s8_dsp(const ar_row_dot_s8_dsp *d __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_row_dot4_fixed_s8_dsp, 60\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #24\n"
            /* r1 is out, r3 rounding, r5 x, r6 the end of the filters, r7 the number of groups, r8 the first quad. */
            "ldm r0, {r1-r8}\n"
            "mov lr, r8\n"
            "mov r12, r5\n"
            "strd r1, r3, [sp]\n"
            "strd r6, r5, [sp, #8]\n"
            "add r6, r5, r7, lsl #4\n"
            /* One round of the loop computes 16 groups. If fewer groups remain for the first round, the code enters the
             * loop after its surplus first groups. */
            "rsb r8, r7, #0\n"
            "and r8, r8, #15\n"
            "mov r9, #108\n"
            "mul r8, r8, r9\n"
            "adr r9, 2f\n"
            "add r7, r8, r9\n"
            "add r7, r7, #1\n"
            "strd r6, r7, [sp, #16]\n"
            /* The loop over the quads. */
            "1:\n"
            "ldm lr!, {r4-r7}\n"
            "ldr pc, [sp, #20]\n"
            ".balign 4\n"
            "2:\n"
            GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP
            "ldr r0, [sp, #16]\n"
            "cmp r12, r0\n"
            "bne.w 2b\n"
            "ldm lr!, {r8-r11}\n"
            "ldm sp, {r0, r1, r2, r12}\n"
            "sub r4, r4, r5\n smmla r4, r4, r8, r1\n"
            "ror r5, r5, #24\n smmla r5, r5, r9, r1\n"
            "sub r6, r6, r7\n smmla r6, r6, r10, r1\n"
            "ror r7, r7, #24\n smmla r7, r7, r11, r1\n"
            SATURATE("r4") SATURATE("r5") SATURATE("r6") SATURATE("r7")
            "strb r5, [r0, #1]\n strb r6, [r0, #2]\n strb r7, [r0, #3]\n strb r4, [r0], #4\n"
            "str r0, [sp]\n"
            "cmp lr, r2\n"
            "bne.w 1b\n"
            "add sp, #24\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

#include "dot_s8_plain.h"

void ar_row_dot4_fixed_s8_dsp(const ar_row_dot_s8_dsp *d)
{
    const int32_t words = d->groups * 4;
    int8_t *out = d->out;
    for (const int32_t *quad = d->quad; quad != d->end; quad += 8 + 2 * words) {
        const int32_t *multiplier = quad + 4 + 2 * words;
        for (int32_t pair = 0; pair < 2; pair++, multiplier += 2) {
            uint32_t both = (uint32_t)quad[2 * pair];
            uint32_t b = (uint32_t)quad[2 * pair + 1];
            for (int32_t k = 0; k < words; k++) {
                const int32_t w = quad[4 + 2 * k + pair];
                both = ar_dot_smlad(both, w, d->x[k]);
                b = ar_dot_smlad(b, ar_dot_low_bytes(w), d->x[k]);
            }
            const int32_t second = (int32_t)(b << 8 | b >> 24);
            *out++ = ar_dot_output((int32_t)(both - b), multiplier[0], d->rounding, AR_ROW_SHIFT);
            *out++ = ar_dot_output(second, multiplier[1], d->rounding, AR_ROW_SHIFT);
        }
    }
}

#endif
