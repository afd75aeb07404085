/* Logarithm and square root of wide integers, for sound. */
#ifndef ARENITE_LOGARITHM_H
#define ARENITE_LOGARITHM_H

#include <stdint.h>

#define AR_LOG2_BITS 20

/* The number of bits of a number; 0 for 0. */
static inline int ar_bit_length(uint64_t x)
{
#if defined(__GNUC__)
    return x ? 64 - __builtin_clzll(x) : 0;
#else
    int n = 0;
    while (x) {
        x >>= 1;
        n++;
    }
    return n;
#endif
}

/* log2(x), 1 <= x < 2^63, in 20 fractional bits; `table` has log2(1 + k / 128) in 30. */
int32_t ar_log2(const int32_t *table, uint64_t x);

/* The square root of x < 2^62, to some 15 bits; `table` has sqrt(k / 128) for k from 32 to 128, 1 as 2^31. */
uint32_t ar_root(const uint32_t *table, uint64_t x);

#endif
