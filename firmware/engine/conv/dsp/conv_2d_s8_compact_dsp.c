/* CONV_2D, int8, with little code: widens the windows of a few blocks of pixels, then multiplies them with each pair of
 * filters. */
#include "conv_2d_s8_compact_dsp.h"

#include "sxtb16.h"

/* Widens `groups` (at least 1) groups of four bytes for one pixel of a block. `zeros` is subtracted from every two values.
 * Returns the address for the next values. */
static __attribute__((noinline)) int32_t *widen(const int8_t *from, int32_t groups, int32_t *to,
                                                int32_t zeros)
{
#ifdef __ARM_FEATURE_DSP
    int32_t even, odd;
    __asm__("1:\n"
            "ldr %[odd], [%[from]], #4\n"
            "sxtb16 %[even], %[odd]\n"
            "sxtb16 %[odd], %[odd], ror #8\n"
            "ssub16 %[even], %[even], %[zeros]\n"
            "ssub16 %[odd], %[odd], %[zeros]\n"
            "str %[even], [%[to]], #12\n" /* 4 * AR_COMPACT_PIXELS */
            "subs %[groups], #1\n"
            "str %[odd], [%[to]], #12\n"
            "bne 1b\n"
            : [from] "+r"(from), [to] "+r"(to), [groups] "+r"(groups), [even] "=&r"(even), [odd] "=&r"(odd)
            : [zeros] "r"(zeros)
            : "cc", "memory");
#else
    for (; groups != 0; groups--, from += 4, to += 2 * AR_COMPACT_PIXELS) {
        uint32_t four;
        __builtin_memcpy(&four, from, 4);
        to[0] = ar_subtract16(ar_sxtb16(four), zeros);
        to[AR_COMPACT_PIXELS] = ar_subtract16(ar_sxtb16_ror8(four), zeros);
    }
#endif
    return to;
}

/* Widens the inputs of the window whose first tap is at row `top` and column `left` of the image, for one pixel of a
 * block. Rows that are not completely inside the image are copied first, with their padding. The last group of a row may
 * have up to three bytes after it, which are multiplied with weights of zero. */
static void widen_window(const ar_conv_2d_compact_params *p, const int8_t *image, int32_t top, int32_t left,
                         int32_t *to)
{
    const int32_t zeros = ar_sxtb16((uint8_t)p->zero_point * 0x00010001u);
    const int32_t end = p->in_w * p->in_c;
    const int32_t first = left * p->in_c;
    const int32_t run = p->row_bytes;
    const int8_t *from = image + top * end + first;
    for (int32_t n = p->k_h; n != 0; n--, top++, from += end) {
        const int32_t inside = (uint32_t)top < p->in_h;
        const int8_t *row = from;
        if (!inside || first < 0 || first + run > end) {
            row = p->scratch;
            for (int32_t i = 0; i < run; i++) {
                p->scratch[i] = inside && first + i >= 0 && first + i < end ? from[i] : p->zero_point;
            }
        }
        to = widen(row, (run + 3) / 4, to, zeros);
    }
}

void ar_conv_2d_s8_compact_dsp(const ar_conv_2d_compact_params *p)
{
    int32_t *const widened = (int32_t *)(void *)(p->scratch + p->widened);
    const int8_t *image = p->input;
    int8_t *out = p->output;
    int32_t x = 0; /* of the next output pixel */
    int32_t y = 0;
    for (int32_t left = p->pixels; left != 0;) {
        int32_t blocks = left / AR_COMPACT_PIXELS;
        blocks = blocks > p->blocks ? p->blocks : blocks;
        /* The last one or two pixels are computed alone, as all three pixels of a block. */
        const int32_t step = blocks != 0;
        blocks += !step;
        int32_t *to = widened;
        for (int32_t b = blocks; b != 0; b--, to += (2 * p->groups - 1) * AR_COMPACT_PIXELS) {
            for (int32_t i = AR_COMPACT_PIXELS; i != 0; i--, to++) {
                widen_window(p, image, y * p->stride_h - p->pad_top, x * p->stride_w - p->pad_left, to);
                if (step || i == 1) {
                    x++;
                    if (x == p->out_w) {
                        x = 0;
                        y++;
                    }
                    if (y == p->out_h) {
                        y = 0;
                        image += p->in_h * p->in_w * p->in_c;
                    }
                }
            }
        }
        ar_compact_work work;
        work.filters = p->filters;
        work.groups = p->groups;
        work.out = out;
        work.x = widened;
        work.end = to;
        work.pixel = step * p->out_c;
        work.table = p->format.table;
        work.pairs = p->out_c / 2;
        work.spare = p->format.spare;
        work.room = 32u - p->format.spare;
        work.mask = (1u << p->format.shift_bits) - 1u;
        work.shift_bits = p->format.shift_bits;
        work.dropped = p->format.dropped;
        work.shift_base = p->format.shift_base;
        work.zero_twice = p->format.zero_twice;
        ar_compact_pairs_s8_dsp(&work);
        const int32_t done = step ? AR_COMPACT_PIXELS * blocks : 1;
        out += done * p->out_c;
        left -= done;
    }
}
