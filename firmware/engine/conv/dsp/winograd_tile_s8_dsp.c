/* The input transform of Winograd's F(2,3): transforms one row of a tile's four columns into the four planes. */
#include "winograd3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP

/* r0: address of the next input bytes in the first column; r1 and r8: bytes of one pixel and of three pixels; r2:
 * address for the next output in the first plane; r3 and r12: bytes of one plane and of three planes; lr: end of the
 * first column; r4-r7: four bytes of each of the four columns; r9-r11: widened bytes.
 *
 * HALF transforms two of four channels: SXTB16 widens bytes 0 and 2, or after a rotation by 8 bits, bytes 1 and 3. */
#define HALF(rotate)                                                                \
    "sxtb16 r9, r5" rotate "\n sxtb16 r10, r6" rotate "\n"                          \
    "sadd16 r11, r9, r10\n str r11, [r2]\n"                                         \
    "ssub16 r11, r10, r9\n str r11, [r2, r3]\n"                                     \
    "sxtb16 r11, r4" rotate "\n ssub16 r11, r11, r10\n str r11, [r2, r3, lsl #1]\n" \
    "sxtb16 r11, r7" rotate "\n ssub16 r11, r9, r11\n str r11, [r2, r12]\n add r2, #12\n"

/* clang-format off */
__attribute__((naked)) uint32_t *ar_winograd_tile_s8_dsp(const int8_t *in __attribute__((unused)),
                                                         int32_t pixel __attribute__((unused)),
                                                         uint32_t *x __attribute__((unused)),
                                                         int32_t plane __attribute__((unused)))
{
    __asm__(".set ar_stack_ar_winograd_tile_s8_dsp, 36\n" /* the stack use in bytes, read by object_files.py */
            "push {r4-r11, lr}\n"
            "lsl r3, r3, #2\n"
            "add r12, r3, r3, lsl #1\n"
            "add r8, r1, r1, lsl #1\n"
            "add lr, r0, r1\n"
            "1:\n"
            "ldr r5, [r0, r1]\n ldr r6, [r0, r1, lsl #1]\n ldr r7, [r0, r8]\n ldr r4, [r0], #4\n"
            HALF("") HALF(", ror #8")
            "cmp r0, lr\n"
            "bne 1b\n"
            "mov r0, r2\n"
            "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

/* Returns a word with `low` and `high` in its halves. */
static uint32_t halves(int32_t low, int32_t high) { return ((uint32_t)low & 0xFFFFu) | (uint32_t)high << 16; }

uint32_t *ar_winograd_tile_s8_dsp(const int8_t *in, int32_t pixel, uint32_t *x, int32_t plane)
{
    for (int32_t c = 0; c < pixel; c += 4) {
        for (int32_t k = c; k < c + 2; k++, x += 3) { /* channels 0 and 2, then 1 and 3 */
            const int8_t *a = in + k, *b = in + k + 2;
            x[0] = halves(a[pixel] + a[2 * pixel], b[pixel] + b[2 * pixel]);
            x[plane] = halves(a[2 * pixel] - a[pixel], b[2 * pixel] - b[pixel]);
            x[2 * plane] = halves(a[0] - a[2 * pixel], b[0] - b[2 * pixel]);
            x[3 * plane] = halves(a[pixel] - a[3 * pixel], b[pixel] - b[3 * pixel]);
        }
    }
    return x;
}

#endif
