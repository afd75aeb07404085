/* Widens the inputs of 2 neighboring pixels to int16: 7 instructions for 8 bytes. The file expand_s8_dsp.h describes
 * the layout. */
#include "expand_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* r0: address for the next words; r1: address of the next input bytes; r2: step; r3: number of pairs of groups left in
 * the row; r4-r7: input bytes, then widened inputs; r10: address of the next row's address; r11: offset; r12: number of
 * groups in a row; lr: number of rows left. GROUP widens four bytes of each pixel. */
#define GROUP                                                                         \
    "ldr r5, [r1, r2]\n ldr r4, [r1], #4\n"                                           \
    "sxtb16 r6, r4, ror #8\n sxtb16 r7, r5, ror #8\n sxtb16 r4, r4\n sxtb16 r5, r5\n" \
    "stm r0!, {r4-r7}\n"

__attribute__((naked)) int32_t *ar_expand2_s8_dsp(int32_t *x __attribute__((unused)),
                                                  const int8_t *const *rows __attribute__((unused)),
                                                  int32_t offset __attribute__((unused)),
                                                  int32_t step __attribute__((unused)),
                                                  int32_t count __attribute__((unused)),
                                                  int32_t groups __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_expand2_s8_dsp, 36\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "mov r10, r1\n"
            "mov r11, r2\n"
            "mov r2, r3\n"
            "ldrd lr, r12, [sp, #36]\n"
            "1:\n"
            "ldr r1, [r10], #4\n"
            "add r1, r1, r11\n"
            "lsrs r3, r12, #1\n"
            "bcc 2f\n" GROUP "beq 3f\n" /* if there is only one group */
            "2:\n" GROUP GROUP "subs r3, r3, #1\n"
            "bne 2b\n"
            "3:\n"
            "subs lr, lr, #1\n"
            "bne 1b\n"
            "pop {r4-r11, pc}\n");
}

#else

#include "expand_s8_plain.h"

int32_t *ar_expand2_s8_dsp(int32_t *x, const int8_t *const *rows, int32_t offset, int32_t step, int32_t count,
                           int32_t groups)
{
    return ar_expand_s8_plain(x, rows, offset, step, count, groups, 2);
}

#endif
