/* Copies rows of an image with their padding, for the kernels with Winograd's algorithms. */
#ifndef ARENITE_WINOGRAD_ROWS_DSP_H
#define ARENITE_WINOGRAD_ROWS_DSP_H

#include "conv_2d_winograd_dsp.h"

/* Stores `bytes` bytes with the value of the input's zero point; `bytes` is a multiple of four, nothing is stored if it
 * is negative. Returns the address after the last byte. */
static int8_t *pad(int8_t *to, int32_t zero_point, int32_t bytes)
{
    const uint32_t word = ((uint32_t)zero_point & 255u) * 0x01010101u;
    for (; bytes > 0; bytes -= 4, to += 4) {
        __builtin_memcpy(to, &word, 4);
    }
    return to;
}

/* Copies row `y` of the image with its padding to `to`. Rows and columns outside the image hold the zero point. */
static void padded_row(const ar_conv_2d_winograd_params *p, const int8_t *image, int32_t y, int8_t *to)
{
    const int32_t in_c = p->in_c;
    const int32_t width = p->out_w + 2;
    if (y < 0 || y >= p->in_h) {
        pad(to, p->zero_point, width * in_c);
        return;
    }
    /* The number of columns of padding on the right. It is negative if the last columns of the image are not read. */
    const int32_t right = width - p->pad_left - p->in_w;
    const int8_t *from = image + y * p->in_w * in_c;
    to = pad(to, p->zero_point, p->pad_left * in_c);
    for (const int8_t *const end = from + (p->in_w + (right < 0 ? right : 0)) * in_c; from != end;
         from += 4, to += 4) {
        __builtin_memcpy(to, from, 4);
    }
    pad(to, p->zero_point, right * in_c);
}

#endif
