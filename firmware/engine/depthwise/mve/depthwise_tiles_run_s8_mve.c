/* Computes channel by channel the outputs of a group of strips on Helium. depthwise_tiles_s8_mve.h describes the
 * layouts and the arithmetic. */
#include "depthwise_tiles_run_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the functions use, in bytes; object_files.py reads these symbols. */
__asm__(".set ar_stack_ar_interleave_rows_mve, 16");
__asm__(".set ar_stack_ar_depthwise_tiles_s1_mve, 120");
__asm__(".set ar_stack_ar_depthwise_tiles_s2_mve, 120");

/* The last sixteen bytes of the rows may overlap those before them. */
__attribute__((naked)) void ar_interleave_rows_mve(const int8_t *const *rows, uint32_t *words, uint32_t bytes)
{
    __asm__ volatile("push {r4-r6, lr}\n"
                     "mov r4, r1\n"
                     "and r5, r2, #15\n"
                     "lsr lr, r2, #4\n"
                     "ldm r0, {r0-r3}\n"
                     "1:\n"
                     "vldrb.8 q0, [r0], #16\n"
                     "vldrb.8 q1, [r1], #16\n"
                     "vldrb.8 q2, [r2], #16\n"
                     "vldrb.8 q3, [r3], #16\n"
                     "vst40.8 {q0, q1, q2, q3}, [r4]\n"
                     "vst41.8 {q0, q1, q2, q3}, [r4]\n"
                     "vst42.8 {q0, q1, q2, q3}, [r4]\n"
                     "vst43.8 {q0, q1, q2, q3}, [r4]!\n"
                     "le lr, 1b\n"
                     "cbz r5, 2f\n"
                     "rsb r5, r5, #16\n"
                     "sub r0, r5\n"
                     "sub r1, r5\n"
                     "sub r2, r5\n"
                     "sub r3, r5\n"
                     "sub r4, r4, r5, lsl #2\n"
                     "mov r5, #0\n"
                     "mov lr, #1\n"
                     "b 1b\n"
                     "2:\n"
                     "pop {r4-r6, pc}\n");
}

/* The frame, from sp: 0: constants of the next channel   4: passes   8: pass_count   12: out_end
 *
 * Registers: r1: address of the strips for this channel, r10 at stride 2: the same for the second output of a pair
 *   r3: address of the output for this channel   r5: address of the pass   lr: number of passes left
 *   r7: bias   r9: multiplier   r11: 24 - n   r12: the last word of the constants
 *   q0 to q3: weights   q6: the multiplier, with two_sided a temporary value   q7: offsets
 *   the other even registers: sums, because VMLADAV writes to even registers only */
#define ENTER                   \
    "push {r4-r11, lr}\n"       \
    "vpush {d8-d15}\n"          \
    "sub sp, #20\n"             \
    "ldrd r1, r3, [r0]\n"       \
    "ldr r5, [r0, #8]\n"        \
    "str r5, [sp, #12]\n"       \
    "ldrd r6, r7, [r0, #12]\n"  \
    "strd r6, r7, [sp]\n"       \
    "ldr r6, [r0, #20]\n"       \
    "str r6, [sp, #8]\n"        \
    "ldrd r2, r10, [r0, #24]\n" \
    "add r10, r1\n"             \
    "cmp r2, #0\n"              \
    "bne.w 3f\n"

#define LEAVE         \
    "add sp, #20\n"   \
    "vpop {d8-d15}\n" \
    "pop {r4-r11, pc}\n"

/* Loads the constants of a channel; q1 begins with the 0 before the weights. */
#define CONSTANTS                   \
    "ldr r0, [sp]\n"                \
    "vldrw.u32 q1, [r0], #4\n"      \
    "vldrw.u32 q0, [r0], #16\n"     \
    "ldm r0!, {r7, r9, r11, r12}\n" \
    "ldrd r5, lr, [sp, #4]\n"       \
    "str r0, [sp]\n"

/* The weights of the outputs of a tile: upper left, upper right, lower left, lower right. */
#define TILE_WEIGHTS        \
    "vshl.i32 q2, q0, #8\n" \
    "vshl.i32 q3, q1, #8\n"

#define NEXT_CHANNEL(label) \
    "ldr r0, [sp, #12]\n"   \
    "adds r3, #1\n"         \
    "adds r1, #4\n"         \
    "cmp r3, r0\n"          \
    "bne.w " label "\n"

/* clang-format off */

/* Moves four sums to a vector: two lanes in each instruction. */
#define LANES(q, a, b, c, d)                  \
    "vmov " q "[2], " q "[0], " a ", " c "\n" \
    "vmov " q "[3], " q "[1], " b ", " d "\n"

#define OFFSETS(q) "vldrw.u32 " q ", [r5], #16\n"
#define SUM(sum, tile, weights) "vmladav.s8 " sum ", " tile ", " weights "\n"

/* A pass is computed in this order, so that loads, multiplications and other vector instructions alternate where that
 * is possible: they overlap. Offsets are loaded some instructions before the gather that uses them, because a gather
 * waits for its offsets. */

/* The sums of two tiles; the offsets of the first one are in q5. `first` and `next` requantize the sums of the first tile
 * while those of the second are computed. Loads the offsets of the outputs to q7. */
#define TWO_TILES(first, next)           \
    OFFSETS("q7")                        \
    "vldrw.u32 q4, [r1, q5]\n"           \
    SUM("r0", "q4", "q0")                \
    SUM("r2", "q4", "q1")                \
    "vldrw.u32 q5, [r1, q7]\n"           \
    SUM("r4", "q4", "q2")                \
    SUM("r6", "q4", "q3")                \
    LANES("q4", "r0", "r2", "r4", "r6")  \
    SUM("r8", "q5", "q0")                \
    first                                \
    OFFSETS("q7")                        \
    SUM("r10", "q5", "q1")               \
    next                                 \
    SUM("r0", "q5", "q2")                \
    SUM("r2", "q5", "q3")                \
    LANES("q5", "r8", "r10", "r0", "r2")

/* Gathers the tiles of a pair of neighboring outputs at stride 2. */
#define PAIR(offsets)                     \
    "vldrw.u32 q2, [r1, " offsets "]\n"   \
    "vldrw.u32 q3, [r10, " offsets "]\n"

/* The sums of four pairs. Loads the offsets of the outputs to q1. */
#define FOUR_PAIRS(first, next)          \
    OFFSETS("q1")                        \
    OFFSETS("q7")                        \
    PAIR("q1")                           \
    SUM("r0", "q2", "q0")                \
    OFFSETS("q1")                        \
    SUM("r2", "q3", "q0")                \
    PAIR("q7")                           \
    SUM("r4", "q2", "q0")                \
    OFFSETS("q7")                        \
    SUM("r6", "q3", "q0")                \
    LANES("q4", "r0", "r2", "r4", "r6")  \
    PAIR("q1")                           \
    SUM("r0", "q2", "q0")                \
    first                                \
    OFFSETS("q1")                        \
    SUM("r2", "q3", "q0")                \
    next                                 \
    PAIR("q7")                           \
    SUM("r4", "q2", "q0")                \
    SUM("r6", "q3", "q0")                \
    LANES("q5", "r0", "r2", "r4", "r6")

/* Requantize sums. */
#define FIRST_ONE_SIDED           \
    "vadd.i32 q4, q4, r7\n"       \
    "vqrdmlash.s32 q4, q6, r12\n"
#define NEXT_ONE_SIDED            \
    "vqshl.s32 q4, r11\n"
#define FINISH_ONE_SIDED(load, outputs) \
    "vadd.i32 q5, q5, r7\n"       \
    "vqrdmlash.s32 q5, q6, r12\n" \
    "vqshl.s32 q5, r11\n"         \
    "vsri.32 q4, q5, #16\n"       \
    load                          \
    "vshr.u16 q4, q4, #8\n"       \
    "vstrb.16 q4, [r3, " outputs "]\n"

#define FIRST_TWO_SIDED           \
    "vadd.i32 q4, q4, r7\n"       \
    "vshr.s32 q6, q4, #31\n"      \
    "vqrdmlah.s32 q6, q4, r9\n"
#define NEXT_TWO_SIDED            \
    "vqadd.s32 q6, q6, r12\n"
#define FINISH_TWO_SIDED(load, outputs) \
    "vadd.i32 q5, q5, r7\n"       \
    "vshr.s32 q4, q5, #31\n"      \
    "vqrdmlah.s32 q4, q5, r9\n"   \
    "vqadd.s32 q4, q4, r12\n"     \
    "vqshl.s32 q6, r11\n"         \
    "vqshl.s32 q4, r11\n"         \
    "vsri.32 q6, q4, #16\n"       \
    load                          \
    "vshr.u16 q6, q6, #8\n"       \
    "vstrb.16 q6, [r3, " outputs "]\n"

__attribute__((naked)) void ar_depthwise_tiles_s1_mve(const ar_depthwise_tiles_run *d)
{
    __asm__ volatile(
        ENTER
        "1:\n"
        CONSTANTS
        TILE_WEIGHTS
        "vdup.32 q6, r9\n"
        OFFSETS("q5")
        "2:\n"
        TWO_TILES(FIRST_ONE_SIDED, NEXT_ONE_SIDED)
        FINISH_ONE_SIDED(OFFSETS("q5"), "q7")
        "le lr, 2b\n"
        NEXT_CHANNEL("1b")
        LEAVE
        "3:\n"
        CONSTANTS
        TILE_WEIGHTS
        OFFSETS("q5")
        "4:\n"
        TWO_TILES(FIRST_TWO_SIDED, NEXT_TWO_SIDED)
        FINISH_TWO_SIDED(OFFSETS("q5"), "q7")
        "le lr, 4b\n"
        NEXT_CHANNEL("3b")
        LEAVE);
}

__attribute__((naked)) void ar_depthwise_tiles_s2_mve(const ar_depthwise_tiles_run *d)
{
    __asm__ volatile(
        ENTER
        "1:\n"
        CONSTANTS
        "vdup.32 q6, r9\n"
        "2:\n"
        FOUR_PAIRS(FIRST_ONE_SIDED, NEXT_ONE_SIDED)
        FINISH_ONE_SIDED("", "q1")
        "le lr, 2b\n"
        "adds r10, #4\n"
        NEXT_CHANNEL("1b")
        LEAVE
        "3:\n"
        CONSTANTS
        "4:\n"
        FOUR_PAIRS(FIRST_TWO_SIDED, NEXT_TWO_SIDED)
        FINISH_TWO_SIDED("", "q1")
        "le lr, 4b\n"
        "adds r10, #4\n"
        NEXT_CHANNEL("3b")
        LEAVE);
}
/* clang-format on */

#else

#include "fixed_point.h"

void ar_interleave_rows_mve(const int8_t *const *rows, uint32_t *words, uint32_t bytes)
{
    int8_t *out = (int8_t *)words;
    for (uint32_t i = 0; i < bytes; i++) {
        for (int32_t k = 0; k < 4; k++) {
            *out++ = rows[k][i];
        }
    }
}

/* Returns the output of a channel whose window begins in row `row` and column `column` of the tile at `offsets`. */
static int8_t tile_output(const ar_depthwise_tiles_run *d, const uint32_t *offsets, int32_t channel,
                          int32_t row, int32_t column, uint32_t step)
{
    const int8_t *tile = (const int8_t *)d->strips + step + 4 * channel + row;
    const int32_t *constants = d->constants + channel * AR_DEPTHWISE_TILES_CONSTANTS;
    const int8_t *weights = (const int8_t *)(constants + 1);
    const int32_t n = 24 - constants[7];
    uint32_t sum = (uint32_t)constants[5];
    for (int32_t j = 0; j < 3; j++) {
        for (int32_t i = 0; i < 3; i++) {
            sum += (uint32_t)(tile[offsets[column + j] + (uint32_t)i] * weights[4 * j + i]);
        }
    }
    const int64_t scaled = (int64_t)ar_high_mul((int32_t)sum, constants[6]) + constants[8];
    const int64_t result = (scaled - (d->two_sided != 0 && (int32_t)sum < 0)) >> n;
    return (int8_t)(result < INT8_MIN ? INT8_MIN : result > INT8_MAX ? INT8_MAX : result);
}

/* Store the outputs of one channel: `outputs` has the offsets of two of them, which are stored the other way round. */
static void store_two(int8_t *out, uint32_t outputs, int8_t first, int8_t second)
{
    out[outputs >> 16] = first;
    out[outputs & 0xffff] = second;
}

void ar_depthwise_tiles_s1_mve(const ar_depthwise_tiles_run *d)
{
    for (int32_t c = 0; c < d->out_end - d->out; c++) {
        const uint32_t *pass = d->passes;
        for (uint32_t k = 0; k < d->pass_count; k++, pass += AR_DEPTHWISE_TILES_PASS) {
            for (int32_t i = 0; i < 4; i++) {
                const int8_t first = tile_output(d, pass, c, i / 2, i % 2, 0);
                const int8_t second = tile_output(d, pass + 4, c, i / 2, i % 2, 0);
                store_two(d->out + c, pass[8 + i], first, second);
            }
        }
    }
}

void ar_depthwise_tiles_s2_mve(const ar_depthwise_tiles_run *d)
{
    for (int32_t c = 0; c < d->out_end - d->out; c++) {
        const uint32_t *pass = d->passes;
        for (uint32_t k = 0; k < d->pass_count; k++, pass += AR_DEPTHWISE_TILES_PASS + 8) {
            for (int32_t i = 0; i < 4; i++) {
                const uint32_t step = i % 2 == 0 ? 0 : d->pair_step;
                const int8_t first = tile_output(d, pass + i / 2 * 4, c, 0, 0, step);
                const int8_t second = tile_output(d, pass + 8 + i / 2 * 4, c, 0, 0, step);
                store_two(d->out + c, pass[16 + i], first, second);
            }
        }
    }
}

#endif
