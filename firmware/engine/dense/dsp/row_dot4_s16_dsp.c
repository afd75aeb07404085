/* Multiplies one row of int16 inputs with four int8 filters: 38 instructions for 32 products. The file
 * row_dot4_s16_dsp.h describes the layout. */
#include "row_dot4_s16_dsp.h"

#ifdef __ARM_FEATURE_DSP

/*  r0-r3: a word of each filter    r4-r7: the sums    r8, r9: four inputs    r10: two widened weights
 *  r11: the end of the inputs      r12: address of the next inputs    lr: address of the next words */

/* Multiplies the filter word `w` with four inputs. */
#define UNIT(w, sum)                                                                                        \
    "sxtb16 r10, " w "\n sxtb16 " w ", " w ", ror #8\n smlad " sum ", r10, r8, " sum "\n smlad " sum ", " w \
    ", r9, " sum "\n"
#define FOUR                                                                                         \
    "ldm lr!, {r0-r3}\n ldrd r8, r9, [r12], #8\n" UNIT("r0", "r4") UNIT("r1", "r5") UNIT("r2", "r6") \
        UNIT("r3", "r7")

__attribute__((naked)) const int32_t *ar_row_dot4_s16_dsp(int32_t *sums __attribute__((unused)),
                                                          const int32_t *x __attribute__((unused)),
                                                          const int32_t *quad __attribute__((unused)),
                                                          uint32_t groups __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_row_dot4_s16_dsp, 40\n" /* the stack use in bytes, read by object_files.py */
            "push {r0, r4-r11, lr}\n"
            "mov r12, r1\n"
            "mov lr, r2\n"
            "add r11, r1, r3, lsl #4\n"
            "ldm lr!, {r4-r7}\n"
            "1:\n" FOUR FOUR "cmp r12, r11\n"
            "bne 1b\n"
            "pop {r1}\n"
            "stm r1, {r4-r7}\n"
            "mov r0, lr\n"
            "pop {r4-r11, pc}\n");
}

#else

#include "dot_s8_plain.h"

const int32_t *ar_row_dot4_s16_dsp(int32_t *sums, const int32_t *x, const int32_t *quad, uint32_t groups)
{
    for (uint32_t unit = 0; unit < 4; unit++) {
        uint32_t acc = (uint32_t)quad[unit];
        for (uint32_t k = 0; k < 2 * groups; k++) {
            const int32_t w = quad[4 + 4 * k + unit];
            acc = ar_dot_smlad(acc, ar_dot_low_bytes(w), x[2 * k]);
            acc = ar_dot_smlad(acc, ar_dot_low_bytes((int32_t)((uint32_t)w >> 8)), x[2 * k + 1]);
        }
        sums[unit] = (int32_t)acc;
    }
    return quad + 4 + 8 * groups;
}

#endif
