/* Multiplies pixels with filters on Helium: four filters (a group) and two pixels (a pair) at a time. The file
 * gemm_s8_mve.h describes the layouts. */
#include "gemm_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The frame, from sp:
 *    0: biases of the four filters, twice, so that one LDM starts all eight sums
 *   32: address of this group's weights, first the pieces of 32 bytes    36: number of pieces of 32 bytes
 *   40: address of the group's pieces of 16 bytes, or 0                  44: address of the group's rest, or 0
 *   48: number of bytes to add to r11 and r3 after a pair, to reach the next pair      52: two_sided
 *   56: distance in bytes from one output pixel to the next, 0 while the last one of an odd number is computed
 *   60: output address of this group after all pairs
 *   64: depth % 16     68: 32 * out_c     72: number of the first filter of this group
 *   76: p   80: x   84: step   88: pixels   92: out   96: narrow, 1 for the narrow loop (see below)
 * Above the frame are q4 to q7 (64 bytes), ten registers (40 bytes) and the argument `out`. */
/* The stack that the function uses, in bytes; object_files.py reads this symbol. */
__asm__(".set ar_stack_ar_gemm_s8_mve, 208");

/* Loads and VMLADAVA alternate where that is possible, because they overlap.
 *
 * Registers in the loops (VMLADAVA adds to even registers only):
 *   r0 r2 r4 r6: sums of the first pixel for the four filters     r11: address of the first pixel's inputs
 *   r8 r10 r12 lr: sums of the second pixel                       r3: address of the second pixel's inputs
 *   r5: address of the weights   r7: number of pieces left   r9: 32 * out_c   r1: address of the output
 *   q0 q1: inputs   q2 q3: weights   q4: multipliers   q5: shifts   q6: the output's zero point
 *   VPR: the predicate that selects the lanes of the rest
 *
 * Requantization takes most of the time if filters have at most 16 values. Then the "narrow" loop is used: the weights
 * of the four filters stay in q2 to q5 for all pixels. The multipliers are then in q6, the shifts in q7, the zero point
 * in r5, and r9 is the distance to the next pair of pixels. No vector register is left for the additional step of
 * `two_sided`, so layers with `two_sided` never use this loop. */
__attribute__((naked)) void ar_gemm_s8_mve(const ar_gemm_s8_mve_params *p, const int8_t *x, uint32_t step,
                                           uint32_t pixels, int8_t *out)
{
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "vpush {d8-d15}\n"
        "sub sp, #104\n"
        "strd r0, r1, [sp, #76]\n"
        "strd r2, r3, [sp, #84]\n"
        "ldr r4, [sp, #208]\n"
        "str r4, [sp, #92]\n"
        "ldrh r4, [r0, #16]\n" /* out_c */
        "ldrh r5, [r0, #18]\n" /* depth */
        "lsl r9, r4, #5\n"
        "lsr r6, r5, #5\n"
        "and r7, r5, #15\n"
        "vctp.8 r7\n"
        "strd r7, r9, [sp, #64]\n"
        "str r6, [sp, #36]\n"
        "sub r8, r5, r7\n"
        "rsb r8, r8, r2, lsl #1\n"
        "ldrh r6, [r0, #22]\n"
        "strd r8, r6, [sp, #48]\n"
        "eor r6, r6, #1\n"
        "cmp r5, #16\n"
        "it hi\n"
        "movhi r6, #0\n"
        "str r6, [sp, #96]\n"
        "ldrsh r6, [r0, #20]\n"
        "vdup.16 q6, r6\n"
        "mov r8, #0\n"

        "1:\n" /* a group: the filters r8 to r8 + 3 */
        "str r8, [sp, #72]\n"
        "ldr r0, [sp, #76]\n"
        "ldrd r1, r2, [r0]\n"
        "ldrd r3, r4, [r0, #8]\n"
        "add r2, r2, r8, lsl #2\n"
        "vldrw.32 q0, [r2]\n"
        "vstrw.32 q0, [sp]\n"
        "vstrw.32 q0, [sp, #16]\n"
        "add r3, r3, r8, lsl #2\n"
        "vldrw.32 q4, [r3]\n"
        "add r4, r4, r8\n"
        "vldrb.s32 q5, [r4]\n"
        "add r5, r1, r8, lsl #5\n"
        "ldr r6, [sp, #36]\n"
        "str r5, [sp, #32]\n"
        "mla r1, r6, r9, r1\n"
        "ldrh r6, [r0, #18]\n"
        "mov r5, #0\n"
        "tst r6, #16\n"
        "itt ne\n"
        "addne r5, r1, r8, lsl #4\n"
        "addne r1, r1, r9, lsr #1\n"
        "ands r7, r6, #15\n"
        "it ne\n"
        "mlane r7, r7, r8, r1\n"
        "strd r5, r7, [sp, #40]\n"
        "ldr r1, [sp, #92]\n"
        "ldr r6, [r0, #24]\n"
        "ldr r7, [sp, #88]\n"
        "add r1, r8\n"
        "bic r4, r7, #1\n"
        "mla r4, r4, r6, r1\n"
        "strd r6, r4, [sp, #56]\n"
        "ldrd r11, r3, [sp, #80]\n"
        "add r3, r11\n"
        "ldr r2, [sp, #96]\n"
        "cbnz r2, 11f\n"
        "cmp r1, r4\n"
        "beq.w 7f\n"
        "b.w 2f\n"

        "11:\n" /* narrow: load the weights of the group */
        "vmov q6, q4\n"
        "vmov q7, q5\n"
        "ldrh r5, [r0, #18]\n"
        "vctp.8 r5\n"
        "ldr r7, [r0]\n"
        "mla r7, r5, r8, r7\n"
        "vpst\n"
        "vldrbt.8 q2, [r7]\n"
        "add r7, r5\n"
        "vpst\n"
        "vldrbt.8 q3, [r7]\n"
        "add r7, r5\n"
        "vpst\n"
        "vldrbt.8 q4, [r7]\n"
        "add r7, r5\n"
        "vpst\n"
        "vldrbt.8 q5, [r7]\n"
        "ldrsh r5, [r0, #20]\n"
        "ldr r9, [sp, #84]\n"
        "lsl r9, r9, #1\n"
        "cmp r1, r4\n"
        "beq.w 7f\n"

        "12:\n" /* narrow: compute two pixels */
        "ldm sp, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
        "vpstt\n"
        "vldrbt.8 q0, [r11]\n"
        "vldrbt.8 q1, [r3]\n"
        "vmladava.s8 r0, q0, q2\n"
        "vmladava.s8 r8, q1, q2\n"
        "vmladava.s8 r2, q0, q3\n"
        "vmladava.s8 r10, q1, q3\n"
        "vmladava.s8 r4, q0, q4\n"
        "vmladava.s8 r12, q1, q4\n"
        "vmladava.s8 r6, q0, q5\n"
        "vmladava.s8 lr, q1, q5\n"
        "vmov q0[2], q0[0], r0, r4\n"
        "vmov q0[3], q0[1], r2, r6\n"
        "vmov q1[2], q1[0], r8, r12\n"
        "vmov q1[3], q1[1], r10, lr\n"
        "vqrdmulh.s32 q0, q0, q6\n"
        "vqrdmulh.s32 q1, q1, q6\n"
        "vrshl.s32 q0, q0, q7\n"
        "vrshl.s32 q1, q1, q7\n"
        "vqmovnb.s32 q0, q0\n"
        "vqmovnt.s32 q0, q1\n"
        "ldrd r0, r2, [sp, #56]\n"
        "vqadd.s16 q0, q0, r5\n"
        "vqmovnb.s16 q0, q0\n"
        "vstrb.32 q0, [r1]\n"
        "add r1, r0\n"
        "vshr.u32 q0, q0, #16\n"
        "vstrb.32 q0, [r1]\n"
        "add r1, r0\n"
        "add r11, r9\n"
        "add r3, r9\n"
        "cmp r1, r2\n"
        "bne 12b\n"
        "b.w 7f\n"

        "2:\n" /* compute two pixels */
        "ldrd r5, r7, [sp, #32]\n"
        "ldm sp, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
        "cbz r7, 4f\n"
        "3:\n"
        "vldrb.8 q0, [r11], #16\n"
        "vldrb.8 q2, [r5]\n"
        "vmladava.s8 r0, q0, q2\n"
        "vldrb.8 q1, [r3], #16\n"
        "vmladava.s8 r8, q1, q2\n"
        "vldrb.8 q3, [r5, #32]\n"
        "vmladava.s8 r2, q0, q3\n"
        "vldrb.8 q2, [r5, #64]\n"
        "vmladava.s8 r10, q1, q3\n"
        "vmladava.s8 r4, q0, q2\n"
        "vldrb.8 q3, [r5, #96]\n"
        "vmladava.s8 r12, q1, q2\n"
        "vmladava.s8 r6, q0, q3\n"
        "vldrb.8 q0, [r11], #16\n"
        "vmladava.s8 lr, q1, q3\n"
        "vldrb.8 q2, [r5, #16]\n"
        "vmladava.s8 r0, q0, q2\n"
        "vldrb.8 q1, [r3], #16\n"
        "vmladava.s8 r8, q1, q2\n"
        "vldrb.8 q3, [r5, #48]\n"
        "vmladava.s8 r2, q0, q3\n"
        "vldrb.8 q2, [r5, #80]\n"
        "vmladava.s8 r10, q1, q3\n"
        "vmladava.s8 r4, q0, q2\n"
        "vldrb.8 q3, [r5, #112]\n"
        "vmladava.s8 r12, q1, q2\n"
        "vmladava.s8 r6, q0, q3\n"
        "vmladava.s8 lr, q1, q3\n"
        "add r5, r9\n"
        "subs r7, #1\n"
        "bne 3b\n"

        "4:\n"
        "ldrd r5, r7, [sp, #40]\n"
        "cbz r5, 5f\n"
        "vldrb.8 q0, [r11], #16\n"
        "vldrb.8 q2, [r5]\n"
        "vmladava.s8 r0, q0, q2\n"
        "vldrb.8 q1, [r3], #16\n"
        "vmladava.s8 r8, q1, q2\n"
        "vldrb.8 q3, [r5, #16]\n"
        "vmladava.s8 r2, q0, q3\n"
        "vldrb.8 q2, [r5, #32]\n"
        "vmladava.s8 r10, q1, q3\n"
        "vmladava.s8 r4, q0, q2\n"
        "vldrb.8 q3, [r5, #48]\n"
        "vmladava.s8 r12, q1, q2\n"
        "vmladava.s8 r6, q0, q3\n"
        "vmladava.s8 lr, q1, q3\n"

        "5:\n"
        "cbz r7, 6f\n"
        "ldr r9, [sp, #64]\n"
        "vpstt\n" /* the other lanes of the inputs become 0, so these lanes of the weights do not count */
        "vldrbt.8 q0, [r11]\n"
        "vldrbt.8 q1, [r3]\n"
        "vldrb.8 q2, [r7]\n"
        "vmladava.s8 r0, q0, q2\n"
        "vmladava.s8 r8, q1, q2\n"
        "add r7, r9\n"
        "vldrb.8 q3, [r7]\n"
        "vmladava.s8 r2, q0, q3\n"
        "vmladava.s8 r10, q1, q3\n"
        "add r7, r9\n"
        "vldrb.8 q2, [r7]\n"
        "vmladava.s8 r4, q0, q2\n"
        "vmladava.s8 r12, q1, q2\n"
        "add r7, r9\n"
        "vpst\n" /* predicated, so that nothing is read after the last filter */
        "vldrbt.8 q3, [r7]\n"
        "vmladava.s8 r6, q0, q3\n"
        "vmladava.s8 lr, q1, q3\n"
        "ldr r9, [sp, #68]\n"

        "6:\n"
        "vmov q0[2], q0[0], r0, r4\n" /* lane 0 from r0, lane 2 from r4 */
        "vmov q0[3], q0[1], r2, r6\n"
        "vmov q1[2], q1[0], r8, r12\n"
        "vmov q1[3], q1[1], r10, lr\n"
        "ldrd r4, r6, [sp, #48]\n"
        "vqrdmulh.s32 q0, q0, q4\n"
        "vqrdmulh.s32 q1, q1, q4\n"
        "cbz r6, 9f\n"
        "vshr.s32 q2, q0, #31\n"
        "vshr.s32 q3, q1, #31\n"
        "vadd.i32 q0, q0, q2\n"
        "vadd.i32 q1, q1, q3\n"
        "9:\n"
        "vrshl.s32 q0, q0, q5\n"
        "vrshl.s32 q1, q1, q5\n"
        "vqmovnb.s32 q0, q0\n" /* the halfwords become: filter by filter, the first pixel, then the second */
        "vqmovnt.s32 q0, q1\n"
        "ldrd r0, r2, [sp, #56]\n"
        "vqadd.s16 q0, q0, q6\n"
        "vqmovnb.s16 q0, q0\n"
        "vstrb.32 q0, [r1]\n" /* store the lowest byte of each word */
        "add r1, r0\n"
        "vshr.u32 q0, q0, #16\n"
        "vstrb.32 q0, [r1]\n"
        "add r1, r0\n"
        "add r11, r4\n"
        "add r3, r4\n"
        "cmp r1, r2\n"
        "bne 2b\n"

        "7:\n" /* the last one of an odd number of pixels is computed as both pixels of a pair, and written twice */
        "ldr r0, [sp, #88]\n"
        "ldr r2, [sp, #56]\n"
        "tst r0, #1\n"
        "beq 8f\n"
        "cbz r2, 8f\n"
        "mov r2, #0\n"
        "str r2, [sp, #56]\n"
        "mov r3, r11\n"
        "ldr r2, [sp, #96]\n"
        "cmp r2, #0\n"
        "bne.w 12b\n"
        "b 2b\n"

        "8:\n" /* the next group; the last group ends with the last filter */
        "ldr r8, [sp, #72]\n"
        "ldr r0, [sp, #76]\n"
        "ldrh r0, [r0, #16]\n"
        "adds r8, #4\n"
        "subs r2, r0, r8\n"
        "beq 10f\n"
        "cmp r2, #4\n"
        "it lt\n"
        "sublt r8, r0, #4\n"
        "b 1b\n"
        "10:\n"
        "add sp, #104\n"
        "vpop {d8-d15}\n"
        "pop {r3-r11, pc}\n");
}

#else

#include "fixed_point.h"

/* Returns the sum of products of filter c, without the bias. */
static int32_t filter_sum(const ar_gemm_s8_mve_params *p, const int8_t *x, int32_t c)
{
    const int8_t *w = p->weights;
    int32_t left = p->depth;
    int32_t sum = 0;
    while (left > 0) {
        const int32_t piece = left >= 32 ? 32 : left >= 16 ? 16 : left;
        for (int32_t i = 0; i < piece; i++) {
            sum += *x++ * w[c * piece + i];
        }
        w += p->out_c * piece;
        left -= piece;
    }
    return sum;
}

void ar_gemm_s8_mve(const ar_gemm_s8_mve_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                    int8_t *out)
{
    for (uint32_t i = 0; i < pixels; i++, x += step, out += p->out_step) {
        for (int32_t c = 0; c < p->out_c; c++) {
            const int32_t sum = (int32_t)((uint32_t)filter_sum(p, x, c) + (uint32_t)p->bias[c]);
            const int32_t scaled = ar_requant(sum, p->multiplier[c], p->shift[c]) + p->output_zero;
            out[c] = (int8_t)ar_clamp(scaled, INT8_MIN, INT8_MAX);
        }
    }
}

#endif
