/* The rows of a convolution's window, for kernels that compute a whole image or one output row with the same code. */
#ifndef ARENITE_WINDOW_ROW_H
#define ARENITE_WINDOW_ROW_H

#include "conv_2d.h"

/* Where the rows are: in `rows`, which has 0 for a row outside the image, or if that is 0 in `image`, where the first row
 * of the window is row y0. */
typedef struct {
    const int8_t *const *rows;
    const int8_t *image;
    int32_t y0;
} ar_window_rows;

/* Returns row ky of the window, or 0 if it is outside the image. */
static inline const int8_t *ar_window_row(const ar_conv_2d_params *p, const ar_window_rows *from, int32_t ky)
{
    if (from->rows) {
        return from->rows[ky];
    }
    const int32_t y = from->y0 + ky * p->dilation_h;
    return y < 0 || y >= p->in_h ? 0 : from->image + y * p->in_w * p->in_c;
}

#endif
