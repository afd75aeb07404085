/* Rows of BGR pictures, three bytes per pixel. image_row.h defines the functions. */
#include "image_rows.h"

#define AR_ROW(KIND) ar_row_##KIND##_bgr
#define AR_LINE(p, from, y) const uint8_t *line = (from)->plane[0] + (y) * (from)->stride[0];
#define AR_PIXEL(x, r, g, b)                 \
    {                                        \
        const uint8_t *at = line + 3u * (x); \
        r = at[2];                           \
        g = at[1];                           \
        b = at[0];                           \
    }
#include "image_row.h"
