/* Copies the inputs of a column of outputs to a strip: see conv_2d_s8_mve.h. */
#ifndef ARENITE_STRIP_S8_MVE_H
#define ARENITE_STRIP_S8_MVE_H

#include "conv_2d_s8_mve.h"
#include "vector_s8_mve.h"

/* Copies the inputs of output column `x` of an image to the strip. The strip's rows of padding are already filled. */
static inline void ar_fill_strip_s8_mve(const ar_conv_2d_mve_params *p, const int8_t *image, int32_t x,
                                        int32_t strip_rows)
{
    const int32_t run = p->k_w * p->in_c;
    const int32_t below = strip_rows - p->pad_top;
    const int32_t rows = below < p->in_h ? below : p->in_h;
    const int32_t first = x * p->stride_w - p->pad_left; /* the first column of the windows */
    const int32_t begin = first < 0 ? -first : 0; /* columns [begin, end) of the windows are in the image */
    const int32_t end = p->in_w - first < p->k_w ? p->in_w - first : p->k_w;
    if (begin > 0 || end < p->k_w) {
        ar_fill_s8_mve(p->patches, p->padding, strip_rows * run);
    }
    if (rows > 0 && end > begin) {
        ar_copy_columns_s8_mve(p->patches + p->pad_top * run + begin * p->in_c, run,
                               image + (first + begin) * p->in_c, p->in_w * p->in_c, rows,
                               (end - begin) * p->in_c);
    }
}

#endif
