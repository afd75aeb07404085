/* CONV_2D in plain C, with int8 activations, int8 weights with a scale per output channel, and int32 accumulators that
 * are scaled with two roundings (ar_requant). */
#include "conv_2d.h"

#include "conv_output.h"
#include "dot4_s8.h"
#include "window.h"
#include "window_row.h"

/* Adds weight * (input + input_offset) over the taps in `columns` of one row to `sums`. Taps outside the image add
 * nothing, because padding is the real value 0. `in` is the first input and `w` the weight of the first tap of the row
 * for the first of the channels that are summed together, whose weights are `next` bytes apart. */
static void add_taps(const ar_conv_2d_params *p, const int8_t *in, const int8_t *w, ar_taps columns,
                     int32_t next, int32_t *sums)
{
    /* Without dilation and groups, the taps of a row are contiguous (one run) in the image and in the filter. With
     * dilation or groups, each tap is a run of k_c bytes. */
    const int32_t width = columns.end - columns.first;
    const int32_t run = p->dilation_w == 1 && p->k_c == p->in_c ? width : 1;

    w += columns.first * p->k_c;
    for (int32_t left = width; left > 0; left -= run, in += p->dilation_w * p->in_c, w += p->k_c) {
        ar_dot4_s8(in, w, next, run * p->k_c, p->input_offset, sums);
    }
}

/* Writes one output row, and returns the place behind it. */
static int8_t *write_row(const ar_conv_2d_params *p, const ar_window_rows *from, int8_t *out)
{
    const int32_t group_outputs = p->out_c / (p->in_c / p->k_c);
    const int32_t filter_row = p->k_w * p->k_c, filter_size = p->k_h * filter_row;

    for (int32_t x = 0; x < p->out_w; x++) {
        const int32_t x0 = x * p->stride_w - p->pad_left;
        const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
        int32_t at = (x0 + columns.first * p->dilation_w) * p->in_c; /* the first input in a row */
        const int8_t *filter = p->weights;
        int32_t left = group_outputs; /* output channels of the group that are not computed yet */
        for (int32_t c = 0; c < p->out_c;) {
            /* The last channels of a group are summed one by one. */
            const int32_t together = left < AR_DOTS ? 1 : AR_DOTS;
            int32_t sums[AR_DOTS];
            sums[0] = sums[1] = sums[2] = sums[3] = 0; /* without a call of memset */
            for (int32_t ky = 0; ky < p->k_h; ky++) {
                const int8_t *row = ar_window_row(p, from, ky);
                if (row) {
                    add_taps(p, row + at, filter + ky * filter_row, columns, together > 1 ? filter_size : 0,
                             sums);
                }
            }
            filter += together * filter_size;
            left -= together;
            for (int32_t k = 0; k < together; k++, c++) {
                *out++ = ar_conv_output_s8(p, sums[k] + ar_conv_bias_s8(p, c), c);
            }
            if (left == 0) { /* the next group reads the next channels */
                left = group_outputs;
                at += p->k_c;
            }
        }
    }
    return out;
}

void ar_conv_2d_s8(const ar_conv_2d_params *p)
{
    ar_window_rows from = {0, p->input, 0};
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++, from.image += p->in_h * p->in_w * p->in_c) {
        for (int32_t y = 0; y < p->out_h; y++) {
            from.y0 = y * p->stride_h - p->pad_top;
            out = write_row(p, &from, out);
        }
    }
}

void ar_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_window_rows from = {rows, 0, 0};
    write_row(params, &from, out);
}
