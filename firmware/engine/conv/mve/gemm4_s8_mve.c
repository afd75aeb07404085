/* Multiplies pixels with short filters on Helium: two filters (a pair) and four pixels at a time. gemm4_s8_mve.h
 * describes the layouts. */
#include "gemm4_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the functions use, in bytes; object_files.py reads these symbols. */
__asm__(".set ar_stack_ar_gemm4_depth8_mve, 192");
__asm__(".set ar_stack_ar_gemm4_depth16_mve, 192");
__asm__(".set ar_stack_ar_gemm4_depth32_mve, 192");
__asm__(".set ar_stack_ar_gemm4_step16_mve, 192");
__asm__(".set ar_stack_ar_gemm4_step32_mve, 192");
__asm__(".set ar_stack_ar_gemm4_step48_mve, 192");

/* The frame, from sp:
 *    0: the biases of the pair   8: the words that are added after the multiplication   16: the multipliers
 *   32: offsets of the outputs of four pixels, 16 bytes
 *   48: address of the first four pixels   52: address of their outputs   56: bytes of the outputs of all pixels
 *   60: constants of the next pair         64: number of pairs left
 *   68: step   72: 4 * out_step   76: pixels / 4   80: two_sided
 *   84: bytes from the last four inputs to those after the fours of pixels, if pixels remain   88: the same for outputs
 * Above the frame are q4 to q7 (64 bytes), nine registers (36 bytes) and the argument `out`.
 *
 * Registers in the loops (VMLADAV writes to even registers only):
 *   r0 r2 r4 r6 r8 r10 r12: sums, after them the constants of the pair   lr: fours of pixels left
 *   r1: address of the inputs   r3: address of the outputs   r5: step   r7: 4 * out_step   r9 r11: 24 - n
 *   q0 to q3: filters   q4 q5: inputs, then the sums of the first and of the second filter
 *   q6 q7: multipliers, with two_sided temporary values
 * The function for filters of 48 values has them in q0 to q5, and inputs and sums in q6 and q7.
 *
 * Instructions of different kinds alternate where that is possible, because loads, multiplications and other vector
 * instructions overlap. */

/* clang-format off */

/* `vectors` loads the filters of a pair from r0, `start` prepares the loop, `sums` computes the sums of four pixels,
 * `finish` requantizes and stores them, and `two_sided` is the loop for outputs below the zero point. */
#define GEMM4(name, vectors, start, sums, finish, two_sided)                                   \
    __attribute__((naked)) void name(const ar_gemm4_params *p, const int8_t *x, uint32_t step, \
                                     uint32_t pixels, int8_t *out)                             \
    {                                                                                          \
        __asm__ volatile(                                                                      \
        "push {r4-r11, lr}\n"                                                                  \
        "vpush {d8-d15}\n"                                                                     \
        "sub sp, #92\n"                                                                        \
        "ldr r4, [sp, #192]\n"                                                                 \
        "strd r1, r4, [sp, #48]\n"                                                             \
        "ldrd r4, r5, [r0]\n"                                                                  \
        "strd r4, r5, [sp, #60]\n"                                                             \
        "ldrd r5, r6, [r0, #8]\n"                                                              \
        "lsr r7, r3, #2\n"                                                                     \
        "strd r7, r6, [sp, #76]\n"                                                             \
        "lsl r7, r5, #2\n"                                                                     \
        "strd r2, r7, [sp, #68]\n"                                                             \
        "mul r4, r3, r5\n"                                                                     \
        "str r4, [sp, #56]\n"                                                                  \
        "rsb r3, r3, #0\n"                                                                     \
        "and r3, r3, #3\n"                                                                     \
        "mul r2, r2, r3\n"                                                                     \
        "mul r3, r3, r5\n"                                                                     \
        "strd r2, r3, [sp, #84]\n"                                                             \
        "mov r4, #0\n"                                                                         \
        "vidup.u32 q0, r4, #1\n"                                                               \
        "vmul.i32 q0, q0, r5\n"                                                                \
        "vstrw.32 q0, [sp, #32]\n"                                                             \
        "1:\n" /* a pair */                                                                    \
        "ldr r0, [sp, #60]\n"                                                                  \
        vectors                                                                                \
        "vldrw.32 q6, [r0], #16\n"                                                             \
        "ldm r0!, {r4, r6, r9, r11}\n"                                                         \
        "vstrw.32 q6, [sp]\n"                                                                  \
        "strd r4, r6, [sp, #16]\n"                                                             \
        "str r0, [sp, #60]\n"                                                                  \
        "ldrd r1, r3, [sp, #48]\n"                                                             \
        "ldrd r5, r7, [sp, #68]\n"                                                             \
        "ldrd lr, r0, [sp, #76]\n"                                                             \
        start                                                                                  \
        "3:\n"                                                                                 \
        sums                                                                                   \
        finish                                                                                 \
        "le lr, 3b\n"                                                                          \
        "5:\n"                                                                                 \
        "ldrd r0, r4, [sp, #52]\n"                                                             \
        "adds r4, r0\n"                                                                        \
        "cmp r3, r4\n"                                                                         \
        "bne 6f\n"                                                                             \
        "ldr r2, [sp, #64]\n" /* the next pair: its outputs are 2 bytes later */               \
        "adds r0, #2\n"                                                                        \
        "str r0, [sp, #52]\n"                                                                  \
        "subs r2, #1\n"                                                                        \
        "str r2, [sp, #64]\n"                                                                  \
        "bne.w 1b\n"                                                                           \
        "add sp, #92\n"                                                                        \
        "vpop {d8-d15}\n"                                                                      \
        "pop {r4-r11, pc}\n"                                                                   \
        "6:\n" /* the last four pixels, of which some have been computed */                    \
        "ldrd r4, r6, [sp, #84]\n"                                                             \
        "subs r1, r4\n"                                                                        \
        "subs r3, r6\n"                                                                        \
        "mov lr, #1\n"                                                                         \
        "ldr r0, [sp, #80]\n"                                                                  \
        "cmp r0, #0\n"                                                                         \
        "beq.w 3b\n"                                                                           \
        two_sided);                                                                            \
    }

#define SCALE               \
    "vadd.i32 q4, q4, r0\n"      \
    "vqrdmlash.s32 q4, q6, r4\n" \
    "vadd.i32 q5, q5, r2\n"      \
    "vqrdmlash.s32 q5, q7, r6\n"

/* Shifts and limits the outputs, and stores those of both filters as a halfword for each pixel. */
#define STORE(a, b, load, offsets)        \
    "vqshl.s32 " a ", r9\n"               \
    "vqshl.s32 " b ", r11\n"              \
    "vsri.32 " b ", " a ", #8\n"          \
    load                                  \
    "vshr.u32 " b ", " b ", #16\n"        \
    "vstrh.32 " b ", [r3, " offsets "]\n" \
    "add r3, r7\n"
#define OFFSETS(q)                \
    "vldrw.32 " q ", [sp, #32]\n"

#define FINISH(load, offsets) "ldm sp, {r0, r2, r4, r6}\n" SCALE STORE("q4", "q5", load, offsets)

/* The loop for outputs below the zero point: one is subtracted from the product if the sum is negative. */
#define TWO_SIDED(sums, load, offsets)    \
    "4:\n"                                \
    sums                                  \
    "ldm sp, {r0, r2, r4, r6, r8, r10}\n" \
    "vadd.i32 q4, q4, r0\n"               \
    "vadd.i32 q5, q5, r2\n"               \
    "vshr.s32 q6, q4, #31\n"              \
    "vqrdmlah.s32 q6, q4, r8\n"           \
    "vshr.s32 q7, q5, #31\n"              \
    "vqrdmlah.s32 q7, q5, r10\n"          \
    "vqadd.s32 q4, q6, r4\n"              \
    "vqadd.s32 q5, q7, r6\n"              \
    STORE("q4", "q5", load, offsets)      \
    "le lr, 4b\n"                         \
    "b.w 5b\n"

#define START          \
    "vdup.32 q6, r4\n" \
    "vdup.32 q7, r6\n" \
    "cmp r0, #0\n"     \
    "bne.w 4f\n"
#define START_OFFSETS \
    OFFSETS("q2")     \
    START

#define LOAD(q) "vldrb.8 " q ", [r1], #16\n"
#define FIRST(sum, x, w) "vmladav.s8 " sum ", " x ", " w "\n"
#define NEXT(sum, x, w) "vmladava.s8 " sum ", " x ", " w "\n"
/* Move two sums to two lanes of a vector: those of pixels 0 and 2, or of pixels 1 and 3. */
#define LANES02(q, a, b) "vmov " q "[2], " q "[0], " a ", " b "\n"
#define LANES13(q, a, b) "vmov " q "[3], " q "[1], " a ", " b "\n"

#define DEPTH8                 \
    LOAD("q4")                 \
    FIRST("r0", "q4", "q0")    \
    LOAD("q5")                 \
    FIRST("r2", "q4", "q1")    \
    FIRST("r4", "q4", "q2")    \
    FIRST("r6", "q4", "q3")    \
    FIRST("r8", "q5", "q0")    \
    FIRST("r10", "q5", "q1")   \
    LANES02("q4", "r0", "r8")  \
    LANES13("q4", "r2", "r10") \
    FIRST("r0", "q5", "q2")    \
    FIRST("r2", "q5", "q3")    \
    LANES02("q5", "r4", "r0")  \
    LANES13("q5", "r6", "r2")

/* With the loads of four vectors; the first filter is in q0, the second in q1. */
#define DEPTH16(load0, load1, load2, load3, step) \
    load0                                         \
    FIRST("r0", "q4", "q0")                       \
    step                                          \
    load1                                         \
    FIRST("r2", "q4", "q1")                       \
    step                                          \
    FIRST("r4", "q5", "q0")                       \
    load2                                         \
    FIRST("r6", "q5", "q1")                       \
    step                                          \
    FIRST("r8", "q4", "q0")                       \
    load3                                         \
    FIRST("r10", "q4", "q1")                      \
    LANES02("q4", "r0", "r8")                     \
    FIRST("r0", "q5", "q0")                       \
    step                                          \
    FIRST("r12", "q5", "q1")                      \
    LANES13("q4", "r4", "r0")                     \
    LANES02("q5", "r2", "r10")                    \
    LANES13("q5", "r6", "r12")

/* `low` and `high` load the two vectors of a pixel, `step` adds the distance to the next one. */
#define DEPTH32(low, high, step) \
    low("q4")                    \
    FIRST("r0", "q4", "q0")      \
    high("q5")                   \
    FIRST("r2", "q4", "q2")      \
    step                         \
    NEXT("r0", "q5", "q1")       \
    low("q4")                    \
    NEXT("r2", "q5", "q3")       \
    FIRST("r4", "q4", "q0")      \
    high("q5")                   \
    FIRST("r6", "q4", "q2")      \
    step                         \
    NEXT("r4", "q5", "q1")       \
    low("q4")                    \
    NEXT("r6", "q5", "q3")       \
    FIRST("r8", "q4", "q0")      \
    high("q5")                   \
    FIRST("r10", "q4", "q2")     \
    step                         \
    NEXT("r8", "q5", "q1")       \
    low("q4")                    \
    NEXT("r10", "q5", "q3")      \
    LANES02("q5", "r2", "r10")   \
    FIRST("r12", "q4", "q0")     \
    FIRST("r2", "q4", "q2")      \
    high("q4")                   \
    NEXT("r12", "q4", "q1")      \
    step                         \
    NEXT("r2", "q4", "q3")       \
    LANES02("q4", "r0", "r8")    \
    LANES13("q4", "r4", "r12")   \
    LANES13("q5", "r6", "r2")

#define LOW(q) "vldrb.8 " q ", [r1]\n"
#define HIGH(q) "vldrb.8 " q ", [r1, #16]\n"
#define LAST(q) "vldrb.8 " q ", [r1, #32]\n"
#define STEP "add r1, r5\n"

/* The filters are in q0 to q2 and in q3 to q5. */
#define STEP48                 \
    LOW("q6")                  \
    FIRST("r0", "q6", "q0")    \
    HIGH("q7")                 \
    FIRST("r2", "q6", "q3")    \
    NEXT("r0", "q7", "q1")     \
    LAST("q6")                 \
    NEXT("r2", "q7", "q4")     \
    STEP                       \
    NEXT("r0", "q6", "q2")     \
    LOW("q7")                  \
    NEXT("r2", "q6", "q5")     \
    FIRST("r4", "q7", "q0")    \
    HIGH("q6")                 \
    FIRST("r6", "q7", "q3")    \
    NEXT("r4", "q6", "q1")     \
    LAST("q7")                 \
    NEXT("r6", "q6", "q4")     \
    STEP                       \
    NEXT("r4", "q7", "q2")     \
    LOW("q6")                  \
    NEXT("r6", "q7", "q5")     \
    FIRST("r8", "q6", "q0")    \
    HIGH("q7")                 \
    FIRST("r10", "q6", "q3")   \
    NEXT("r8", "q7", "q1")     \
    LAST("q6")                 \
    NEXT("r10", "q7", "q4")    \
    STEP                       \
    NEXT("r8", "q6", "q2")     \
    NEXT("r10", "q6", "q5")    \
    LOW("q6")                  \
    LANES02("q7", "r2", "r10") \
    FIRST("r12", "q6", "q0")   \
    FIRST("r2", "q6", "q3")    \
    HIGH("q6")                 \
    NEXT("r12", "q6", "q1")    \
    NEXT("r2", "q6", "q4")     \
    LAST("q6")                 \
    NEXT("r12", "q6", "q2")    \
    STEP                       \
    NEXT("r2", "q6", "q5")     \
    LANES02("q6", "r0", "r8")  \
    LANES13("q6", "r4", "r12") \
    LANES13("q7", "r6", "r2")

#define FINISH48                           \
    "ldm sp, {r0, r2, r4, r6, r8, r10}\n"  \
    "vadd.i32 q6, q6, r0\n"                \
    "vqrdmulh.s32 q6, q6, r8\n"            \
    "vadd.i32 q7, q7, r2\n"                \
    "vqrdmulh.s32 q7, q7, r10\n"           \
    "vqadd.s32 q6, q6, r4\n"               \
    "vqadd.s32 q7, q7, r6\n"               \
    STORE("q6", "q7", OFFSETS("q6"), "q6")

#define TWO_VECTORS           \
    "vldrb.8 q0, [r0], #16\n" \
    "vldrb.8 q1, [r0], #16\n"
#define FOUR_VECTORS          \
    TWO_VECTORS               \
    "vldrb.8 q2, [r0], #16\n" \
    "vldrb.8 q3, [r0], #16\n"
#define SIX_VECTORS           \
    FOUR_VECTORS              \
    "vldrb.8 q4, [r0], #16\n" \
    "vldrb.8 q5, [r0], #16\n"

#define DEPTH16_SUMS DEPTH16(LOAD("q4"), LOAD("q5"), LOAD("q4"), LOAD("q5"), "")
#define STEP16_SUMS DEPTH16(LOW("q4"), LOW("q5"), LOW("q4"), LOW("q5"), STEP)
#define DEPTH32_SUMS DEPTH32(LOAD, LOAD, "")
#define STEP32_SUMS DEPTH32(LOW, HIGH, STEP)

/* The offsets of the outputs stay in q2, or are loaded from the frame. */
#define WITH_Q2(name, vectors, sums) \
    GEMM4(name, vectors, START_OFFSETS, sums, FINISH("", "q2"), TWO_SIDED(sums, "", "q2"))
#define WITH_FRAME(name, vectors, sums) \
    GEMM4(name, vectors, START, sums, FINISH(OFFSETS("q4"), "q4"), TWO_SIDED(sums, OFFSETS("q4"), "q4"))

WITH_FRAME(ar_gemm4_depth8_mve, FOUR_VECTORS, DEPTH8)
WITH_Q2(ar_gemm4_depth16_mve, TWO_VECTORS, DEPTH16_SUMS)
WITH_FRAME(ar_gemm4_depth32_mve, FOUR_VECTORS, DEPTH32_SUMS)
WITH_Q2(ar_gemm4_step16_mve, TWO_VECTORS, STEP16_SUMS)
WITH_FRAME(ar_gemm4_step32_mve, FOUR_VECTORS, STEP32_SUMS)
GEMM4(ar_gemm4_step48_mve, SIX_VECTORS, "", STEP48, FINISH48, "")
/* clang-format on */

#else

#include "fixed_point.h"

/* Computes pixels whose inputs are `depth` bytes; the vectors of a filter have `stored` bytes. */
static void multiply(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels, int8_t *out,
                     int32_t depth, int32_t stored)
{
    const int32_t *words = p->pairs;
    for (uint32_t k = 0; k < p->pair_count; k++, words += 8, out += 2) {
        const int8_t *pair = (const int8_t *)words;
        words += stored / 2;
        for (uint32_t i = 0; i < pixels; i++) {
            for (int32_t f = 0; f < 2; f++) {
                uint32_t sum = (uint32_t)words[f];
                for (int32_t d = 0; d < depth; d++) {
                    sum += (uint32_t)(x[i * step + (uint32_t)d] * pair[f * stored + d]);
                }
                const int64_t scaled = (int64_t)ar_high_mul((int32_t)sum, words[4 + f]) + words[2 + f];
                const int64_t result =
                    (scaled - (p->two_sided != 0 && (int32_t)sum < 0)) >> (24 - words[6 + f]);
                out[i * p->out_step + (uint32_t)f] = (int8_t)(result < INT8_MIN   ? INT8_MIN
                                                              : result > INT8_MAX ? INT8_MAX
                                                                                  : result);
            }
        }
    }
}

void ar_gemm4_depth8_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out)
{
    (void)step;
    multiply(p, x, 8, pixels, out, 8, 32);
}

void ar_gemm4_depth16_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                          int8_t *out)
{
    (void)step;
    multiply(p, x, 16, pixels, out, 16, 16);
}

void ar_gemm4_depth32_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                          int8_t *out)
{
    (void)step;
    multiply(p, x, 32, pixels, out, 32, 32);
}

void ar_gemm4_step16_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out)
{
    multiply(p, x, step, pixels, out, 16, 16);
}

void ar_gemm4_step32_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out)
{
    multiply(p, x, step, pixels, out, 32, 32);
}

void ar_gemm4_step48_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out)
{
    multiply(p, x, step, pixels, out, 48, 48);
}

#endif
