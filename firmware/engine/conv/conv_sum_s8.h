/* Computes the sum of products for one output of a convolution, in plain C. */
#ifndef ARENITE_CONV_SUM_S8_H
#define ARENITE_CONV_SUM_S8_H

#include "conv_2d.h"
#include "window.h"

/* Returns the sum of weight * (input + input_offset) over the window's taps in `rows` and `columns`, which must be
 * inside the image. Taps outside the image add nothing, because padding is the real value 0. `at` is the offset in
 * `image` of the window's first tap; it can be negative, because that tap can be padding. `w` is the filter. */
static int32_t ar_conv_sum_s8(const ar_conv_2d_params *p, const int8_t *image, int32_t at, const int8_t *w,
                              ar_taps rows, ar_taps columns)
{
    /* Without dilation and groups, the taps of one row are contiguous (one run) in the image and in the filter. With
     * dilation or groups, each tap is a run of k_c bytes. */
    const int32_t whole_row = p->dilation_w == 1 && p->k_c == p->in_c;
    const int32_t width = columns.end - columns.first;
    const int32_t runs = whole_row ? 1 : width;
    const int32_t length = whole_row ? width * p->k_c : p->k_c;
    const int32_t next_row = p->dilation_h * p->in_w * p->in_c;
    const int32_t next_run = p->dilation_w * p->in_c;
    const int32_t offset = p->input_offset;
    int32_t acc = 0;

    /* `in` is the address of the first tap inside the image, so it never points before the image. */
    const int8_t *in = image + (at + rows.first * next_row + columns.first * next_run);
    w += (rows.first * p->k_w + columns.first) * p->k_c;
    for (int32_t ky = rows.first; ky < rows.end; ky++, in += next_row, w += p->k_w * p->k_c) {
        const int8_t *a = in;
        const int8_t *b = w;
        for (int32_t run = 0; run < runs; run++, a += next_run, b += p->k_c) {
            for (int32_t i = 0; i < length; i++) {
                acc += b[i] * (a[i] + offset);
            }
        }
    }
    return acc;
}

#endif
