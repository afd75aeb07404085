/* Widens two bytes of a word to two int16, and computes with two int16, with one instruction each on cores with the DSP
 * extension. */
#ifndef ARENITE_SXTB16_H
#define ARENITE_SXTB16_H

#include <stdint.h>

/* Returns bytes 0 and 2 as two int16, byte 0 in the low halfword. */
static inline int32_t ar_sxtb16(uint32_t word)
{
#ifdef __ARM_FEATURE_DSP
    int32_t wide;
    __asm__("sxtb16 %0, %1" : "=r"(wide) : "r"(word));
    return wide;
#else
    return (int32_t)((uint32_t)(int32_t)(int8_t)(word >> 16) << 16 | (uint16_t)(int8_t)word);
#endif
}

/* Returns bytes 1 and 3 as two int16, byte 1 in the low halfword. */
static inline int32_t ar_sxtb16_ror8(uint32_t word)
{
#ifdef __ARM_FEATURE_DSP
    int32_t wide;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(wide) : "r"(word));
    return wide;
#else
    return ar_sxtb16(word >> 8);
#endif
}

/* Returns the differences of both halfwords. */
static inline int32_t ar_subtract16(int32_t a, int32_t b)
{
#ifdef __ARM_FEATURE_DSP
    int32_t difference;
    __asm__("ssub16 %0, %1, %2" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
#else
    const uint32_t high = ((uint32_t)a & 0xFFFF0000u) - ((uint32_t)b & 0xFFFF0000u);
    return (int32_t)(high | (((uint32_t)a - (uint32_t)b) & 0xFFFFu));
#endif
}

/* Returns `sum` plus the products of the lower and of the upper halfwords of a and b, modulo 2^32. */
static inline int32_t ar_add_products16(int32_t sum, int32_t a, int32_t b)
{
#ifdef __ARM_FEATURE_DSP
    int32_t result;
    __asm__("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
#else
    const int32_t low = (int16_t)a * (int16_t)b;
    const int32_t high = (int16_t)((uint32_t)a >> 16) * (int16_t)((uint32_t)b >> 16);
    return (int32_t)((uint32_t)sum + (uint32_t)low + (uint32_t)high);
#endif
}

#endif
