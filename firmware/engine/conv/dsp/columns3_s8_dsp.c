/* Widens the 5 input columns that 3 neighboring pixels read: 24 instructions for 36 inputs, which are 4 channels of 3
 * taps for each pixel. The file columns_s8_dsp.h describes the layout. */
#include "columns_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* Registers: r0: address for the next widened inputs; r1: minus the number of channels left; r2-r6: ends of the
 * columns, then bytes 0 and 2 of a word of each column; r7-r11: bytes 1 and 3 of these words; r12: number of rows left;
 * lr: address of the next row's address. Stack: sp +0: ends of the columns; +20: offset + in_c; +24: missing; +28:
 * padding_end; +32: in_c. The end of a column is the address after its in_c bytes in the current row. In a
 * row of padding all columns end at padding_end. */
__attribute__((naked)) void ar_columns3_s8_dsp(const ar_columns_s8_dsp *c __attribute__((unused)),
                                               const int8_t *const *rows __attribute__((unused)),
                                               int32_t offset __attribute__((unused)),
                                               uint32_t missing __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_columns3_s8_dsp, 72\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #36\n"
            "mov lr, r1\n"
            "ldm r0, {r0, r4, r5, r12}\n"
            "add r2, r2, r5\n"
            "add r6, sp, #20\n"
            "stm r6, {r2, r3, r4, r5}\n"
            "1:\n"
            "add r7, sp, #20\n"
            "ldm r7, {r7, r8, r9, r10}\n"
            "rsb r1, r10, #0\n"
            "ldr r2, [lr], #4\n"
            "cmp r2, #0\n"
            "itee ne\n addne r2, r2, r7\n moveq r2, r9\n moveq r10, #0\n"
            "add r3, r2, r10\n add r4, r3, r10\n add r5, r4, r10\n add r6, r5, r10\n"
            "lsrs r8, r8, #1\n"
            "it cs\n movcs r2, r9\n"
            "it ne\n movne r6, r9\n"
            "stm sp, {r2-r6}\n"
            "2:\n"
            "ldm sp, {r2-r6}\n"
            "ldr r2, [r2, r1]\n ldr r3, [r3, r1]\n ldr r4, [r4, r1]\n ldr r5, [r5, r1]\n ldr r6, [r6, r1]\n"
            "sxtb16 r7, r2, ror #8\n sxtb16 r8, r3, ror #8\n sxtb16 r9, r4, ror #8\n"
            "sxtb16 r10, r5, ror #8\n sxtb16 r11, r6, ror #8\n"
            "sxtb16 r2, r2\n sxtb16 r3, r3\n sxtb16 r4, r4\n sxtb16 r5, r5\n sxtb16 r6, r6\n"
            "stm r0!, {r2-r4}\n stm r0!, {r7-r9}\n"
            "stm r0!, {r3-r5}\n stm r0!, {r8-r10}\n"
            "stm r0!, {r4-r6}\n stm r0!, {r9-r11}\n"
            "adds r1, #4\n"
            "bne 2b\n"
            "subs r12, #1\n"
            "bne 1b\n"
            "add sp, #36\n"
            "pop {r4-r11, pc}\n");
}

#else

#include "columns_s8_plain.h"

void ar_columns3_s8_dsp(const ar_columns_s8_dsp *c, const int8_t *const *rows, int32_t offset,
                        uint32_t missing)
{
    ar_columns_s8_plain(c, rows, offset, missing, 3);
}

#endif
