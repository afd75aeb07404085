/* CONV_2D in plain C, with int8 activations, int8 weights with a scale per output channel, and int32 accumulators that
 * are scaled with two roundings (ar_requant). */
#include "conv_2d.h"

#include "conv_output.h"
#include "conv_sum_s8.h"

void ar_conv_2d_s8(const ar_conv_2d_params *p)
{
    const int32_t group_outputs = p->out_c / (p->in_c / p->k_c);
    const int32_t filter_size = p->k_h * p->k_w * p->k_c;
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            const int32_t y0 = y * p->stride_h - p->pad_top;
            const ar_taps rows = ar_taps_inside(y0, p->k_h, p->dilation_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; x++) {
                const int32_t x0 = x * p->stride_w - p->pad_left;
                const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
                /* The offset of the window's first tap; can be negative, because that tap can be padding. */
                int32_t at = (y0 * p->in_w + x0) * p->in_c;
                const int8_t *filter = p->weights;
                int32_t left = group_outputs; /* output channels of the group that are not computed yet */
                for (int32_t c = 0; c < p->out_c; c++, filter += filter_size) {
                    int32_t acc = ar_conv_sum_s8(p, image, at, filter, rows, columns);
                    acc += ar_conv_bias_s8(p, c);
                    *out++ = ar_conv_output_s8(p, acc, c);
                    if (--left == 0) { /* the next group reads the next channels */
                        left = group_outputs;
                        at += p->k_c;
                    }
                }
            }
        }
        image += p->in_h * p->in_w * p->in_c;
    }
}

void ar_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_params *p = params;
    const int32_t group_outputs = p->out_c / (p->in_c / p->k_c);
    const int32_t filter_row = p->k_w * p->k_c;
    const ar_taps one = {0, 1}; /* ar_conv_sum_s8 sums one row of taps per call */

    for (int32_t x = 0; x < p->out_w; x++) {
        const int32_t x0 = x * p->stride_w - p->pad_left;
        const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
        int32_t at = x0 * p->in_c;
        const int8_t *filter = p->weights;
        int32_t left = group_outputs;
        for (int32_t c = 0; c < p->out_c; c++) {
            int32_t acc = ar_conv_bias_s8(p, c);
            for (int32_t ky = 0; ky < p->k_h; ky++, filter += filter_row) {
                acc += rows[ky] ? ar_conv_sum_s8(p, rows[ky], at, filter, one, columns) : 0;
            }
            *out++ = ar_conv_output_s8(p, acc, c);
            if (--left == 0) { /* the next group reads the next channels */
                left = group_outputs;
                at += p->k_c;
            }
        }
    }
}
