/* Counts leading zero bits. */
#ifndef ARENITE_BITS_H
#define ARENITE_BITS_H

#include <stdint.h>

/* Returns the number of zero bits above the highest set bit; 32 for 0. */
static inline int ar_clz(uint32_t x)
{
#if defined(__GNUC__)
    return x ? __builtin_clz(x) : 32;
#else
    int n = 32;
    while (x) {
        x >>= 1;
        n--;
    }
    return n;
#endif
}

#endif
