/* DEPTHWISE_CONV_2D with int8 activations, int8 weights that have a scale per channel, and an int32 accumulator that is
 * requantized with two roundings. */
#include "conv_2d.h"

#include "conv_output.h"
#include "window.h"

/* Returns the sum of products of one output channel over the taps inside the image. (Taps in the padding would add
 * 0.) `at` is the offset from `image` of the input at the window's first tap, and w points to the weight of that
 * tap. */
static int32_t window_sum(const ar_conv_2d_params *p, const int8_t *image, int32_t at, const int8_t *w,
                          ar_taps rows, ar_taps columns)
{
    const int32_t next_row = p->dilation_h * p->in_w * p->in_c;
    const int32_t next_column = p->dilation_w * p->in_c;
    const int32_t out_c = p->out_c;
    const int32_t offset = p->input_offset;
    int32_t acc = 0;

    /* `at` can be negative, because the window's first tap may be in the padding. `in` is always inside the image. */
    const int8_t *in = image + (at + rows.first * next_row + columns.first * next_column);
    w += (rows.first * p->k_w + columns.first) * out_c;
    for (int32_t ky = rows.first; ky < rows.end; ky++, in += next_row, w += p->k_w * out_c) {
        const int8_t *a = in;
        const int8_t *b = w;
        for (int32_t kx = columns.first; kx < columns.end; kx++, a += next_column, b += out_c) {
            acc += *b * (*a + offset);
        }
    }
    return acc;
}

void ar_depthwise_conv_2d_s8(const ar_conv_2d_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int32_t y0 = y * p->stride_h - p->pad_top;
            const ar_taps rows = ar_taps_inside(y0, p->k_h, p->dilation_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; x++) {
                const int32_t x0 = x * p->stride_w - p->pad_left;
                const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
                int32_t at = (y0 * p->in_w + x0) * p->in_c;
                int32_t left = p->k_c; /* outputs left for this input channel; k_c is the depth multiplier */
                for (int32_t c = 0; c < p->out_c; c++) {
                    int32_t acc = window_sum(p, image, at, p->weights + c, rows, columns);
                    acc += ar_conv_bias_s8(p, c);
                    *out++ = ar_conv_output_s8(p, acc, c);
                    if (--left == 0) {
                        left = p->k_c;
                        at++;
                    }
                }
            }
        }
        image += p->in_h * p->in_w * p->in_c;
    }
}

void ar_depthwise_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_params *p = params;
    const ar_taps one = {0, 1}; /* each call of window_sum adds one row of the window */

    for (int32_t x = 0; x < p->out_w; x++) {
        const int32_t x0 = x * p->stride_w - p->pad_left;
        const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
        int32_t at = x0 * p->in_c;
        int32_t left = p->k_c;
        for (int32_t c = 0; c < p->out_c; c++) {
            const int8_t *filter = p->weights + c;
            int32_t acc = ar_conv_bias_s8(p, c);
            for (int32_t ky = 0; ky < p->k_h; ky++, filter += p->k_w * p->out_c) {
                acc += rows[ky] ? window_sum(p, rows[ky], at, filter, one, columns) : 0;
            }
            *out++ = ar_conv_output_s8(p, acc, c);
            if (--left == 0) {
                left = p->k_c;
                at++;
            }
        }
    }
}
