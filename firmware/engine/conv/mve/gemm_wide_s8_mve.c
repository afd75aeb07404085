/* Multiplies pixels with filters of 64 or 128 values on Helium: four filters and two pixels at a time.
 * gemm_wide_s8_mve.h describes the layouts. */
#include "gemm_wide_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the functions use, in bytes; object_files.py reads these symbols. */
__asm__(".set ar_stack_ar_gemm_depth64_mve, 164");
__asm__(".set ar_stack_ar_gemm_depth128_mve, 164");

/* The frame, from sp:
 *    0: biases of the group, twice, so that one LDM starts all eight sums
 *   32: address of the inputs   36: address of the outputs of the group   40: weights of the group
 *   44: output of this group after all pixels   48: number of groups left   52: two_sided
 *   56: 2 * out_c   60: output_zero
 *
 * Registers in the loops (VMLADAVA adds to even registers only):
 *   r0 r2 r4 r6: sums of the first pixel for the four filters    r8 r10 r12 lr: sums of the second pixel
 *   r11: address of the first pixel's inputs   r5: address of the weights   r1: address of the output   r3: its end
 *   r7: the output's zero point   r9: 2 * out_c
 *   q0 q1: inputs   q2 q3: weights   q4: multipliers   q5: shifts   q6: offsets of the outputs */

/* clang-format off */

#define LOAD(q, address) "vldrb.8 " q ", [" address "], #16\n"

/* Adds the products of 16 inputs of both pixels. Loads and VMLADAVA alternate, because they overlap. The first two
 * vectors, in q0 and q2, are loaded before; the last two lines may load those of the next 16 inputs. */
#define MULTIPLY(depth, next_input, next_weights) \
    "vmladava.s8 r0, q0, q2\n"                    \
    "vldrb.8 q1, [r11, #" depth " - 16]\n"        \
    "vmladava.s8 r8, q1, q2\n"                    \
    LOAD("q3", "r5")                              \
    "vmladava.s8 r2, q0, q3\n"                    \
    LOAD("q2", "r5")                              \
    "vmladava.s8 r10, q1, q3\n"                   \
    "vmladava.s8 r4, q0, q2\n"                    \
    LOAD("q3", "r5")                              \
    "vmladava.s8 r12, q1, q2\n"                   \
    "vmladava.s8 r6, q0, q3\n"                    \
    next_input                                    \
    "vmladava.s8 lr, q1, q3\n"                    \
    next_weights

/* Computes the outputs of two pixels. `scale` multiplies the sums. */
#define TWO_PIXELS(depth, scale)                         \
    "ldr r5, [sp, #40]\n"                                \
    "ldm sp, {r0, r2, r4, r6, r8, r10, r12, lr}\n"       \
    LOAD("q0", "r11")                                    \
    LOAD("q2", "r5")                                     \
    ".rept " depth " / 16 - 1\n"                         \
    MULTIPLY(depth, LOAD("q0", "r11"), LOAD("q2", "r5")) \
    ".endr\n"                                            \
    MULTIPLY(depth, "", "")                              \
    "vmov q0[2], q0[0], r0, r4\n"                        \
    "vmov q0[3], q0[1], r2, r6\n"                        \
    "vmov q1[2], q1[0], r8, r12\n"                       \
    "vmov q1[3], q1[1], r10, lr\n"                       \
    scale                                                \
    "vrshl.s32 q1, q1, q5\n"                             \
    "vqmovnb.s32 q0, q0\n"                               \
    "vqmovnt.s32 q0, q1\n"                               \
    "add r11, #" depth "\n"                              \
    "vqadd.s16 q0, q0, r7\n"                             \
    "vqmovnb.s16 q0, q0\n"                               \
    "vstrb.16 q0, [r1, q6]\n"                            \
    "add r1, r9\n"                                       \
    "cmp r1, r3\n"

#define ONE_SIDED               \
    "vqrdmulh.s32 q0, q0, q4\n" \
    "vrshl.s32 q0, q0, q5\n"    \
    "vqrdmulh.s32 q1, q1, q4\n"

#define TWO_SIDED               \
    "vqrdmulh.s32 q0, q0, q4\n" \
    "vshr.s32 q2, q0, #31\n"    \
    "vqrdmulh.s32 q1, q1, q4\n" \
    "vadd.i32 q0, q0, q2\n"     \
    "vshr.s32 q3, q1, #31\n"    \
    "vrshl.s32 q0, q0, q5\n"    \
    "vadd.i32 q1, q1, q3\n"

#define GEMM_WIDE(name, depth)                                                                       \
    __attribute__((naked)) void name(const ar_gemm_wide_params *p, const int8_t *x, uint32_t pixels, \
                                     int8_t *out)                                                    \
    {                                                                                                \
        __asm__ volatile(                                                                            \
        "push {r4-r11, lr}\n"                                                                        \
        "vpush {d8-d15}\n"                                                                           \
        "sub sp, #64\n"                                                                              \
        "strd r1, r3, [sp, #32]\n"                                                                   \
        "ldrd r4, r5, [r0]\n"                                                                        \
        "ldrd r6, r7, [r0, #8]\n"                                                                    \
        "ldr r8, [r0, #16]\n"                                                                        \
        "vldrh.u16 q6, [r0, #20]\n"                                                                  \
        "mla r9, r2, r6, r3\n"                                                                       \
        "strd r4, r9, [sp, #40]\n"                                                                   \
        "strd r5, r7, [sp, #48]\n"                                                                   \
        "lsl r6, r6, #1\n"                                                                           \
        "strd r6, r8, [sp, #56]\n"                                                                   \
        "1:\n" /* a group */                                                                         \
        "ldr r5, [sp, #40]\n"                                                                        \
        "add r5, #" depth " * 4\n"                                                                   \
        "vldrw.32 q0, [r5]\n"                                                                        \
        "vstrw.32 q0, [sp]\n"                                                                        \
        "vstrw.32 q0, [sp, #16]\n"                                                                   \
        "vldrw.32 q4, [r5, #16]\n"                                                                   \
        "vldrw.32 q5, [r5, #32]\n"                                                                   \
        "ldrd r11, r1, [sp, #32]\n"                                                                  \
        "ldr r3, [sp, #44]\n"                                                                        \
        "ldrd r9, r7, [sp, #56]\n"                                                                   \
        "ldr r0, [sp, #52]\n"                                                                        \
        "cmp r0, #0\n"                                                                               \
        "bne.w 3f\n"                                                                                 \
        "2:\n"                                                                                       \
        TWO_PIXELS(depth, ONE_SIDED)                                                                 \
        "bne.w 2b\n"                                                                                 \
        "4:\n" /* the next group */                                                                  \
        "ldr r1, [sp, #36]\n"                                                                       \
        "ldrd r3, r0, [sp, #44]\n"                                                                   \
        "add r5, #48\n"                                                                              \
        "adds r1, #4\n"                                                                              \
        "adds r3, #4\n"                                                                              \
        "strd r1, r5, [sp, #36]\n"                                                                   \
        "subs r0, #1\n"                                                                              \
        "strd r3, r0, [sp, #44]\n"                                                                   \
        "bne.w 1b\n"                                                                                 \
        "add sp, #64\n"                                                                              \
        "vpop {d8-d15}\n"                                                                            \
        "pop {r4-r11, pc}\n"                                                                         \
        "3:\n"                                                                                       \
        TWO_PIXELS(depth, TWO_SIDED)                                                                 \
        "bne.w 3b\n"                                                                                 \
        "b.w 4b\n");                                                                                 \
    }

GEMM_WIDE(ar_gemm_depth64_mve, "64")
GEMM_WIDE(ar_gemm_depth128_mve, "128")
/* clang-format on */

#else

#include "fixed_point.h"

static void multiply(const ar_gemm_wide_params *p, const int8_t *x, uint32_t pixels, int8_t *out,
                     int32_t depth)
{
    const int32_t *group = p->groups;
    for (uint32_t c = 0; c < p->out_c; c += 4, group += depth + 12) {
        const int8_t *weights = (const int8_t *)group;
        const int32_t *constants = group + depth;
        for (uint32_t i = 0; i < pixels; i++) {
            for (int32_t f = 0; f < 4; f++) {
                uint32_t sum = (uint32_t)constants[f];
                for (int32_t d = 0; d < depth; d++) {
                    sum += (uint32_t)(x[(int32_t)i * depth + d] * weights[d / 16 * 64 + f * 16 + d % 16]);
                }
                const int32_t scaled =
                    ar_requant((int32_t)sum, constants[4 + f], constants[8 + f]) + p->output_zero;
                out[i * p->out_c + c + (uint32_t)f] = (int8_t)ar_clamp(scaled, INT8_MIN, INT8_MAX);
            }
        }
    }
}

void ar_gemm_depth64_mve(const ar_gemm_wide_params *p, const int8_t *x, uint32_t pixels, int8_t *out)
{
    multiply(p, x, pixels, out, 64);
}

void ar_gemm_depth128_mve(const ar_gemm_wide_params *p, const int8_t *x, uint32_t pixels, int8_t *out)
{
    multiply(p, x, pixels, out, 128);
}

#endif
