/* Rows of UYVY pictures: four bytes have two pixels, which share u and v. image_row.h defines the functions. */
#include "image_rows.h"
#include "yuv.h"

#define AR_ROW(KIND) ar_row_##KIND##_uyvy
#define AR_LINE(p, from, y) const uint8_t *line = (from)->plane[0] + (y) * (from)->stride[0];
#define AR_PIXEL(x, r, g, b)                                             \
    {                                                                    \
        const uint8_t *pair = line + 4u * ((x) >> 1);                    \
        ar_yuv(pair[1 + 2u * ((x) & 1u)], pair[0], pair[2], &r, &g, &b); \
    }
#include "image_row.h"
