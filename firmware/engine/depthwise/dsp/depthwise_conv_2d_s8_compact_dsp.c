/* DEPTHWISE_CONV_2D, int8, with little code: one channel at a time. */
#include "depthwise_conv_2d_s8_compact_dsp.h"

#include "sxtb16.h"

/* Widens `count` bytes, `step` bytes apart, to int16 that are `gap` values apart. Returns the next address. */
static int16_t *widen(int16_t *to, int32_t gap, const int8_t *from, int32_t step, int32_t count)
{
    for (; count > 0; count--, from += step, to += gap) {
        *to = *from;
    }
    return to;
}

/* Computes a row of outputs with any number of taps. */
static void compute_row(const ar_depthwise_compact_row *row)
{
    const int8_t *x = (const int8_t *)row->x;
    int8_t *out = row->out;
    for (int32_t n = row->count; n != 0; n--, x += row->step, out += row->channels) {
        int32_t sum = row->bias;
        for (int32_t k = 0; k < row->pairs; k++) {
            int32_t weights, inputs;
            __builtin_memcpy(&weights, row->weights + 2 * k, 4);
            __builtin_memcpy(&inputs, x + 4 * k, 4);
            sum = ar_add_products16(sum, weights, inputs);
        }
        *out = ar_compact_output(sum, &row->scale);
    }
}

/* Computes channel c of one image. `row` has the values that are the same for all rows of outputs. */
static void compute_channel(const ar_depthwise_compact_params *p, ar_depthwise_compact_row *row,
                            const int8_t *image, int16_t *columns)
{
    const int32_t channels = p->channels;
    const int32_t inside = p->columns - p->pad_left < p->in_w ? p->columns - p->pad_left : p->in_w;
    int32_t ready = 0; /* rows of the padded image that are in the columns */
    for (int32_t y = 0; y < p->out_h; y++, row->out += p->out_w * channels) {
        for (const int32_t end = y * p->stride_h + p->k_h; ready < end; ready++, columns++) {
            const int32_t at = ready - p->pad_top;
            const int32_t known = at >= 0 && at < p->in_h;
            const int8_t *from = known ? image + at * p->in_w * channels : &p->zero_point;
            int16_t *to = columns + p->k_h - 1;
            to = widen(to, p->k_h, &p->zero_point, 0, p->pad_left);
            to = widen(to, p->k_h, from, known ? channels : 0, inside);
            widen(to, p->k_h, &p->zero_point, 0, p->columns - p->pad_left - inside);
        }
        row->x = columns - 1;
        if (p->pairs == 5) {
            ar_depthwise_compact5_s8_dsp(row);
        } else {
            compute_row(row);
        }
    }
}

void ar_depthwise_conv_2d_s8_compact_dsp(const ar_depthwise_compact_params *p)
{
    const int32_t taps = p->k_h * p->k_w;
    int16_t *const taps_of_channel = p->scratch;
    int16_t *const columns = p->scratch + 2 * p->pairs;
    const int8_t *w = p->weights;
    taps_of_channel[2 * p->pairs - 1] = 0; /* not a tap if their number is odd */
    for (int32_t c = 0; c < p->channels; c++) {
        ar_depthwise_compact_row row = {
            .count = p->out_w,
            .step = 2 * p->stride_w * p->k_h,
            .scale = ar_compact_scale_of(&p->format, p->bias[c], c),
            .channels = p->channels,
            .weights = p->scratch,
            .pairs = p->pairs,
        };
        int32_t bias = ar_compact_bias(&p->format, p->bias[c]);
        for (int32_t k = 0; k < taps; k++, w++) {
            bias -= *w * p->zero_point;
            taps_of_channel[k] = (int16_t)(2 * *w);
        }
        row.bias = 2 * bias;
        const int8_t *image = p->input + c;
        row.out = p->output + c;
        for (int32_t b = p->batches; b != 0; b--, image += p->in_h * p->in_w * p->channels) {
            compute_channel(p, &row, image, columns);
        }
    }
}
