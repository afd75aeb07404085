/* Assembly for a block of sixteen channels of a depthwise convolution. depthwise_s8_mve.h describes the arithmetic.
 *
 * Registers: r7 is the address of the scales, r9 of the weights, r11 of the output. r12 is the number of channels
 * left. lr has the output's zero point in the low half and two_sided in bit 16. q4 to q7 are the sums, q0 to q3
 * temporary values.
 */
#ifndef ARENITE_DEPTHWISE_ASM_S8_MVE_H
#define ARENITE_DEPTHWISE_ASM_S8_MVE_H

/* Sets the sums to the biases. */
#define START                  \
    "vldrw.32 q4, [r9], #16\n" \
    "vldrw.32 q5, [r9], #16\n" \
    "vldrw.32 q6, [r9], #16\n" \
    "vldrw.32 q7, [r9], #16\n"

/* Adds the int16 sums in q2 (even channels) and q0 (odd channels) to the int32 sums q4 to q7. */
#define WIDEN               \
    "vmovlb.s16 q1, q2\n"   \
    "vmovlt.s16 q2, q2\n"   \
    "vadd.i32 q4, q4, q1\n" \
    "vadd.i32 q5, q5, q2\n" \
    "vmovlb.s16 q1, q0\n"   \
    "vmovlt.s16 q0, q0\n"   \
    "vadd.i32 q6, q6, q1\n" \
    "vadd.i32 q7, q7, q0\n"

/* Adds the products of two taps of sixteen channels; a and b are the taps' addresses. The weights of the second tap
 * are read twice, because Helium has only eight vector registers. */
#define PAIR(a, b)               \
    "vldrb.8 q0, [" a "], #16\n" \
    "vldrb.8 q1, [r9], #16\n"    \
    "vmullb.s8 q2, q0, q1\n"     \
    "vmullt.s8 q0, q0, q1\n"     \
    "vldrb.8 q1, [" b "], #16\n" \
    "vldrb.8 q3, [r9]\n"         \
    "vmullt.s8 q3, q1, q3\n"     \
    "vadd.i16 q0, q0, q3\n"      \
    "vldrb.8 q3, [r9], #16\n"    \
    "vmullb.s8 q3, q1, q3\n"     \
    "vadd.i16 q2, q2, q3\n" WIDEN

/* Adds the products of the last tap, if the number of taps is odd. */
#define SINGLE(a)                \
    "vldrb.8 q0, [" a "], #16\n" \
    "vldrb.8 q1, [r9], #16\n"    \
    "vmullb.s8 q2, q0, q1\n"     \
    "vmullt.s8 q0, q0, q1\n" WIDEN

/* Requantizes the sums, and stores the outputs of at most r12 channels. */
#define FINISH                  \
    "vldrw.32 q0, [r7], #16\n"  \
    "vldrw.32 q1, [r7], #16\n"  \
    "vldrw.32 q2, [r7], #16\n"  \
    "vldrw.32 q3, [r7], #16\n"  \
    "vqrdmulh.s32 q4, q4, q0\n" \
    "vqrdmulh.s32 q5, q5, q1\n" \
    "vqrdmulh.s32 q6, q6, q2\n" \
    "vqrdmulh.s32 q7, q7, q3\n" \
    "tst lr, #0x10000\n"        \
    "beq 3f\n"                  \
    "vshr.s32 q0, q4, #31\n"    \
    "vshr.s32 q1, q5, #31\n"    \
    "vshr.s32 q2, q6, #31\n"    \
    "vshr.s32 q3, q7, #31\n"    \
    "vadd.i32 q4, q4, q0\n"     \
    "vadd.i32 q5, q5, q1\n"     \
    "vadd.i32 q6, q6, q2\n"     \
    "vadd.i32 q7, q7, q3\n"     \
    "3:\n"                      \
    "vldrb.s32 q0, [r7], #4\n"  \
    "vldrb.s32 q1, [r7], #4\n"  \
    "vldrb.s32 q2, [r7], #4\n"  \
    "vldrb.s32 q3, [r7], #4\n"  \
    "vrshl.s32 q4, q4, q0\n"    \
    "vrshl.s32 q5, q5, q1\n"    \
    "vrshl.s32 q6, q6, q2\n"    \
    "vrshl.s32 q7, q7, q3\n"    \
    "vqmovnb.s32 q4, q4\n"      \
    "vqmovnt.s32 q4, q5\n"      \
    "vqmovnb.s32 q6, q6\n"      \
    "vqmovnt.s32 q6, q7\n"      \
    "vqadd.s16 q4, q4, lr\n"    \
    "vqadd.s16 q6, q6, lr\n"    \
    "vqmovnb.s16 q4, q4\n"      \
    "vqmovnt.s16 q4, q6\n"      \
    "vctp.8 r12\n"              \
    "vpst\n"                    \
    "vstrbt.8 q4, [r11], #16\n"

#endif
