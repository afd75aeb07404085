#include "column_exact.h"
#include "image_steps.h"

void ar_column_rounded(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights,
                       void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p);
    const uint32_t half = 1u << (AR_FRACTION_BITS - 1);
    uint8_t *out = line;
    for (uint32_t k = 0; k < values; k++) {
        const uint32_t value = ar_column_exact(rows, values, k, p->down.taps, first, weights);
        const uint32_t nudge = p->ties_to_even ? half - 1 + (value >> AR_FRACTION_BITS & 1u) : half;
        out[k] = (uint8_t)((value + nudge) >> AR_FRACTION_BITS);
    }
}
