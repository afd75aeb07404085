/* Multiplies pixels with short filters on Helium: two filters (a pair) and four pixels at a time. gemm4_s8_mve.h
 * describes the layouts. */
#include "gemm4_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the functions use, in bytes; object_files.py reads these symbols. */
__asm__(".set ar_stack_ar_gemm4_depth8_mve, 200");
__asm__(".set ar_stack_ar_gemm4_depth16_mve, 200");
__asm__(".set ar_stack_ar_gemm4_depth32_mve, 200");
__asm__(".set ar_stack_ar_gemm4_step16_mve, 200");
__asm__(".set ar_stack_ar_gemm4_step32_mve, 200");

/* The frame, from sp:
 *    0: the bias of the first filter, four times, and that of the second, so that one LDM starts all eight sums
 *   32: with two_sided, the words that are added after the multiplication     40: 4 * out_step
 *   44: the output after the last four pixels   48: offsets of the outputs, 16 bytes
 *   64: address of the first four pixels        68: address of their outputs
 *   72: constants of the next pair   76: number of pairs left   80: step   84: address of the output
 *   88: two_sided
 * Above the frame are q4 to q7 (64 bytes), nine registers (36 bytes) and the argument `out`.
 *
 * Registers in the loops (VMLADAVA adds to even registers only):
 *   r0 r2 r4 r6: sums of the four pixels for the first filter    r8 r10 r12 lr: those for the second filter
 *   r1: address of the inputs   r3: address of the output, or `step` in the functions that have one
 *   r5 r7: the words that are added after the multiplication, with two_sided the multipliers   r9 r11: 24 - n
 *   q0 to q3: filters   q4 q5: inputs   q6 q7: multipliers, with two_sided temporary values */

/* `vectors` loads the filters of a pair from r0, `start` loads the addresses of inputs and outputs, `sums` adds all
 * products of four pixels, `store` stores the outputs and compares their address with the last one. */
#define GEMM4(name, vectors, start, sums, store)                                                      \
    __attribute__((naked)) void name(const ar_gemm4_params *p, const int8_t *x, uint32_t step,        \
                                     uint32_t pixels, int8_t *out)                                    \
    {                                                                                                 \
        __asm__ volatile("push {r4-r11, lr}\n"                                                        \
                         "vpush {d8-d15}\n"                                                           \
                         "sub sp, #100\n"                                                             \
                         "str r2, [sp, #80]\n"                                                        \
                         "ldr r4, [sp, #200]\n"                                                       \
                         "strd r1, r4, [sp, #64]\n"                                                   \
                         "ldrd r5, r6, [r0]\n"                                                        \
                         "strd r5, r6, [sp, #72]\n"                                                   \
                         "ldrd r5, r6, [r0, #8]\n"                                                    \
                         "lsr r7, r3, #2\n"                                                           \
                         "lsl r5, r5, #2\n"                                                           \
                         "mla r8, r7, r5, r4\n"                                                       \
                         "strd r5, r8, [sp, #40]\n"                                                   \
                         "vldrh.u16 q0, [r0, #16]\n"                                                  \
                         "vstrh.16 q0, [sp, #48]\n"                                                   \
                         "str r6, [sp, #88]\n"                                                        \
                         "1:\n" /* a pair */                                                          \
                         "ldr r0, [sp, #72]\n" vectors "ldm r0!, {r1, r2, r3, r4, r5, r7, r9, r11}\n" \
                         "str r0, [sp, #72]\n"                                                        \
                         "vdup.32 q6, r1\n"                                                           \
                         "vstrw.32 q6, [sp]\n"                                                        \
                         "vdup.32 q6, r2\n"                                                           \
                         "vstrw.32 q6, [sp, #16]\n"                                                   \
                         "ldr r0, [sp, #88]\n"                                                        \
                         "cmp r0, #0\n"                                                               \
                         "bne.w 2f\n"                                                                 \
                         "vdup.32 q6, r3\n"                                                           \
                         "vdup.32 q7, r4\n" start "3:\n" sums "vqrdmlash.s32 q4, q6, r5\n"            \
                         "vqrdmlash.s32 q5, q7, r7\n"                                                 \
                         "vqshl.s32 q4, r9\n"                                                         \
                         "vqshl.s32 q5, r11\n"                                                        \
                         "vsri.32 q4, q5, #16\n" store "bne 3b\n"                                     \
                         "b 5f\n"                                                                     \
                         "2:\n"                                                                       \
                         "strd r5, r7, [sp, #32]\n"                                                   \
                         "mov r5, r3\n"                                                               \
                         "mov r7, r4\n" start "4:\n" sums "ldrd r0, r2, [sp, #32]\n"                  \
                         "vshr.s32 q6, q4, #31\n"                                                     \
                         "vshr.s32 q7, q5, #31\n"                                                     \
                         "vqrdmlah.s32 q6, q4, r5\n"                                                  \
                         "vqrdmlah.s32 q7, q5, r7\n"                                                  \
                         "vqadd.s32 q4, q6, r0\n"                                                     \
                         "vqadd.s32 q5, q7, r2\n"                                                     \
                         "vqshl.s32 q4, r9\n"                                                         \
                         "vqshl.s32 q5, r11\n"                                                        \
                         "vsri.32 q4, q5, #16\n" store "bne 4b\n"                                     \
                         "5:\n" /* the next pair: its outputs are 2 bytes later */                    \
                         "ldr r0, [sp, #68]\n"                                                        \
                         "ldr r1, [sp, #44]\n"                                                        \
                         "ldr r2, [sp, #76]\n"                                                        \
                         "adds r0, #2\n"                                                              \
                         "adds r1, #2\n"                                                              \
                         "str r0, [sp, #68]\n"                                                        \
                         "str r1, [sp, #44]\n"                                                        \
                         "subs r2, #1\n"                                                              \
                         "str r2, [sp, #76]\n"                                                        \
                         "bne 1b\n"                                                                   \
                         "add sp, #100\n"                                                             \
                         "vpop {d8-d15}\n"                                                            \
                         "pop {r4-r11, pc}\n");                                                       \
    }

#define BEGIN "ldm sp, {r0, r2, r4, r6, r8, r10, r12, lr}\n"

/* Moves the sums to vectors of four pixels: q4 for the first filter, q5 for the second. */
#define LANES                      \
    "vmov q4[2], q4[0], r0, r4\n"  \
    "vmov q4[3], q4[1], r2, r6\n"  \
    "vmov q5[2], q5[0], r8, r12\n" \
    "vmov q5[3], q5[1], r10, lr\n"

/* Adds the products of a vector of inputs and of one vector of both filters. */
#define ADD(a, b, x, w0, w1)             \
    "vmladava.s8 " a ", " x ", " w0 "\n" \
    "vmladava.s8 " b ", " x ", " w1 "\n"

#define NEXT(x) "vldrb.8 " x ", [r1], #16\n"

#define DEPTH8                                                                                       \
    BEGIN NEXT("q4") ADD("r0", "r8", "q4", "q0", "q2") NEXT("q5") ADD("r2", "r10", "q4", "q1", "q3") \
        ADD("r4", "r12", "q5", "q0", "q2") ADD("r6", "lr", "q5", "q1", "q3") LANES

#define DEPTH16                                                                          \
    BEGIN NEXT("q4") NEXT("q5") ADD("r0", "r8", "q4", "q0", "q1") NEXT("q4")             \
        ADD("r2", "r10", "q5", "q0", "q1") NEXT("q5") ADD("r4", "r12", "q4", "q0", "q1") \
            ADD("r6", "lr", "q5", "q0", "q1") LANES

/* The products of one pixel; the first vector of its inputs is in q4, and the last line loads that of the next. */
#define PIXEL32(a, b, next)     \
    NEXT("q5")                  \
    ADD(a, b, "q4", "q0", "q2") \
    next ADD(a, b, "q5", "q1", "q3")

#define DEPTH32                                                                       \
    BEGIN NEXT("q4") PIXEL32("r0", "r8", NEXT("q4")) PIXEL32("r2", "r10", NEXT("q4")) \
        PIXEL32("r4", "r12", NEXT("q4")) PIXEL32("r6", "lr", "") LANES

#define STEP_PIXEL16(a, b) \
    "vldrb.8 q4, [r1]\n"   \
    "add r1, r3\n" ADD(a, b, "q4", "q0", "q1")

#define STEP16                                                                         \
    BEGIN STEP_PIXEL16("r0", "r8") STEP_PIXEL16("r2", "r10") STEP_PIXEL16("r4", "r12") \
        STEP_PIXEL16("r6", "lr") LANES

#define STEP_PIXEL32(a, b) \
    "vldrb.8 q4, [r1]\n"   \
    "vldrb.8 q5, [r1, #16]\n" ADD(a, b, "q4", "q0", "q2") "add r1, r3\n" ADD(a, b, "q5", "q1", "q3")

#define STEP32                                                                         \
    BEGIN STEP_PIXEL32("r0", "r8") STEP_PIXEL32("r2", "r10") STEP_PIXEL32("r4", "r12") \
        STEP_PIXEL32("r6", "lr") LANES

/* With the address of the output in r3, or in the frame. */
#define START "ldrd r1, r3, [sp, #64]\n"
#define STORE                   \
    "ldrd r0, r2, [sp, #40]\n"  \
    "vldrh.u16 q5, [sp, #48]\n" \
    "vshr.u16 q4, q4, #8\n"     \
    "vstrb.16 q4, [r3, q5]\n"   \
    "add r3, r0\n"              \
    "cmp r3, r2\n"
#define START_STEP             \
    "ldrd r1, r3, [sp, #64]\n" \
    "str r3, [sp, #84]\n"      \
    "ldr r3, [sp, #80]\n"
#define STORE_STEP              \
    "ldrd r0, r2, [sp, #40]\n"  \
    "ldr r4, [sp, #84]\n"       \
    "vldrh.u16 q5, [sp, #48]\n" \
    "vshr.u16 q4, q4, #8\n"     \
    "vstrb.16 q4, [r4, q5]\n"   \
    "add r4, r0\n"              \
    "str r4, [sp, #84]\n"       \
    "cmp r4, r2\n"

#define TWO_VECTORS           \
    "vldrb.8 q0, [r0], #16\n" \
    "vldrb.8 q1, [r0], #16\n"
#define FOUR_VECTORS          \
    TWO_VECTORS               \
    "vldrb.8 q2, [r0], #16\n" \
    "vldrb.8 q3, [r0], #16\n"

/* clang-format off */
GEMM4(ar_gemm4_depth8_mve, FOUR_VECTORS, START, DEPTH8, STORE)
GEMM4(ar_gemm4_depth16_mve, TWO_VECTORS, START, DEPTH16, STORE)
GEMM4(ar_gemm4_depth32_mve, FOUR_VECTORS, START, DEPTH32, STORE)
GEMM4(ar_gemm4_step16_mve, TWO_VECTORS, START_STEP, STEP16, STORE_STEP)
GEMM4(ar_gemm4_step32_mve, FOUR_VECTORS, START_STEP, STEP32, STORE_STEP)
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
                const int64_t scaled = (int64_t)ar_high_mul((int32_t)sum, words[2 + f]) + words[4 + f];
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

#endif
