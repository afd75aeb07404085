/* DEPTHWISE_CONV_2D with windows of 3 x 3, int8, for Helium: the layouts are in depthwise_s8_mve.h. */
#include "depthwise_3x3_run_s8_mve.h"
#include "depthwise_s8_mve.h"
#include "vector_s8_mve.h"

/* `count` outputs of a row from the ones whose taps are in `d`. */
static void run(const ar_depthwise_mve_params *p, ar_depthwise_3x3_run *d, int32_t count)
{
    const int32_t channels = p->channels;
    if (p->pixels_per_block == 1 || count == 1) {
        const int32_t whole = (channels + 15) / 16 * 16;
        d->channels = channels;
        d->tap_step = p->stride_w * channels - whole;
        d->out_step = channels - whole;
        d->out_end = d->out + count * channels;
        ar_depthwise_3x3_run_s8_mve(d);
        return;
    }
    /* Neighbouring pixels are neighbouring bytes: sixteen of them are an output of sixteen channels. */
    const int32_t bytes = count * channels;
    const int32_t rest = bytes % 16;
    d->tap_step = d->out_step = 0;
    if (bytes != rest) {
        d->channels = 16;
        d->out_end = d->out + (bytes - rest);
        ar_depthwise_3x3_run_s8_mve(d);
    }
    if (rest != 0) {
        for (int32_t t = 0; t < 9; t++) {
            d->taps[t] += bytes - rest;
        }
        d->out += bytes - rest;
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
    const int32_t stride = p->stride_w;
    const int32_t reach = 2 * p->dilation_w; /* from the first column of a window to the last */
    /* Outputs [inner, outer) have all their columns inside the image. */
    const int32_t room = p->in_w - 1 - reach + p->pad_left;
    const int32_t inner = (p->pad_left + stride - 1) / stride;
    const int32_t outer = room < 0 ? 0 : room / stride + 1;
    ar_depthwise_3x3_run d;
    d.weights = p->weights;
    d.scales = p->scales;
    d.zero = (int32_t)((uint32_t)(uint16_t)p->output_zero | (uint32_t)p->two_sided << 16);

    for (int32_t x = 0; x < p->out_w;) {
        const int32_t end = outer < p->out_w ? outer : p->out_w;
        const int32_t count = x >= inner && x < end ? end - x : 1;
        const int32_t first = x * stride - p->pad_left;
        for (int32_t k = 0, t = 0; k < 3; k++) {
            for (int32_t column = first; column <= first + reach; column += p->dilation_w, t++) {
                const int32_t inside = rows[k] != 0 && column >= 0 && column < p->in_w;
                d.taps[t] = inside ? rows[k] + column * channels : p->padding;
            }
        }
        d.out = out + x * channels;
        run(p, &d, count);
        x += count;
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
