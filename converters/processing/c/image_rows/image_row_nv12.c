/* Rows of NV12 pictures: a plane of y, and a plane with a pair of u and v for each two by two pixels. image_row.h
 * defines the functions. */
#include "image_rows.h"
#include "yuv.h"

#define AR_ROW(KIND) ar_row_##KIND##_nv12
#define AR_LINE(p, from, y)                                           \
    const uint8_t *line = (from)->plane[0] + (y) * (from)->stride[0]; \
    const uint8_t *chroma = (from)->plane[1] + ((y) >> 1) * (from)->stride[1];
#define AR_PIXEL(x, r, g, b)                           \
    {                                                  \
        const uint8_t *pair = chroma + ((x) & ~1u);    \
        ar_yuv(line[x], pair[0], pair[1], &r, &g, &b); \
    }
#include "image_row.h"
