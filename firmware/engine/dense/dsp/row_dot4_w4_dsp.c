/* Multiplies one row of inputs with quads of int4 filters: 35 instructions for 32 products. The file row_dot_w4_dsp.h
 * describes the layouts. */
#include "row_dot_w4_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair, X is the sum of the inputs.
 *  r0-r1: filter words                r2: two widened bytes of a filter word    r8-r11: input words
 *  r4 and r6: 16 * A + B + 8 * X of the first and the second pair
 *  r5 and r7: B + 8 * X of the first and the second pair
 *  r12: address of the next inputs    lr: address of the next filter words
 * The stack holds the other values. The first six are fields of ar_row_dot_w4_dsp:
 *  sp +0: out, +4: requant, +8: rounding, +12: shift, +16: x, +20: end
 *  +24: end of the inputs             +28: address at which the first round enters the loop    +32: 8 * X */

/* HALF multiplies two bytes of a filter word with an input word, PAIR all four bytes with two input words. FOUR
 * multiplies four inputs with the filters of both pairs. */
#define HALF(bytes, x, both, b)                                                                       \
    "sxtb16 r2, " bytes "\n smlad " both ", r2, " x ", " both "\n and r2, r2, #0x000f000f\n smlad " b \
    ", r2, " x ", " b "\n"
#define PAIR(w, x0, x1, both, b) HALF(w, x0, both, b) HALF(w ", ror #8", x1, both, b)
#define FOUR(x0, x1) "ldrd r0, r1, [lr], #8\n" PAIR("r0", x0, x1, "r4", "r5") PAIR("r1", x0, x1, "r6", "r7")
/* Multiplies a group of eight inputs. It has 35 instructions of 4 bytes, so the address at which the loop is entered
 * can be computed from the number of groups. */
#define GROUP "ldm r12!, {r8-r11}\n" FOUR("r8", "r9") FOUR("r10", "r11")

__attribute__((naked)) void ar_row_dot4_w4_dsp(const ar_row_dot_w4_dsp *d __attribute__((unused)))
{
    __asm__(
        ".set ar_stack_ar_row_dot4_w4_dsp, 72\n" /* the stack use in bytes, read by object_files.py */
        "push {r4-r11, lr}\n"
        "sub sp, #36\n"
        "ldm r0, {r1-r9}\n"
        "mov lr, r8\n"
        "mov r12, r5\n"
        "str r9, [sp, #32]\n"
        /* One round of the loop computes four groups. If fewer groups remain for the first round, the code enters
         * the loop after its surplus first groups. */
        "rsb r8, r7, #0\n"
        "and r8, r8, #3\n"
        "mov r9, #140\n"
        "mul r8, r8, r9\n"
        "adr r9, 2f\n"
        "add r8, r8, r9\n"
        "add r8, r8, #1\n"
        "add r7, r5, r7, lsl #4\n"
        "stm sp, {r1-r8}\n"
        /* The loop over the quads. */
        "1:\n"
        "ldm lr!, {r4-r7}\n"
        "ldr pc, [sp, #28]\n"
        "2:\n" GROUP GROUP GROUP GROUP "ldr r0, [sp, #24]\n"
        "cmp r12, r0\n"
        "bne 2b\n"
        "ldr r11, [sp, #32]\n"
        "ldm sp, {r0, r1, r2, r3, r12}\n"
        "sub r4, r4, r5\n sub r6, r6, r7\n sub r5, r5, r11\n sub r7, r7, r11\n"
        "ldm r1!, {r8-r11}\n"
        "add r4, r11, r4, lsl #4\n smmla r4, r4, r8, r2\n"
        "add r5, r10, r5, lsl #8\n smmla r5, r5, r9, r2\n"
        "ldm r1!, {r8-r11}\n"
        "add r6, r11, r6, lsl #4\n smmla r6, r6, r8, r2\n"
        "add r7, r10, r7, lsl #8\n smmla r7, r7, r9, r2\n"
        "asr r4, r4, r3\n ssat r4, #8, r4\n asr r5, r5, r3\n ssat r5, #8, r5\n"
        "asr r6, r6, r3\n ssat r6, #8, r6\n asr r7, r7, r3\n ssat r7, #8, r7\n"
        "strb r5, [r0, #1]\n strb r6, [r0, #2]\n strb r7, [r0, #3]\n strb r4, [r0], #4\n"
        "strd r0, r1, [sp]\n"
        "ldr r0, [sp, #20]\n"
        "cmp lr, r0\n"
        "bne 1b\n"
        "add sp, #36\n"
        "pop {r4-r11, pc}\n");
}

#else

#include "dot_s8_plain.h"

void ar_row_dot4_w4_dsp(const ar_row_dot_w4_dsp *d)
{
    const int32_t *requant = d->requant;
    const int32_t words = d->groups * 2;
    int8_t *out = d->out;
    for (const int32_t *quad = d->quad; quad != d->end; quad += 4 + 2 * words) {
        for (int32_t pair = 0; pair < 2; pair++, requant += 4) {
            uint32_t both = (uint32_t)quad[2 * pair];
            uint32_t b = (uint32_t)quad[2 * pair + 1];
            for (int32_t k = 0; k < 2 * words; k++) {
                const uint32_t word = (uint32_t)quad[4 + k / 2 * 2 + pair];
                const int32_t w = ar_dot_low_bytes((int32_t)(k % 2 ? word >> 8 : word));
                both = ar_dot_smlad(both, w, d->x[k]);
                b = ar_dot_smlad(b, w & 0x000F000F, d->x[k]);
            }
            const int32_t x0 = (int32_t)((both - b) << 4) + requant[3];
            const int32_t x1 = (int32_t)((b - (uint32_t)d->sum) << 8) + requant[2];
            *out++ = ar_dot_output(x0, requant[0], d->rounding, d->shift);
            *out++ = ar_dot_output(x1, requant[1], d->rounding, d->shift);
        }
    }
}

#endif
