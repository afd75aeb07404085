/* DEPTHWISE_CONV_2D with any window, int8, for Helium. depthwise_s8_mve.h describes the layouts. */
#include "depthwise_s8_mve.h"
#include "depthwise_window_s8_mve.h"
#include "vector_s8_mve.h"

/* Writes to p->taps the addresses of the inputs of the output whose window begins in column `first`. The addresses
 * for taps outside the image are those of padding. */
static void set_taps(const ar_depthwise_mve_params *p, const int8_t *const *rows, int32_t first)
{
    int32_t column = first;
    for (int32_t j = 0; j < p->k_w; j++, column += p->dilation_w) {
        const int8_t **tap = p->taps + j;
        const int32_t inside = column >= 0 && column < p->in_w;
        const int32_t at = column * p->channels;
        for (int32_t k = 0; k < p->k_h; k++, tap += p->k_w) {
            *tap = inside && rows[k] != 0 ? rows[k] + at : p->padding;
        }
    }
}

/* Computes one output row. p->padding must already be filled. */
static void compute_row(const ar_depthwise_mve_params *p, const int8_t *const *rows, int8_t *out)
{
    const int32_t channels = p->channels;
    /* All columns of window x are inside the image if x is less than `outer` and the window does not begin left of the
     * image. */
    const int32_t room = p->in_w - 1 - (p->k_w - 1) * p->dilation_w + p->pad_left;
    const int32_t outer = room < 0 ? 0 : room / p->stride_w + 1;
    int32_t end = outer < p->out_w ? outer : p->out_w;
    int32_t first = -p->pad_left;

    for (int32_t k = 0; k < p->k_h; k++) {
        end = rows[k] == 0 ? 0 : end; /* the addresses of padding must not advance with the other addresses */
    }
    for (int32_t x = 0; x < p->out_w;) {
        const int32_t count = first >= 0 && x < end ? end - x : 1;
        set_taps(p, rows, first);
        ar_depthwise_window_s8_mve(p, out + x * channels, (uint32_t)count);
        x += count;
        first += count * p->stride_w;
    }
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(out, p->act_min, p->act_max, p->out_w * channels);
    }
}

void ar_depthwise_conv_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_mve_params *p = params;
    ar_fill_s8_mve(p->padding, p->input_zero, p->channels + 15);
    compute_row(p, rows, out);
}

void ar_depthwise_conv_2d_s8_mve(const ar_depthwise_mve_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;

    ar_fill_s8_mve(p->padding, p->input_zero, p->channels + 15);
    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * p->in_w * p->channels) {
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->channels) {
            const int8_t *rows[AR_DEPTHWISE_MVE_ROWS];
            ar_depthwise_rows(p, image, y * p->stride_h - p->pad_top, rows);
            compute_row(p, rows, out);
        }
    }
}
