/* CONV_2D and DEPTHWISE_CONV_2D, int8, with packed weights: computes one output channel after the other, with int32
 * accumulators that are scaled with two roundings (ar_requant). */
#include "conv_2d_packed.h"

#include "conv_output.h"
#include "conv_sum_s8.h"

void ar_conv_2d_s8_packed(const ar_conv_2d_packed_params *params)
{
    const ar_conv_2d_params *p = &params->conv;
    const int32_t group_outputs = p->out_c / (p->in_c / p->k_c);
    int32_t left = group_outputs; /* output channels of the group that are not computed yet */
    int32_t first = 0;            /* first input channel of the group */
    ar_packed_place place = {0, 0};

    for (int32_t c = 0; c < p->out_c; c++) {
        const int8_t *image = p->input;
        int8_t *out = (int8_t *)p->output + c;
        const int32_t bias = ar_conv_bias_s8(p, c);
        ar_unpack(&params->packed, &place, params->filter, p->k_h * p->k_w * p->k_c);
        for (int32_t b = 0; b < p->batches; b++, image += p->in_h * p->in_w * p->in_c) {
            for (int32_t y = 0; y < p->out_h; y++) {
                const int32_t y0 = y * p->stride_h - p->pad_top;
                const ar_taps rows = ar_taps_inside(y0, p->k_h, p->dilation_h, p->in_h);
                for (int32_t x = 0; x < p->out_w; x++, out += p->out_c) {
                    const int32_t x0 = x * p->stride_w - p->pad_left;
                    const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
                    const int32_t at = (y0 * p->in_w + x0) * p->in_c + first;
                    const int32_t acc = ar_conv_sum_s8(p, image, at, params->filter, rows, columns);
                    *out = ar_conv_output_s8(p, acc + bias, c);
                }
            }
        }
        if (--left == 0) { /* the next group reads the next channels */
            left = group_outputs;
            first += p->k_c;
        }
    }
}

void ar_conv_2d_s8_packed_row(const void *packed, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_packed_params *params = packed;
    const ar_conv_2d_params *p = &params->conv;
    const int32_t group_outputs = p->out_c / (p->in_c / p->k_c);
    const int32_t filter_row = p->k_w * p->k_c;
    const ar_taps one = {0, 1};   /* ar_conv_sum_s8 sums one row of taps per call */
    int32_t left = group_outputs; /* output channels of the group that are not computed yet */
    int32_t first = 0;            /* first input channel of the group */
    ar_packed_place place = {0, 0};

    for (int32_t c = 0; c < p->out_c; c++, out++) {
        const int32_t bias = ar_conv_bias_s8(p, c);
        ar_unpack(&params->packed, &place, params->filter, p->k_h * filter_row);
        for (int32_t x = 0; x < p->out_w; x++) {
            const int32_t x0 = x * p->stride_w - p->pad_left;
            const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
            const int8_t *filter = params->filter;
            int32_t acc = bias;
            for (int32_t ky = 0; ky < p->k_h; ky++, filter += filter_row) {
                acc += rows[ky] ? ar_conv_sum_s8(p, rows[ky], x0 * p->in_c + first, filter, one, columns) : 0;
            }
            out[x * p->out_c] = ar_conv_output_s8(p, acc, c);
        }
        if (--left == 0) { /* the next group reads the next channels */
            left = group_outputs;
            first += p->k_c;
        }
    }
}
