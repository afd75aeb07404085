/* Multiplies one row of inputs with quads of int8 filters: 27 instructions for 32 products. The file row_dot_s8_dsp.h
 * describes the layouts. */
#include "row_dot_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* A and B are the sums of the two channels of a pair.
 *  r0-r3: filter words                               r8-r11: input words
 *  r4 and r5: 256 * A + B and B of the first pair    r6 and r7: 256 * A + B and B of the second pair
 *  r12: address of the next inputs                   lr: address of the next filter words
 * The stack holds the other values. The first six are fields of ar_row_dot_s8_dsp:
 *  sp +0: out, +4: requant, +8: rounding, +12: shift, +16: x, +20: end
 *  +24: end of the inputs                            +28: address at which the first round enters the loop */

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

__attribute__((naked)) void ar_row_dot4_s8_dsp(const ar_row_dot_s8_dsp *d __attribute__((unused)))
{
    __asm__(
        ".set ar_stack_ar_row_dot4_s8_dsp, 68\n" /* the stack use in bytes, read by object_files.py */
        "push {r4-r11, lr}\n"
        "sub sp, #32\n"
        "ldm r0, {r1-r8}\n"
        "mov lr, r8\n"
        "mov r12, r5\n"
        /* One round of the loop computes four groups. If fewer groups remain for the first round, the code enters
         * the loop after its surplus first groups. */
        "rsb r8, r7, #0\n"
        "and r8, r8, #3\n"
        "mov r9, #108\n"
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
        "ldm sp, {r0, r1, r2, r3, r12}\n"
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
        "ldr r0, [sp, #20]\n"
        "cmp lr, r0\n"
        "bne 1b\n"
        "add sp, #32\n"
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
            for (int32_t k = 0; k < words; k++) {
                const int32_t w = quad[4 + 2 * k + pair];
                both = ar_dot_smlad(both, w, d->x[k]);
                b = ar_dot_smlad(b, ar_dot_low_bytes(w), d->x[k]);
            }
            *out++ = ar_dot_output((int32_t)(both - b), requant[0], d->rounding, d->shift);
            *out++ = ar_dot_output((int32_t)(b << 8) + requant[2], requant[1], d->rounding, d->shift);
        }
    }
}

#endif
