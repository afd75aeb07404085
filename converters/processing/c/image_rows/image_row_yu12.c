/* Rows of YU12 (I420) pictures: a plane of y, then planes of u and of v with a value for each two by two pixels.
 * image_row.h defines the functions. */
#include "image_rows.h"
#include "yuv.h"

#define AR_ROW(KIND) ar_row_##KIND##_yu12
#define AR_LINE(p, from, y)                                                \
    const uint8_t *line = (from)->plane[0] + (y) * (from)->stride[0];      \
    const uint8_t *us = (from)->plane[1] + ((y) >> 1) * (from)->stride[1]; \
    const uint8_t *vs = (from)->plane[2] + ((y) >> 1) * (from)->stride[2];
#define AR_PIXEL(x, r, g, b) ar_yuv(line[x], us[(x) >> 1], vs[(x) >> 1], &r, &g, &b);
#include "image_row.h"
