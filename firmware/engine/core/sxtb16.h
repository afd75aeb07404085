/* Widens two bytes of a word to two int16, with one instruction on cores with the DSP extension. */
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

#endif
