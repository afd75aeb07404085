/* DEPTHWISE_CONV_2D with windows of 3 x 3, int8, for Helium: computes tiles of 4 x 4 inputs of one channel.
 * depthwise_tiles_s8_mve.h describes the layouts. */
#include "depthwise_tiles_s8_mve.h"
#include "depthwise_tiles_run_s8_mve.h"
#include "fixed_point.h"
#include "vector_s8_mve.h"

/* Fills the columns of padding of all strips. */
static void fill_padding(const ar_depthwise_tiles_params *p)
{
    const int32_t column = 4 * p->channels;
    const int32_t right = p->columns - p->pad_left - p->in_w;
    int8_t *strip = (int8_t *)p->strips;
    if (p->padding != 0) {
        ar_fill_s8_mve(p->padding, p->input_zero, p->in_w * p->channels);
    }
    for (int32_t s = 0; s < p->group_strips; s++, strip += p->columns * column) {
        ar_fill_s8_mve(strip, p->input_zero, p->pad_left * column);
        ar_fill_s8_mve(strip + (p->pad_left + p->in_w) * column, p->input_zero, right * column);
    }
}

/* Interleaves the four rows from row `at` of the image on to a strip. */
static void fill_strip(const ar_depthwise_tiles_params *p, const int8_t *image, int32_t at, uint32_t *strip)
{
    const int32_t row_bytes = p->in_w * p->channels;
    const int8_t *rows[4];
    for (int32_t k = 0; k < 4; k++) {
        /* At stride 2, the weights of the fourth row are 0. */
        const int32_t y = at + (k == 3 && p->stride == 2 ? 2 : k);
        rows[k] = y < 0 || y >= p->in_h ? p->padding : image + y * row_bytes;
    }
    ar_interleave_rows_mve(rows, strip + p->pad_left * p->channels, (uint32_t)row_bytes);
}

static void compute_image(const ar_depthwise_tiles_params *p, const int8_t *image, int8_t *out)
{
    const int32_t strip_rows = p->stride == 1 ? 2 : 1; /* output rows of a strip */
    const int32_t strip_words = p->columns * p->channels;
    ar_depthwise_tiles_run d;

    d.strips = p->strips;
    d.constants = p->constants;
    d.two_sided = p->two_sided;
    d.pair_step = 8u * p->channels;
    d.passes = p->passes;
    d.pass_count = p->pass_count;
    for (int32_t y = 0; y < p->out_h; y += p->group_strips * strip_rows) {
        const int32_t left = (p->out_h - y + strip_rows - 1) / strip_rows;
        const int32_t strips = left < p->group_strips ? left : p->group_strips;
        /* If the number of rows is odd, the last group begins one row earlier, or its last strip if it is the only
         * group. */
        const int32_t first = y != 0 && y + strips * strip_rows > p->out_h ? y - 1 : y;
        for (int32_t s = 0; s < strips; s++) {
            const int32_t row = ar_clamp(first + s * strip_rows, 0, p->out_h - strip_rows);
            fill_strip(p, image, row * p->stride - p->pad_top, p->strips + s * strip_words);
        }
        if (left <= p->group_strips) {
            d.passes = p->last_passes;
            d.pass_count = p->last_pass_count;
        }
        d.out = out + first * p->out_w * p->channels;
        d.out_end = d.out + p->channels;
        if (p->stride == 1) {
            ar_depthwise_tiles_s1_mve(&d);
        } else {
            ar_depthwise_tiles_s2_mve(&d);
        }
    }
}

void ar_depthwise_tiles_s8_mve(const ar_depthwise_tiles_params *p)
{
    const int32_t image_bytes = p->in_h * p->in_w * p->channels;
    const int32_t out_bytes = p->out_h * p->out_w * p->channels;
    fill_padding(p);
    for (int32_t b = 0; b < p->batches; b++) {
        compute_image(p, p->input + b * image_bytes, p->output + b * out_bytes);
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(p->output, p->act_min, p->act_max, p->batches * out_bytes);
    }
}
