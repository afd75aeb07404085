/* Multiplies one row of inputs with quads of int8 filters: 23 instructions for 32 products. The file row_dot_s8_dsp.h
 * describes the layouts. */
#include "row_dot_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

#include "row_dot_group_s8_dsp.h"

/* The stack holds the values that have no register.
 *  sp +0: out, +4: requant, +8: rounding, +12: shift, +16: products, +20: x, +24: end of the filters
 *  +28: end of the inputs, +32: address at which the first round enters the loop */

__attribute__((naked)) void ar_row_dot4_s8_dsp(const ar_row_dot_s8_dsp *d __attribute__((unused)))
{
    __asm__(
        ".set ar_stack_ar_row_dot4_s8_dsp, 72\n" /* the stack use in bytes, read by object_files.py */
        "push {r4-r11, lr}\n"
        "sub sp, #36\n"
        /* r6 is x, r8 the number of groups, r9 the first quad. */
        "ldm r0, {r1-r9}\n"
        "mov lr, r9\n"
        "mov r12, r6\n"
        /* One round of the loop computes four groups. If fewer groups remain for the first round, the code enters
         * the loop after its surplus first groups. */
        "rsb r9, r8, #0\n"
        "and r9, r9, #3\n"
        "mov r10, #92\n"
        "mul r9, r9, r10\n"
        "adr r10, 2f\n"
        "add r9, r9, r10\n"
        "add r9, r9, #1\n"
        "add r8, r6, r8, lsl #4\n"
        "stm sp, {r1-r9}\n"
        /* The loop over the quads. */
        "1:\n"
        "ldm lr!, {r4-r7}\n"
        "ldr pc, [sp, #32]\n"
        "2:\n" GROUP GROUP GROUP GROUP "ldr r0, [sp, #28]\n"
        "cmp r12, r0\n"
        "bne 2b\n"
        "ldm sp, {r0, r1, r2, r3, r11, r12}\n"
        "sub r5, r5, r11\n sub r7, r7, r11\n"
        "ldm r1!, {r8, r9, r10}\n"
        "sub r4, r4, r5\n smmla r4, r4, r8, r2\n"
        "add r5, r10, r5, lsl #8\n smmla r5, r5, r9, r2\n"
        "ldm r1!, {r8, r9, r10}\n"
        "sub r6, r6, r7\n smmla r6, r6, r8, r2\n"
        "add r7, r10, r7, lsl #8\n smmla r7, r7, r9, r2\n"
        "asr r4, r4, r3\n ssat r4, #8, r4\n asr r5, r5, r3\n ssat r5, #8, r5\n"
        "asr r6, r6, r3\n ssat r6, #8, r6\n asr r7, r7, r3\n ssat r7, #8, r7\n"
        "strb r5, [r0, #1]\n strb r6, [r0, #2]\n strb r7, [r0, #3]\n strb r4, [r0], #4\n"
        "strd r0, r1, [sp]\n"
        "ldr r0, [sp, #24]\n"
        "cmp lr, r0\n"
        "bne 1b\n"
        "add sp, #36\n"
        "pop {r4-r11, pc}\n");
}

#else

#include "dot_s8_plain.h"

void ar_row_dot4_s8_dsp(const ar_row_dot_s8_dsp *d)
{
    const int32_t *requant = d->requant;
    const int32_t words = d->groups * 4;
    int8_t *out = d->out;
    for (const int32_t *quad = d->quad; quad != d->end; quad += 4 + 2 * words) {
        for (int32_t pair = 0; pair < 2; pair++, requant += 3) {
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
            *out++ = ar_dot_output((int32_t)(both - b), requant[0], d->rounding, d->shift);
            *out++ = ar_dot_output((int32_t)(b << 8) + requant[2], requant[1], d->rounding, d->shift);
        }
    }
}

#endif
