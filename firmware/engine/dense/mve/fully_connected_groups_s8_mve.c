/* FULLY_CONNECTED, int8, for Helium, with one multiplier for all units: eight units at a time.
 *
 * The result is that of fully_connected_s8_mve.c, which rounds once: VQDMLASH gives floor(x * multiplier / 2^31) and adds
 * the zero point and the rounding of the right shift by n, both in units of 2^-n. The shift and the limitation to int8
 * are one saturating shift to the left by 24 - n: the output is the highest byte. */
#include "fully_connected_groups_s8_mve.h"
#include "vector_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the function uses, in bytes; object_files.py reads this symbol. */
__asm__(".set ar_stack_ar_multiply_groups_mve, 76");

/* Adds the products of the inputs in `x` and of one vector of weights of each unit. */
#define UNIT(sum, x, w)          \
    "vldrb.8 " w ", [r1], #16\n" \
    "vmladava.s8 " sum ", " x ", " w "\n"

#define UNITS(x)        \
    UNIT("r0", x, "q1") \
    UNIT("r2", x, "q2") \
    UNIT("r4", x, "q1") \
    UNIT("r6", x, "q2") UNIT("r8", x, "q1") UNIT("r10", x, "q2") UNIT("r12", x, "q1") UNIT("lr", x, "q2")

/* Computes all units of one batch.
 *
 * The loop has eight vectors of inputs, 68 bytes of code each. Its first round begins at the vector that leaves a multiple
 * of eight. The frame, from sp: 0: added   4: left   8: x   12: rounds   16: first code of a group   20: code after the
 * vector of the last inputs
 *
 * Registers: r1: address of the weights   r3: address of the inputs   r5: address of the outputs   r7: rounds left
 *   r9: address of the biases   r11: groups left   q0: inputs   q1 q2: weights   q3: multiplier   q4: the last inputs,
 *   filled up with zeros   the even registers: sums of the eight units (VMLADAVA adds to even registers only) */
__attribute__((naked)) void ar_multiply_groups_mve(const ar_fully_connected_groups_params *p, const int8_t *x,
                                                   int8_t *out)
{
    /* clang-format off */
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "vpush {d8-d9}\n"
        "sub sp, #24\n"
        "mov r5, r2\n"
        "ldrd r2, r4, [r0, #20]\n"
        "strd r2, r4, [sp]\n"
        "ldrd r9, r2, [r0, #12]\n"
        "vdup.32 q3, r2\n"
        "ldrd r2, r4, [r0, #32]\n"
        "lsr r11, r4, #3\n"
        "and r6, r2, #15\n"    /* the inputs of the last vector, if it is not full */
        "lsr r7, r2, #4\n"     /* full vectors */
        "add r4, r1, r7, lsl #4\n"
        "vctp.8 r6\n"
        "vpst\n"
        "vldrbt.u8 q4, [r4]\n"
        "add r4, r7, #7\n"
        "lsr r4, r4, #3\n"
        "strd r1, r4, [sp, #8]\n"
        "ldr r1, [r0, #8]\n"
        "adr.w r4, 3f\n"
        "rsb r8, r7, #0\n"
        "and r8, r8, #7\n"
        "mov r10, #68\n"
        "mla r4, r8, r10, r4\n"
        "cmp r7, #0\n"
        "it eq\n"
        "addweq r4, r4, #8 * 68 + 6\n" /* no full vector: after the loop */
        "orr r4, r4, #1\n"
        "str r4, [sp, #20]\n"
        "cbz r6, 1f\n"
        "adr.w r4, 2f\n"
        "orr r4, r4, #1\n"
        "1:\n"
        "str r4, [sp, #16]\n"
        "0:\n" /* a group */
        "ldrd r3, r7, [sp, #8]\n"
        "ldm r9!, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
        "ldr pc, [sp, #16]\n"
        "2:\n"
        UNITS("q4")
        "ldr pc, [sp, #20]\n"
        "3:\n"
        ".rept 8\n"
        "vldrb.8 q0, [r3], #16\n"
        UNITS("q0")
        ".endr\n"
        "subs r7, #1\n" /* two bytes */
        "bgt.w 3b\n"
        "vmov q0[2], q0[0], r0, r8\n" /* even units in q0, odd units in q1 */
        "vmov q0[3], q0[1], r4, r12\n"
        "vmov q1[2], q1[0], r2, r10\n"
        "vmov q1[3], q1[1], r6, lr\n"
        "ldrd r0, r2, [sp]\n"
        "vqdmlash.s32 q0, q3, r0\n"
        "vqdmlash.s32 q1, q3, r0\n"
        "vqshl.s32 q0, r2\n"
        "vqshl.s32 q1, r2\n"
        "vsri.32 q1, q0, #16\n"
        "vshr.u16 q1, q1, #8\n"
        "vstrb.16 q1, [r5], #8\n"
        "subs r11, #1\n"
        "bne.w 0b\n"
        "add sp, #24\n"
        "vpop {d8-d9}\n"
        "pop {r4-r11, pc}\n");
    /* clang-format on */
}

#else

void ar_multiply_groups_mve(const ar_fully_connected_groups_params *p, const int8_t *x, int8_t *out)
{
    const uint32_t rest = p->depth % 16;
    const uint32_t vectors = (p->depth + 15) / 16;
    for (uint32_t c = 0; c < p->units; c++) {
        const int8_t *weights = p->weights + (c / 8 * vectors * 8 + c % 8) * 16;
        uint32_t sum = (uint32_t)p->bias[c];
        for (uint32_t i = 0; i < p->depth; i++) {
            /* The inputs of the vector that is not full are the last ones. */
            const uint32_t at = rest == 0 ? i : i < p->depth - rest ? i + 16 : i - (p->depth - rest);
            sum += (uint32_t)(x[i] * weights[at / 16 * 128 + at % 16]);
        }
        const int64_t product = ((int64_t)(int32_t)sum * p->multiplier) >> 31;
        const int64_t v = (product + p->added) >> (24 - p->left);
        out[c] = (int8_t)(v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v);
    }
}

#endif

void ar_fully_connected_groups_s8_mve(const ar_fully_connected_groups_params *p)
{
    for (uint32_t b = 0; b < p->batches; b++) {
        ar_multiply_groups_mve(p, p->input + b * p->depth, p->output + b * p->units);
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(p->output, p->act_min, p->act_max, (int32_t)(p->batches * p->units));
    }
}
