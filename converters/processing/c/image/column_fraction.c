/* Resizes down a column with exact rows (see column_exact.h): the sums keep 16 fractional bits. */
#include "column_exact.h"
#include "image_steps.h"

void ar_column_fraction(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                        void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p);
    uint32_t *out = line;
    for (uint32_t k = 0; k < values; k++) {
        out[k] = ar_column_exact(rows, values, k, p->down.taps, first, weights);
    }
}
