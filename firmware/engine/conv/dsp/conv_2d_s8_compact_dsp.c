/* CONV_2D, int8, with little code: widens the windows of a few blocks of pixels, then multiplies them with each pair of
 * filters. */
#include "conv_2d_s8_compact_dsp.h"

#include "sxtb16.h"

/* Widens the `groups` * 4 bytes at `from`, minus the zero point, for one pixel of a block. */
static void widen(const ar_conv_2d_compact_params *p, const int8_t *from, int32_t *to)
{
    const uint32_t zero = (uint8_t)p->zero_point * 0x00010001u;
    const int32_t zeros = ar_sxtb16(zero);
    for (int32_t g = p->groups; g != 0; g--, from += 4, to += 2 * AR_COMPACT_PIXELS) {
        uint32_t bytes;
        __builtin_memcpy(&bytes, from, 4);
        to[0] = ar_subtract16(ar_sxtb16(bytes), zeros);
        to[AR_COMPACT_PIXELS] = ar_subtract16(ar_sxtb16_ror8(bytes), zeros);
    }
}

/* Copies the window whose first tap is at row `top` and column `left` of the image, with its padding. The copy of a row
 * that is completely inside writes up to three bytes too many, which the next row replaces. */
static void copy_window(const ar_conv_2d_compact_params *p, const int8_t *image, int32_t top, int32_t left)
{
    const int32_t run = p->k_w * p->in_c;
    const int32_t first = left * p->in_c;
    const int32_t end = p->in_w * p->in_c;
    int8_t *to = p->scratch;
    for (int32_t k = 0; k < p->k_h; k++, to += run) {
        const int32_t row = top + k;
        const int32_t inside = row >= 0 && row < p->in_h;
        const int8_t *from = image + row * end + first;
        if (inside && first >= 0 && first + run <= end) {
            for (int32_t i = 0; i < run; i += 4) {
                __builtin_memcpy(to + i, from + i, 4);
            }
        } else {
            for (int32_t i = 0; i < run; i++) {
                to[i] = inside && first + i >= 0 && first + i < end ? from[i] : p->zero_point;
            }
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
    const int8_t *image = p->input;
    int8_t *out = p->output;
    int32_t *const widened = (int32_t *)(void *)(p->scratch + (p->copies ? 4 * p->groups + 4 : 0));
    for (int32_t y = 0; y < p->batches * p->out_h; y++, out += p->out_w * p->out_c) {
        const int32_t batch = y / p->out_h;
        const int32_t top = (y - batch * p->out_h) * p->stride_h - p->pad_top;
        const int8_t *from = image + batch * (p->in_h * p->in_w * p->in_c);
        for (int32_t x = 0; x < p->out_w;) {
            int32_t blocks = (p->out_w - x) / AR_COMPACT_PIXELS;
            blocks = blocks > p->blocks ? p->blocks : blocks;
            if (blocks == 0 && p->copies && p->out_w >= AR_COMPACT_PIXELS) {
                /* The last block ends with the row, so some outputs are computed again. Without copies this is not
                 * possible, because the outputs may have replaced these inputs. */
                x = p->out_w - AR_COMPACT_PIXELS;
                blocks = 1;
            }
            const int32_t step = blocks != 0; /* 0: the three pixels of a block are the same pixel */
            blocks += !step;
            int32_t *to = widened;
            int32_t column = x;
            for (int32_t b = blocks; b != 0; b--, to += (2 * p->groups - 1) * AR_COMPACT_PIXELS) {
                for (int32_t i = AR_COMPACT_PIXELS; i != 0; i--, to++, column += step) {
                    const int32_t left = column * p->stride_w - p->pad_left;
                    const int8_t *window = p->scratch;
                    if (p->copies) {
                        copy_window(p, from, top, left);
                    } else {
                        window = from + (top * p->in_w + left) * p->in_c;
                    }
                    widen(p, window, to);
                }
            }
            multiply(p, widened, out + x * p->out_c, blocks, step * p->out_c);
            x += step ? AR_COMPACT_PIXELS * blocks : 1;
        }
    }
}
