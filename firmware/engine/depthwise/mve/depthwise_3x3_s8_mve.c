/* DEPTHWISE_CONV_2D with windows of 3 x 3, int8, for Helium. depthwise_s8_mve.h describes the layouts. */
#include "depthwise_3x3_run_s8_mve.h"
#include "depthwise_s8_mve.h"
#include "vector_s8_mve.h"

/* Writes to `taps` the addresses of the nine inputs of the output whose window begins in column `first`. The
 * addresses for taps outside the image are those of padding. */
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

/* Computes `bytes` output bytes of a layer that has stride 1 and 8, 4, 2 or 1 channels. Sixteen neighboring bytes,
 * which are outputs of several pixels, are computed like one output with sixteen channels. */
static void run_bytes(ar_depthwise_3x3_run *d, int32_t bytes)
{
    const int32_t rest = bytes % 16;
    const int32_t full = bytes - rest;
    d->tap_step = d->out_step = 0;
    if (full != 0) {
        d->channels = 16;
        d->out_end = d->out + full;
        ar_depthwise_3x3_run_s8_mve(d);
    }
    if (rest != 0) {
        for (int32_t t = 0; t < 9; t++) {
            d->taps[t] += full;
        }
        d->out += full;
        d->channels = rest;
        d->out_step = rest - 16;
        d->out_end = d->out + rest;
        ar_depthwise_3x3_run_s8_mve(d);
    }
}

/* Fills the block of the last channels, if these are stored separately (see rest_channels in
 * ar_depthwise_mve_params). */
static void fill_rest_block(const ar_depthwise_mve_params *p)
{
    const int32_t channels = p->rest_channels;
    int8_t *taps = (int8_t *)(p->rest_block + 16);
    if (channels == 0) {
        return;
    }
    for (int32_t lane = 0, c = 0; lane < 16; lane++) {
        p->rest_block[ar_depthwise_place(lane)] = p->rest_bias[c];
        c = c + 1 < channels ? c + 1 : 0;
    }
    for (int32_t pixel = 0; pixel < p->pixels_per_block; pixel++, taps += channels) {
        for (int32_t t = 0; t < 9; t++) {
            ar_copy_s8_mve(taps + 16 * t, p->rest_taps + t * channels, channels);
        }
    }
}

/* Computes `channels` channels of `count` outputs. The addresses of the first output's inputs are in d->taps. */
static void run_channels(const ar_depthwise_mve_params *p, ar_depthwise_3x3_run *d, int32_t count,
                         int32_t channels)
{
    const int32_t padded_channels = (channels + 15) / 16 * 16;
    d->channels = channels;
    d->tap_step = p->stride_w * p->channels - padded_channels;
    d->out_step = p->channels - padded_channels;
    d->out_end = d->out + count * p->channels;
    ar_depthwise_3x3_run_s8_mve(d);
}

/* Computes all channels of `count` outputs. The addresses of the first output's inputs are in d->taps. */
static void run(const ar_depthwise_mve_params *p, ar_depthwise_3x3_run *d, int32_t count)
{
    const int32_t rest = p->rest_channels;
    const int32_t others = p->channels - rest;
    d->weights = p->weights;
    d->scales = p->scales;
    if (others != 0 && p->pixels_per_block == 1) {
        run_channels(p, d, count, others);
        for (int32_t t = 0; rest != 0 && t < 9; t++) {
            d->taps[t] += others;
        }
        d->out += others;
    }
    if (rest != 0) {
        d->weights = p->rest_block;
        d->scales = p->scales + others / 16 * AR_DEPTHWISE_MVE_SCALES;
    }
    if (p->pixels_per_block != 1 && count != 1) {
        run_bytes(d, count * p->channels);
    } else if (rest != 0 || p->pixels_per_block != 1) {
        run_channels(p, d, count, rest != 0 ? rest : p->channels);
    }
}

/* Computes one output row. As many bytes of p->padding as the taps can read must already be filled. */
static void compute_row(const ar_depthwise_mve_params *p, const int8_t *const *rows, int8_t *out)
{
    const int32_t stride = p->stride_w;
    /* All columns of window x are inside the image if x is less than `outer` and the window does not begin left of the
     * image. */
    const int32_t room = p->in_w - 1 - 2 * p->dilation_w + p->pad_left;
    const int32_t outer = room < 0 ? 0 : room / stride + 1;
    const int32_t end = outer < p->out_w ? outer : p->out_w;
    int32_t first = -p->pad_left;
    ar_depthwise_3x3_run d;
    d.zero = (int32_t)((uint32_t)(uint16_t)p->output_zero | (uint32_t)p->two_sided << 16);

    for (int32_t x = 0; x < p->out_w;) {
        const int32_t count = first >= 0 && x < end ? end - x : 1;
        set_taps(p, rows, first, d.taps);
        d.out = out + x * p->channels;
        run(p, &d, count);
        x += count;
        first += count * stride;
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(out, p->act_min, p->act_max, p->out_w * p->channels);
    }
}

void ar_depthwise_3x3_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_mve_params *p = params;
    const int32_t missing_row = rows[0] == 0 || rows[1] == 0 || rows[2] == 0;
    ar_fill_s8_mve(p->padding, p->input_zero, (missing_row ? p->in_w * p->channels : p->channels) + 15);
    fill_rest_block(p);
    compute_row(p, rows, out);
}

void ar_depthwise_3x3_s8_mve(const ar_depthwise_mve_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;

    ar_fill_s8_mve(p->padding, p->input_zero, p->in_w * p->channels + 15);
    fill_rest_block(p);
    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * p->in_w * p->channels) {
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->channels) {
            const int8_t *rows[3];
            ar_depthwise_rows(p, image, y * p->stride_h - p->pad_top, rows);
            compute_row(p, rows, out);
        }
    }
}
