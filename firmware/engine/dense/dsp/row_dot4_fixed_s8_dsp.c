/* Multiplies one row of inputs with quads of int8 filters, with a constant shift of the requantization: 23 instructions
 * for 32 products. The file row_dot_s8_dsp.h describes the layouts. */
#include "row_dot_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

#include "row_dot_group_s8_dsp.h"

/* The stack holds the values that have no register:
 *  sp +0: out, +4: rounding, +8: end of the filters, +12: products, +16: x, +20: end of the inputs
 *  +24: address at which the first round enters the loop */

#define SATURATE(r) "ssat " r ", #8, " r ", asr #8\n" /* AR_ROW_SHIFT */

/* clang-format off */
__attribute__((naked)) void ar_row_dot4_fixed_s8_dsp(const ar_row_dot_s8_dsp *d __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_row_dot4_fixed_s8_dsp, 64\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #28\n"
            /* r1 is out, r3 rounding, r5 the products, r6 x, r7 the end of the filters, r8 the number of groups, r9 the
             * first quad. */
            "ldm r0, {r1-r9}\n"
            "mov lr, r9\n"
            "mov r12, r6\n"
            "strd r1, r3, [sp]\n"
            "strd r7, r5, [sp, #8]\n"
            "add r7, r6, r8, lsl #4\n"
            "strd r6, r7, [sp, #16]\n"
            /* One round of the loop computes 16 groups. If fewer groups remain for the first round, the code enters the
             * loop after its surplus first groups. */
            "rsb r8, r8, #0\n"
            "and r8, r8, #15\n"
            "mov r9, #92\n"
            "mul r8, r8, r9\n"
            "adr r9, 2f\n"
            "add r7, r8, r9\n"
            "add r7, r7, #1\n"
            "str r7, [sp, #24]\n"
            /* The loop over the quads. */
            "1:\n"
            "ldm lr!, {r4-r7}\n"
            "ldr pc, [sp, #24]\n"
            ".balign 4\n"
            "2:\n"
            GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP GROUP
            "ldr r0, [sp, #20]\n"
            "cmp r12, r0\n"
            "bne.w 2b\n"
            "ldm lr!, {r8-r11}\n"
            "ldm sp, {r0, r1, r2, r3, r12}\n"
            "sub r5, r5, r3\n sub r7, r7, r3\n"
            "sub r4, r4, r5\n smmla r4, r4, r8, r1\n"
            "ror r5, r5, #24\n smmla r5, r5, r9, r1\n"
            "sub r6, r6, r7\n smmla r6, r6, r10, r1\n"
            "ror r7, r7, #24\n smmla r7, r7, r11, r1\n"
            SATURATE("r4") SATURATE("r5") SATURATE("r6") SATURATE("r7")
            "strb r5, [r0, #1]\n strb r6, [r0, #2]\n strb r7, [r0, #3]\n strb r4, [r0], #4\n"
            "str r0, [sp]\n"
            "cmp lr, r2\n"
            "bne.w 1b\n"
            "add sp, #28\n"
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
            for (int32_t k = 0; k < words; k += 2) {
                const int32_t x0 = d->x[k];
                const int32_t x1 = d->x[k + 1];
                const int32_t w0 = quad[4 + 2 * k + pair];
                const int32_t w1 = quad[6 + 2 * k + pair];
                both = ar_dot_smlad(ar_dot_smlad(both, w0, x0), w1, x1);
                b = ar_dot_smlad(b, ar_dot_add_low_bytes(x1, w0), ar_dot_add_low_bytes(x0, w1));
            }
            b -= (uint32_t)d->products;
            const int32_t second = (int32_t)(b << 8 | b >> 24);
            *out++ = ar_dot_output((int32_t)(both - b), multiplier[0], d->rounding, AR_ROW_SHIFT);
            *out++ = ar_dot_output(second, multiplier[1], d->rounding, AR_ROW_SHIFT);
        }
    }
}

#endif
