/* CONV_2D, int8, with little code: widens the windows of a few blocks of pixels, then multiplies them with each pair of
 * filters. */
#include "conv_2d_s8_compact_dsp.h"

#include "sxtb16.h"

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
    for (const int32_t stop = top + p->k_h; top < stop; top++) {
        const int32_t inside = top >= 0 && top < p->in_h;
        const int8_t *from = image + top * end + first;
        if (!inside || first < 0 || first + run > end) {
            for (int32_t i = 0; i < run; i++) {
                p->scratch[i] = inside && first + i >= 0 && first + i < end ? from[i] : p->zero_point;
            }
            from = p->scratch;
        }
        for (int32_t i = run; i > 0; i -= 4, from += 4, to += 2 * AR_COMPACT_PIXELS) {
            uint32_t bytes;
            __builtin_memcpy(&bytes, from, 4);
            to[0] = ar_subtract16(ar_sxtb16(bytes), zeros);
            to[AR_COMPACT_PIXELS] = ar_subtract16(ar_sxtb16_ror8(bytes), zeros);
        }
    }
}

/* Computes all outputs of the blocks whose inputs are widened at `x`. */
static void multiply(const ar_conv_2d_compact_params *p, const int32_t *x, int8_t *out, int32_t blocks,
                     int32_t pixel)
{
    const uint32_t *pair = p->filters;
    for (int32_t c = 0; c < p->out_c; c += 2, pair += 2 + 2 * p->groups) {
        ar_compact_pair work;
        work.second = ar_compact_bias(&p->format, pair[1]);
        work.both = (int32_t)(((uint32_t)ar_compact_bias(&p->format, pair[0]) << 8) + (uint32_t)work.second);
        work.weights = pair + 2;
        work.groups = p->groups;
        work.x = x;
        for (int32_t i = 0; i < 2; i++) {
            work.scale[i] = ar_compact_scale_of(&p->format, pair[i], c + i);
        }
        work.out = out + c;
        work.pixel = pixel;
        work.blocks = blocks;
        ar_compact_pair_s8_dsp(&work);
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
        multiply(p, widened, out, blocks, step * p->out_c);
        const int32_t done = step ? AR_COMPACT_PIXELS * blocks : 1;
        out += done * p->out_c;
        left -= done;
    }
}
