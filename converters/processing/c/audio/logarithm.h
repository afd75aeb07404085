/* Logarithm and square root of 64-bit integers, for sound. */
#ifndef ARENITE_LOGARITHM_H
#define ARENITE_LOGARITHM_H

#include <stdint.h>

#define AR_LOG2_BITS 20

/* Returns the number of bits of x; 0 for 0. */
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

/* Returns log2(x) for 1 <= x < 2^63, with 20 fractional bits. `table` has log2(1 + k / 128) for k from 0 to 128, with
 * 30 fractional bits. */
int32_t ar_log2(const int32_t *table, uint64_t x);

/* Returns the square root of x < 2^62, accurate to about 15 bits. `table` has sqrt(k / 128) for k from 32 to 128, where
 * 2^31 stands for 1. */
uint32_t ar_root(const uint32_t *table, uint64_t x);

#endif
