/* Multiplies pixels with filters on Helium: four filters (a group) and two pixels (a pair) at a time. The file
 * gemm_compact_s8_mve.h describes the layout. */
#include "gemm_compact_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The frame, from sp:
 *    0: biases of the four filters, twice, so that one LDM starts all eight sums
 *   32: address of this group's weights    36: number of pieces of 16 bytes, 0 for the narrow loop
 *   40: address of the group's rest, or 0  44: bytes of the rest
 *   48: number of bytes to add to r11 and r3 after a pair, to reach the next pair      52: p->zero
 *   56: distance in bytes from one output pixel to the next, 0 while the last one of an odd number is computed
 *   60: output address of this group after all pairs
 *   68: address of the next record   72: number of the first filter of this group
 *   76: p   80: x   84: step   88: pixels   92: out
 * Above the frame are q4 to q7 (64 bytes), ten registers (40 bytes) and the argument `out`. */
/* The stack that the function uses, in bytes; object_files.py reads this symbol. */
__asm__(".set ar_stack_ar_gemm_compact_s8_mve, 200");

/* Loads and VMLADAVA alternate where that is possible, because they overlap.
 *
 * Registers in the loop (VMLADAVA adds to even registers only):
 *   r0 r2 r4 r6: sums of the first pixel for the four filters     r11: address of the first pixel's inputs
 *   r8 r10 r12 lr: sums of the second pixel                       r3: address of the second pixel's inputs
 *   r5: address of the weights   r7: number of pieces left   r9: 16 * out_c   r1: address of the output
 *   q0 q1: inputs   q2 q3: weights   q6: multipliers   q7: shifts   VPR: the predicate that selects the lanes of the rest
 *
 * If filters have at most 16 values, all of them are the rest. Then the weights of the four filters stay in q2 to q5 for
 * all pixels (the narrow loop). */
__attribute__((naked)) void ar_gemm_compact_s8_mve(const ar_gemm_compact_params *p, const int8_t *x,
                                                   uint32_t step, uint32_t pixels, int8_t *out)
{
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "vpush {d8-d15}\n"
        "sub sp, #96\n"
        "strd r0, r1, [sp, #76]\n"
        "strd r2, r3, [sp, #84]\n"
        "ldr r4, [sp, #200]\n"
        "str r4, [sp, #92]\n"
        "ldr r3, [r0, #4]\n"
        "str r3, [sp, #68]\n"
        "ldrh r4, [r0, #8]\n"  /* out_c */
        "ldrh r5, [r0, #10]\n" /* depth */
        "lsl r9, r4, #4\n"
        "ldr r12, [r0, #12]\n" /* zero */
        "lsrs r6, r5, #4\n"
        "and r7, r5, #15\n"
        "cmp r5, #16\n"
        "itt ls\n"
        "movls r7, r5\n"
        "movls r6, #0\n"
        "str r6, [sp, #36]\n"
        "vctp.8 r7\n"
        "str r7, [sp, #44]\n"
        "subs r5, r5, r7\n"
        "rsb r8, r5, r2, lsl #1\n"
        "strd r8, r12, [sp, #48]\n"
        "mov r8, #0\n"

        "1:\n" /* a group: the filters r8 to r8 + 3 */
        "str r8, [sp, #72]\n"
        "ldr r0, [sp, #76]\n"
        "ldr r2, [sp, #68]\n"
        "vldrw.32 q0, [r2], #16\n"
        "vstrw.32 q0, [sp]\n"
        "vstrw.32 q0, [sp, #16]\n"
        "vldrw.32 q6, [r2], #16\n"
        "vldrb.s32 q7, [r2], #4\n"
        "str r2, [sp, #68]\n"
        "ldr r1, [r0]\n"
        "ldr r6, [sp, #36]\n"
        "add r5, r1, r8, lsl #4\n"
        "str r5, [sp, #32]\n"
        "ldr r7, [sp, #44]\n"
        "mla r1, r6, r9, r1\n"
        "cmp r7, #0\n"
        "it ne\n"
        "mlane r7, r7, r8, r1\n"
        "str r7, [sp, #40]\n"
        "cbnz r6, 12f\n"
        "ldr r2, [sp, #44]\n"
        "vldrb.8 q2, [r7]\n"
        "add r7, r2\n"
        "vldrb.8 q3, [r7]\n"
        "add r7, r2\n"
        "vldrb.8 q4, [r7]\n"
        "add r7, r2\n"
        "vpst\n" /* predicated, so that nothing is read after the last filter */
        "vldrbt.8 q5, [r7]\n"
        "12:\n"
        "ldr r1, [sp, #92]\n"
        "ldr r6, [r0, #16]\n"
        "ldr r7, [sp, #88]\n"
        "add r1, r8\n"
        "bic r4, r7, #1\n"
        "mla r4, r4, r6, r1\n"
        "strd r6, r4, [sp, #56]\n"
        "ldrd r11, r3, [sp, #80]\n"
        "add r3, r11\n"
        "cmp r1, r4\n"
        "beq.w 7f\n"

        "2:\n" /* compute two pixels */
        "ldrd r5, r7, [sp, #32]\n"
        "ldm sp, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
        "cbz r7, 5f\n"
        "3:\n"
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
        "add r5, r9\n"
        "vmladava.s8 lr, q1, q3\n"
        "subs r7, #1\n"
        "bne 3b\n"
        "b 4f\n"

        "5:\n" /* narrow */
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
        "b 6f\n"

        "4:\n"
        "ldrd r7, r5, [sp, #40]\n"
        "cbz r7, 6f\n"
        "vpstt\n" /* the other lanes of the inputs become 0, so these lanes of the weights do not count */
        "vldrbt.8 q0, [r11]\n"
        "vldrbt.8 q1, [r3]\n"
        "vldrb.8 q2, [r7]\n"
        "vmladava.s8 r0, q0, q2\n"
        "vmladava.s8 r8, q1, q2\n"
        "add r7, r5\n"
        "vldrb.8 q3, [r7]\n"
        "vmladava.s8 r2, q0, q3\n"
        "vmladava.s8 r10, q1, q3\n"
        "add r7, r5\n"
        "vldrb.8 q2, [r7]\n"
        "vmladava.s8 r4, q0, q2\n"
        "vmladava.s8 r12, q1, q2\n"
        "add r7, r5\n"
        "vpst\n"
        "vldrbt.8 q3, [r7]\n"
        "vmladava.s8 r6, q0, q3\n"
        "vmladava.s8 lr, q1, q3\n"

        "6:\n"
        "vmov q0[2], q0[0], r0, r4\n" /* lane 0 from r0, lane 2 from r4 */
        "vmov q0[3], q0[1], r2, r6\n"
        "vmov q1[2], q1[0], r8, r12\n"
        "vmov q1[3], q1[1], r10, lr\n"
        "ldrd r4, r6, [sp, #48]\n"
        "vqrdmulh.s32 q0, q0, q6\n"
        "vqrdmulh.s32 q1, q1, q6\n"
        "lsls r0, r6, #15\n" /* two_sided */
        "bpl 9f\n"
        "movs r0, #1\n"
        "ldr r2, [sp, #44]\n"
        "vpt.s32 lt, q0, zr\n"
        "vsubt.i32 q0, q0, r0\n"
        "vpt.s32 lt, q1, zr\n"
        "vsubt.i32 q1, q1, r0\n"
        "vctp.8 r2\n"
        "9:\n"
        "vrshl.s32 q0, q0, q7\n"
        "vrshl.s32 q1, q1, q7\n"
        "vqmovnb.s32 q0, q0\n" /* the halfwords become: filter by filter, the first pixel, then the second */
        "vqmovnt.s32 q0, q1\n"
        "ldrd r0, r2, [sp, #56]\n"
        "vqadd.s16 q0, q0, r6\n"
        "vqmovnb.s16 q0, q0\n"
        "vstrb.32 q0, [r1]\n" /* store the lowest byte of each word */
        "add r1, r0\n"
        "vshr.u32 q0, q0, #16\n"
        "vstrb.32 q0, [r1]\n"
        "add r1, r0\n"
        "add r11, r4\n"
        "add r3, r4\n"
        "cmp r1, r2\n"
        "bne.w 2b\n"

        "7:\n" /* the last one of an odd number of pixels is computed as both pixels of a pair, and written twice */
        "ldr r0, [sp, #88]\n"
        "ldr r2, [sp, #56]\n"
        "lsls r0, r0, #31\n"
        "beq 8f\n"
        "cbz r2, 8f\n"
        "movs r2, #0\n"
        "str r2, [sp, #56]\n"
        "mov r3, r11\n"
        "b 2b\n"

        "8:\n" /* the next group; the last group ends with the last filter */
        "ldr r8, [sp, #72]\n"
        "ldr r0, [sp, #76]\n"
        "ldrh r0, [r0, #8]\n"
        "adds r8, #4\n"
        "subs r2, r0, r8\n"
        "beq 10f\n"
        "cmp r2, #4\n"
        "it lt\n"
        "sublt r8, r0, #4\n"
        "b 1b\n"
        "10:\n"
        "add sp, #96\n"
        "vpop {d8-d15}\n"
        "pop {r3-r11, pc}\n");
}

#else

#include "compact_layer_mve.h"
#include "fixed_point.h"

/* Returns the sum of products of filter c, without the bias. */
static int32_t filter_sum(const ar_gemm_compact_params *p, const int8_t *x, int32_t c)
{
    const int8_t *w = p->weights;
    int32_t sum = 0;
    for (int32_t left = p->depth; left > 0; left -= 16) {
        const int32_t piece = left >= 16 ? 16 : left;
        for (int32_t i = 0; i < piece; i++) {
            sum += *x++ * w[c * piece + i];
        }
        w += p->out_c * piece;
    }
    return sum;
}

void ar_gemm_compact_s8_mve(const ar_gemm_compact_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                            int8_t *out)
{
    for (uint32_t i = 0; i < pixels; i++, x += step, out += p->out_step) {
        for (int32_t c = 0; c < p->out_c; c++) {
            const int32_t lane = c / 4 * 4 + 4 > p->out_c ? c - (p->out_c - 4) : c % 4;
            const int32_t *record = p->records + c / 4 * AR_COMPACT_CHANNEL_MVE;
            const int8_t shift = ((const int8_t *)(record + 8))[lane];
            const int32_t sum = (int32_t)((uint32_t)filter_sum(p, x, c) + (uint32_t)record[lane]);
            const int32_t scaled = ar_requant(sum, record[4 + lane], shift) + (int16_t)p->zero;
            out[c] = (int8_t)ar_clamp(scaled, INT8_MIN, INT8_MAX);
        }
    }
}

#endif
