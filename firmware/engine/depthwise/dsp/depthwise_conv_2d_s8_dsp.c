/* DEPTHWISE_CONV_2D, int8, any window. For every output pixel it makes a list of the addresses of the input pixels at
 * the window's taps.
 *
 * The address for a tap outside the image is that of a pixel of padding. The words of two pixels are merged, so that
 * one instruction multiplies both taps of a channel. Sums are exact int32.
 */
#include "depthwise_conv_2d_s8_dsp.h"

/* Computes the outputs of the last one to three channels, from channel `first` on, which do not fill a word. */
static void last_channels(const ar_depthwise_dsp_params *p, const int8_t *const *taps, int32_t first,
                          int8_t *out)
{
    const int8_t *w = (const int8_t *)p->weights + first * p->taps;
    for (int32_t c = first; c < p->channels; c++) {
        int32_t sum = p->bias[c];
        for (int32_t t = 0; t < p->taps; t++) {
            sum += taps[t][c] * *w++;
        }
        out[c] = ar_dw_output(sum, p->scale + 2 * c, p->rounding, p->shift, p->two_sided);
    }
}

static void clamp(int8_t *out, int32_t count, int32_t low, int32_t high)
{
    for (int32_t i = 0; i < count; i++) {
        out[i] = (int8_t)(out[i] < low ? low : out[i] > high ? high : out[i]);
    }
}

void ar_depthwise_conv_2d_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_dsp_params *p = params;
    const int32_t channels = p->channels;
    const int8_t **taps = p->scratch;
    int8_t *padding = (int8_t *)(taps + p->taps + p->k_h);
    for (int32_t c = 0; c < channels; c++) {
        padding[c] = p->padding;
    }

    ar_dw_pixel pixel = {.scale = p->scale,
                         .rounding = p->rounding,
                         .shift = p->shift,
                         .bias = p->bias,
                         .taps = taps,
                         .pairs = p->taps / 2,
                         .odd = p->taps % 2,
                         .end = channels & ~3,
                         .two_sided = p->two_sided,
                         .weights = p->weights};
    int32_t x = -p->pad_left;
    pixel.out = out;
    for (int32_t n = p->out_w; n != 0; n--, x += p->stride_w, pixel.out += channels) {
        const int8_t **tap = taps;
        for (int32_t ky = 0; ky < p->k_h; ky++) {
            const int8_t *row = rows[ky];
            int32_t column = x;
            for (int32_t kx = p->k_w; kx != 0; kx--, column += p->dilation_w) {
                *tap++ = row && column >= 0 && column < p->in_w ? row + column * channels : padding;
            }
        }
        ar_depthwise_pixel_s8_dsp(&pixel);
        last_channels(p, taps, pixel.end, pixel.out);
    }
    if (p->act_min != INT8_MIN || p->act_max != INT8_MAX) {
        clamp(out, p->out_w * channels, p->act_min, p->act_max);
    }
}

void ar_depthwise_conv_2d_s8_dsp(const ar_depthwise_dsp_params *p)
{
    const int32_t row_bytes = p->in_w * p->channels;
    const int8_t **rows = (const int8_t **)p->scratch + p->taps;
    const int8_t *image = p->input;
    int8_t *out = p->output;
    for (int32_t b = p->batches; b != 0; b--) {
        int32_t top = -p->pad_top;
        for (int32_t n = p->out_h; n != 0; n--, top += p->stride_h) {
            int32_t y = top;
            for (int32_t k = 0; k < p->k_h; k++, y += p->dilation_h) {
                rows[k] = y >= 0 && y < p->in_h ? image + y * row_bytes : 0;
            }
            ar_depthwise_conv_2d_s8_dsp_row(p, rows, out);
            out += p->out_w * p->channels;
        }
        image += p->in_h * row_bytes;
    }
}
