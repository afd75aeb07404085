/* The input transform of Winograd's F(2x2, 3x3): transforms the 4 x 4 inputs of a tile into the 16 planes. About 105
 * instructions for two channels. */
#include "winograd_square3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* The stack has pairs of values: sp +0: address of row 1, bytes of a pixel; +8: row 2, +16: row 0 and +24: row 3, in the
 * same way; +32: address in the first plane, bytes of a plane; +40: the end of row 1's first pixel.
 *
 * LOAD loads two channels of four pixels of a row, widened, to r0-r3. The second half of four channels also moves the
 * row's address to the next channels. */
#define WIDEN(rotate) \
    "sxtb16 r0, r0" rotate "\n sxtb16 r1, r1" rotate "\n sxtb16 r2, r2" rotate "\n sxtb16 r3, r3" rotate "\n"
#define LOAD(at)                                                                                    \
    "ldrd r12, lr, [sp, #" at "]\n ldr r0, [r12]\n ldr r1, [r12, lr]\n ldr r2, [r12, lr, lsl #1]\n" \
    "add lr, lr, lr, lsl #1\n ldr r3, [r12, lr]\n" WIDEN("")
#define LOAD_SECOND(at)                                                                   \
    "ldrd r12, lr, [sp, #" at "]\n ldr r1, [r12, lr]\n ldr r2, [r12, lr, lsl #1]\n"       \
    "add lr, lr, lr, lsl #1\n ldr r3, [r12, lr]\n ldr r0, [r12], #4\n str r12, [sp, #" at \
    "]\n" WIDEN(", ror #8")
/* Transforms a row: h0-h3 are the results for h = 0 to 3. */
#define ROW(h1, h2, h0, h3) \
    "sadd16 " h1 ", r1, r2\n ssub16 " h3 ", r1, r3\n ssub16 " h0 ", r0, r2\n ssub16 " h2 ", r2, r1\n"
/* Stores the results for h = 1, 2, 0 and 3 in four planes; r12 is the address in the first and becomes that in the
 * second. */
#define STORE(h1, h2, h0, h3)                                                     \
    "str " h1 ", [r12]\n str " h2 ", [r12, lr]\n str " h0 ", [r12, lr, lsl #1]\n" \
    "add r12, r12, lr\n str " h3 ", [r12, lr, lsl #1]\n"
/* Transforms two channels. r4-r7 are the results of row 1, r8-r11 those of row 2. */
#define HALF(load)                                                                                           \
    load("0") ROW("r4", "r5", "r6", "r7") load("8") ROW(                                                     \
        "r8", "r9", "r10",                                                                                   \
        "r11") "ldrd r12, lr, [sp, #32]\n"                                                                   \
               "sadd16 r0, r4, r8\n sadd16 r1, r5, r9\n sadd16 r2, r6, r10\n sadd16 r3, r7, r11\n" STORE(    \
                   "r0", "r1", "r2",                                                                         \
                   "r3") "ssub16 r0, r8, r4\n ssub16 r1, r9, r5\n ssub16 r2, r10, r6\n ssub16 r3, r11, r7\n" \
                         "add r12, r12, lr\n add r12, r12, lr, lsl #1\n" STORE("r0", "r1", "r2", "r3")       \
                             load("16")                                                                      \
                                 ROW("r12", "r2", "r0",                                                      \
                                     "r3") "ssub16 r1, r12, r8\n ssub16 r2, r2, r9\n ssub16 r0, r0, r10\n "  \
                                           "ssub16 r3, r3, r11\n"                                            \
                                           "ldrd r12, lr, [sp, #32]\n add r12, r12, lr, lsl #3\n" STORE(     \
                                               "r1", "r2", "r0", "r3") load("24")                            \
                                               ROW("r12", "r2", "r0",                                        \
                                                   "r3") "ssub16 r1, r4, r12\n ssub16 r2, r5, r2\n ssub16 "  \
                                                         "r0, r6, r0\n ssub16 r3, r7, r3\n"                  \
                                                         "ldrd r12, lr, [sp, #32]\n add r4, r12, #12\n str " \
                                                         "r4, [sp, #32]\n"                                   \
                                                         "add r12, r12, lr, lsl #3\n add r12, r12, lr, lsl " \
                                                         "#2\n" STORE("r1", "r2", "r0", "r3")

/* clang-format off */
__attribute__((naked)) void ar_winograd_square_tile_s8_dsp(const ar_winograd_square_tile *t
                                                           __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_winograd_square_tile_s8_dsp, 84\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "sub sp, #48\n"
            "ldm r0, {r1-r7}\n"
            "strd r2, r5, [sp]\n strd r3, r5, [sp, #8]\n strd r1, r5, [sp, #16]\n strd r4, r5, [sp, #24]\n"
            "strd r6, r7, [sp, #32]\n"
            "add r2, r2, r5\n"
            "str r2, [sp, #40]\n"
            "1:\n"
            HALF(LOAD)
            HALF(LOAD_SECOND)
            "ldr r0, [sp]\n"
            "ldr r1, [sp, #40]\n"
            "cmp r0, r1\n"
            "bne.w 1b\n"
            "add sp, #48\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

/* The products of a row or column of four numbers with the matrix B. */
static void transform(const int32_t *d, int32_t step, int32_t *to)
{
    to[0] = d[0] - d[2 * step];
    to[step] = d[step] + d[2 * step];
    to[2 * step] = d[2 * step] - d[step];
    to[3 * step] = d[step] - d[3 * step];
}

void ar_winograd_square_tile_s8_dsp(const ar_winograd_square_tile *t)
{
    static const int32_t order[4] = {1, 2, 0, 3};
    for (int32_t c = 0; c < t->pixel; c++) {
        int32_t d[16], rows[16], both[16];
        for (int32_t i = 0; i < 16; i++) {
            d[i] = t->row[i / 4][i % 4 * t->pixel + c];
        }
        for (int32_t i = 0; i < 4; i++) {
            transform(d + 4 * i, 1, rows + 4 * i);
        }
        for (int32_t i = 0; i < 4; i++) {
            transform(rows + i, 4, both + i);
        }
        /* Channels 0 and 2 of four are the halves of the first word, channels 1 and 3 those of the second. */
        const int32_t word = c / 4 * 2 + c % 2, half = c % 4 / 2;
        for (int32_t i = 0; i < 16; i++) {
            uint32_t *const to = t->x + i * (t->plane / 4) + 3 * word;
            const uint32_t value = (uint32_t)both[4 * order[i / 4] + order[i % 4]] & 0xFFFFu;
            *to = half ? *to | value << 16 : value;
        }
    }
}

#endif
