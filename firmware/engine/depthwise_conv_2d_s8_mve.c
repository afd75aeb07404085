/* DEPTHWISE_CONV_2D with any window, int8, for Helium: the layouts are in depthwise_s8_mve.h. */
#include "depthwise_s8_mve.h"
#include "depthwise_window_s8_mve.h"
#include "vector_s8_mve.h"

void ar_depthwise_conv_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_mve_params *p = params;
    const int32_t channels = p->channels;
    int32_t first = -p->pad_left;

    ar_fill_s8_mve(p->padding, p->input_zero, channels + 15);
    for (int32_t x = 0; x < p->out_w; x++, first += p->stride_w) {
        const int8_t **tap = p->taps;
        for (int32_t k = 0; k < p->k_h; k++) {
            int32_t column = first;
            for (int32_t left = p->k_w; left > 0; left--, column += p->dilation_w) {
                const int32_t inside = rows[k] != 0 && column >= 0 && column < p->in_w;
                *tap++ = inside ? rows[k] + column * channels : p->padding;
            }
        }
        ar_depthwise_window_s8_mve(p, out + x * channels);
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(out, p->act_min, p->act_max, p->out_w * channels);
    }
}

void ar_depthwise_conv_2d_s8_mve(const ar_depthwise_mve_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * p->in_w * p->channels) {
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->channels) {
            const int8_t *rows[AR_DEPTHWISE_MVE_ROWS];
            ar_depthwise_rows(p, image, y * p->stride_h - p->pad_top, rows);
            ar_depthwise_conv_2d_s8_mve_row(p, rows, out);
        }
    }
}
