/* DEPTHWISE_CONV_2D with int8 activations, int8 weights that have a scale per channel, and an int32 accumulator that is
 * requantized with two roundings. */
#include "conv_2d.h"

#include "conv_output.h"
#include "window.h"
#include "window_row.h"

enum { CHANNELS = 4 }; /* that are summed together, if that many are left */

/* Adds the products of one channel, or of CHANNELS channels if `together` is not 1, over `taps` taps of a row to `sums`.
 * The inputs of these channels are `next` bytes apart. */
static void add_taps(const ar_conv_2d_params *p, const int8_t *in, const int8_t *w, int32_t taps,
                     int32_t next, int32_t together, int32_t *sums)
{
    const int32_t next_tap = p->dilation_w * p->in_c, out_c = p->out_c, offset = p->input_offset;
    int32_t sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];

    for (; taps > 0; taps--, in += next_tap, w += out_c) {
        sum0 += w[0] * (in[0] + offset);
        if (together > 1) {
            sum1 += w[1] * (in[next] + offset);
            sum2 += w[2] * (in[2 * next] + offset);
            sum3 += w[3] * (in[3 * next] + offset);
        }
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* Writes one output row, and returns the place behind it. */
static int8_t *write_row(const ar_conv_2d_params *p, const ar_window_rows *from, int8_t *out)
{
    for (int32_t x = 0; x < p->out_w; x++) {
        const int32_t x0 = x * p->stride_w - p->pad_left;
        const ar_taps columns = ar_taps_inside(x0, p->k_w, p->dilation_w, p->in_w);
        int32_t at = (x0 + columns.first * p->dilation_w) * p->in_c; /* the first input in a row */
        int32_t left = p->k_c; /* outputs left for this input channel; k_c is the depth multiplier */
        for (int32_t c = 0; c < p->out_c;) {
            const int32_t next = p->k_c == 1; /* the next output channel reads the next input channel */
            const int32_t together = (next ? p->out_c - c : left) < CHANNELS ? 1 : CHANNELS;
            const int8_t *w = p->weights + columns.first * p->out_c + c;
            int32_t sums[CHANNELS];
            sums[0] = sums[1] = sums[2] = sums[3] = 0; /* without a call of memset */
            for (int32_t ky = 0; ky < p->k_h; ky++, w += p->k_w * p->out_c) {
                const int8_t *row = ar_window_row(p, from, ky);
                if (row) {
                    add_taps(p, row + at, w, columns.end - columns.first, next, together, sums);
                }
            }
            for (int32_t k = 0; k < together; k++, c++) {
                *out++ = ar_conv_output_s8(p, sums[k] + ar_conv_bias_s8(p, c), c);
            }
            if (next) {
                at += together;
            } else if ((left -= together) == 0) {
                left = p->k_c;
                at++;
            }
        }
    }
    return out;
}

void ar_depthwise_conv_2d_s8(const ar_conv_2d_params *p)
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

void ar_depthwise_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_window_rows from = {rows, 0, 0};
    write_row(params, &from, out);
}
