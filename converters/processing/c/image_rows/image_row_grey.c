/* Rows of grey pictures, one byte per pixel. image_row.h defines the functions. */
#include "image_rows.h"

#define AR_ONE_CHANNEL
#define AR_ROW(KIND) ar_row_##KIND##_grey
#define AR_LINE(p, from, y) const uint8_t *line = (from)->plane[0] + (y) * (from)->stride[0];
#define AR_PIXEL(x, r, g, b) r = line[x];
#include "image_row.h"
