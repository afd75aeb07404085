/* Rows of RGB565 pictures, the high byte of a pixel first. Red, green and blue have five, six and five bits, which are
 * extended to eight by repeating their top bits. image_row.h defines the functions. */
#include "image_rows.h"

#define AR_ROW(KIND) ar_row_##KIND##_rgb565be
#define AR_LINE(p, from, y) const uint8_t *line = (from)->plane[0] + (y) * (from)->stride[0];
#define AR_PIXEL(x, r, g, b)                                                          \
    {                                                                                 \
        const uint32_t word = (uint32_t)line[2u * (x) + 0] << 8 | line[2u * (x) + 1]; \
        const uint32_t r5 = word >> 11, g6 = word >> 5 & 63u, b5 = word & 31u;        \
        r = r5 << 3 | r5 >> 2;                                                        \
        g = g6 << 2 | g6 >> 4;                                                        \
        b = b5 << 3 | b5 >> 2;                                                        \
    }
#include "image_row.h"
