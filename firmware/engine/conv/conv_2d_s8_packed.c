/* CONV_2D and DEPTHWISE_CONV_2D, int8, with packed weights: computes one output channel after the other, with int32
 * accumulators that are scaled with two roundings (ar_requant). */
#include "conv_2d_packed.h"

#include "conv_output.h"
#include "window.h"

/* Returns the sum of weight * (input + input_offset) over the window's taps in `rows` and `columns`, which must be
 * inside the image. Taps outside the image add nothing, because padding is the real value 0. `at` is the offset in
 * `image` of the window's first tap; it can be negative, because that tap can be padding. `w` is the filter. */
static int32_t window_sum(const ar_conv_2d_params *p, const int8_t *image, int32_t at, const int8_t *w,
                          ar_taps rows, ar_taps columns)
{
    /* Without dilation and groups, the taps of one row are contiguous (one run) in the image and in the filter. With
     * dilation or groups, each tap is a run of k_c bytes. */
    const int32_t whole_row = p->dilation_w == 1 && p->k_c == p->in_c;
    const int32_t width = columns.end - columns.first;
    const int32_t runs = whole_row ? 1 : width;
    const int32_t length = whole_row ? width * p->k_c : p->k_c;
    const int32_t next_row = p->dilation_h * p->in_w * p->in_c;
    const int32_t next_run = p->dilation_w * p->in_c;
    const int32_t offset = p->input_offset;
    int32_t acc = 0;

    /* `in` is the address of the first tap inside the image, so it never points before the image. */
    const int8_t *in = image + (at + rows.first * next_row + columns.first * next_run);
    w += (rows.first * p->k_w + columns.first) * p->k_c;
    for (int32_t ky = rows.first; ky < rows.end; ky++, in += next_row, w += p->k_w * p->k_c) {
        const int8_t *a = in;
        const int8_t *b = w;
        for (int32_t run = 0; run < runs; run++, a += next_run, b += p->k_c) {
            for (int32_t i = 0; i < length; i++) {
                acc += b[i] * (a[i] + offset);
            }
        }
    }
    return acc;
}

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
                    const int32_t acc = window_sum(p, image, at, params->filter, rows, columns);
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
    const ar_taps one = {0, 1};   /* window_sum sums one row of taps per call */
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
                acc += rows[ky] ? window_sum(p, rows[ky], x0 * p->in_c + first, filter, one, columns) : 0;
            }
            out[x * p->out_c] = ar_conv_output_s8(p, acc, c);
        }
        if (--left == 0) { /* the next group reads the next channels */
            left = group_outputs;
            first += p->k_c;
        }
    }
}
