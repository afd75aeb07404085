/* One output pixel of a depthwise convolution for Helium. */
#include "depthwise_window_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#include "depthwise_asm_s8_mve.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly knows where they are */

/* Ten registers, q4 to q7. */
__asm__(".set ar_stack_ar_depthwise_window_s8_mve, 104");

/* r0 list of taps   r1 pairs left   r2 first channel of the block   r3 place in the list   r4 number of taps
 * r5 r6 taps; the others are in depthwise_asm_s8_mve.h. */
__attribute__((naked)) void ar_depthwise_window_s8_mve(const ar_depthwise_mve_params *p, int8_t *out)
{
    __asm__ volatile("push {r4-r12, lr}\n"
                     "vpush {d8-d15}\n"
                     "mov r11, r1\n"
                     "ldr r9, [r0, #8]\n"
                     "ldr r7, [r0, #12]\n"
                     "ldrh r12, [r0, #30]\n"
                     "ldrh r4, [r0, #36]\n"
                     "ldrh r2, [r0, #38]\n"
                     "mul r4, r2\n"
                     "ldrh lr, [r0, #48]\n"
                     "ldrb r2, [r0, #53]\n"
                     "orr lr, lr, r2, lsl #16\n"
                     "ldr r0, [r0, #20]\n"
                     "mov r2, #0\n"
                     "1:\n" /* sixteen channels */
                     START "mov r3, r0\n"
                     "lsrs r1, r4, #1\n"
                     "beq 5f\n"
                     "4:\n"
                     "ldrd r5, r6, [r3], #8\n"
                     "add r5, r2\n"
                     "add r6, r2\n" PAIR("r5", "r6") "subs r1, #1\n"
                                                     "bne 4b\n"
                                                     "5:\n"
                                                     "tst r4, #1\n"
                                                     "beq 6f\n"
                                                     "ldr r5, [r3]\n"
                                                     "add r5, r2\n" SINGLE("r5") "6:\n" FINISH "add r2, #16\n"
                                                                                 "subs r12, #16\n"
                                                                                 "bgt 1b\n"
                                                                                 "vpop {d8-d15}\n"
                                                                                 "pop {r4-r12, pc}\n");
}

#else

#include "depthwise_block_s8_mve.h"

void ar_depthwise_window_s8_mve(const ar_depthwise_mve_params *p, int8_t *out)
{
    for (int32_t c = 0; c < p->channels; c++) {
        out[c] = ar_depthwise_output(p->taps, p->k_h * p->k_w, c, p->weights, p->scales, p->output_zero);
    }
}

#endif
