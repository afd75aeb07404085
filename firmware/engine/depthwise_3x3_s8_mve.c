/* DEPTHWISE_CONV_2D with windows of 3 x 3, int8, for Helium: the layouts are in depthwise_s8_mve.h. */
#include "depthwise_3x3_run_s8_mve.h"
#include "depthwise_s8_mve.h"
#include "vector_s8_mve.h"

/* The taps of the output whose first column is `first`. Where there is no row or no column, they are padding. */
static void set_taps(const ar_depthwise_mve_params *p, const int8_t *const *rows, int32_t first,
                     const int8_t **taps)
{
    for (int32_t column = first, j = 0; j < 3; j++, column += p->dilation_w, taps++) {
        const int32_t inside = column >= 0 && column < p->in_w;
        const int32_t at = column * p->channels;
        taps[0] = inside && rows[0] != 0 ? rows[0] + at : p->padding;
        taps[3] = inside && rows[1] != 0 ? rows[1] + at : p->padding;
        taps[6] = inside && rows[2] != 0 ? rows[2] + at : p->padding;
    }
}

/* `count` outputs without a stride, of 8, 4, 2 or 1 channels: neighbouring pixels are neighbouring bytes, and sixteen of
 * them are taken for an output of sixteen channels. */
static void run_bytes(ar_depthwise_3x3_run *d, int32_t bytes)
{
    const int32_t rest = bytes % 16;
    const int32_t whole = bytes - rest;
    d->tap_step = d->out_step = 0;
    if (whole != 0) {
        d->channels = 16;
        d->out_end = d->out + whole;
        ar_depthwise_3x3_run_s8_mve(d);
    }
    if (rest != 0) {
        for (int32_t t = 0; t < 9; t++) {
            d->taps[t] += whole;
        }
        d->out += whole;
        d->channels = rest;
        d->out_step = rest - 16;
        d->out_end = d->out + rest;
        ar_depthwise_3x3_run_s8_mve(d);
    }
}

/* One output row; `padding` is filled as far as it is needed. */
static void row_of(const ar_depthwise_mve_params *p, const int8_t *const *rows, int8_t *out)
{
    const int32_t channels = p->channels;
    const int32_t whole = (channels + 15) / 16 * 16;
    const int32_t stride = p->stride_w;
    /* Up to `outer`, and unless they begin before the image, windows have all their columns inside. */
    const int32_t room = p->in_w - 1 - 2 * p->dilation_w + p->pad_left;
    const int32_t outer = room < 0 ? 0 : room / stride + 1;
    const int32_t end = outer < p->out_w ? outer : p->out_w;
    int32_t first = -p->pad_left;
    ar_depthwise_3x3_run d;
    d.weights = p->weights;
    d.scales = p->scales;
    d.zero = (int32_t)((uint32_t)(uint16_t)p->output_zero | (uint32_t)p->two_sided << 16);
    d.out = out;

    for (int32_t x = 0; x < p->out_w;) {
        const int32_t count = first >= 0 && x < end ? end - x : 1;
        set_taps(p, rows, first, d.taps);
        if (p->pixels_per_block != 1 && count != 1) {
            run_bytes(&d, count * channels);
        } else {
            d.channels = channels;
            d.tap_step = stride * channels - whole;
            d.out_step = channels - whole;
            d.out_end = d.out + count * channels;
            ar_depthwise_3x3_run_s8_mve(&d);
        }
        d.out = out + (x + count) * channels;
        x += count;
        first += count * stride;
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(out, p->act_min, p->act_max, p->out_w * channels);
    }
}

void ar_depthwise_3x3_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_mve_params *p = params;
    const int32_t whole = rows[0] == 0 || rows[1] == 0 || rows[2] == 0;
    ar_fill_s8_mve(p->padding, p->input_zero, (whole ? p->in_w * p->channels : p->channels) + 15);
    row_of(p, rows, out);
}

void ar_depthwise_3x3_s8_mve(const ar_depthwise_mve_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;

    ar_fill_s8_mve(p->padding, p->input_zero, p->in_w * p->channels + 15);
    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * p->in_w * p->channels) {
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->channels) {
            const int8_t *rows[3];
            ar_depthwise_rows(p, image, y * p->stride_h - p->pad_top, rows);
            row_of(p, rows, out);
        }
    }
}
