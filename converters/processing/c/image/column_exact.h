/* Computes the weighted sum of rows that resampling did not round (exact rows), with 16 fractional bits. */
#ifndef ARENITE_COLUMN_EXACT_H
#define ARENITE_COLUMN_EXACT_H

#include "image.h"

/* Returns the weighted sum of value k of all `slots` buffered rows, which have `values` values each. The oldest row is
 * at index `first`. */
static inline uint32_t ar_column_exact(const uint32_t *rows, uint32_t values, uint32_t k, uint32_t slots,
                                       uint32_t first, const int32_t *weights)
{
    const int below = 2 * AR_WEIGHT_BITS - AR_FRACTION_BITS;
    uint64_t sum = (uint64_t)1 << (below - 1);
    const uint32_t *at = rows + first * values + k;
    for (uint32_t slot = first; slot < slots; slot++, at += values) {
        sum += (uint64_t)*at * (uint32_t)*weights++;
    }
    at = rows + k;
    for (uint32_t slot = 0; slot < first; slot++, at += values) {
        sum += (uint64_t)*at * (uint32_t)*weights++;
    }
    return (uint32_t)(sum >> below);
}

#endif
