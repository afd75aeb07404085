/* Resizes down a column with exact rows (see column_exact.h): the sums are rounded to bytes. */
#include "column_exact.h"
#include "image_steps.h"

void ar_column_rounded(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                       void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p);
    uint8_t *out = line;
    for (uint32_t k = 0; k < values; k++) {
        /* Round to 12 fractional bits first, so that the last bits of the weights do not decide about ties. */
        const uint32_t value = (ar_column_exact(rows, values, k, p->down.taps, first, weights) + 8u) >> 4;
        const uint32_t nudge = p->ties_to_even ? 2047u + (value >> 12 & 1u) : 2048u;
        out[k] = (uint8_t)((value + nudge) >> 12);
    }
}
