/* The operations of the vector kernels for AVX2 and NEON. A vector (v8) has eight lanes of 32 bits; some operations use
 * each lane as two halves of 16 bits.
 *
 * This file defines AR_VECTOR for processors with these instruction sets. AVX2 is enabled per function, with AR_TARGET,
 * so that the library loads on every x86-64 processor and checks for AVX2 at run time. Microcontrollers do not compile
 * this file.
 */
#ifndef ARENITE_VECTOR_H
#define ARENITE_VECTOR_H

#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include "vector_avx2.h"
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)
#include "vector_neon.h"
#endif

#ifdef AR_VECTOR

/* These functions return 2, 4 or 8 bytes at an address that need not be aligned. */
static inline uint64_t ar_load_2(const uint8_t *at)
{
    uint16_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t ar_load_4(const uint8_t *at)
{
    uint32_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t ar_load_8(const uint8_t *at)
{
    uint64_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

#endif
#endif
