/* Bytes moved, filled and clamped sixteen at a time on Helium; plain loops elsewhere. Exactly `count` bytes each. */
#ifndef ARENITE_VECTOR_S8_MVE_H
#define ARENITE_VECTOR_S8_MVE_H

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE)

/* WLSTP/LETP predicate the last round; no round is made for 0 bytes. */
static inline int8_t *ar_copy_s8_mve(int8_t *out, const int8_t *in, int32_t count)
{
    __asm__ volatile("wlstp.8 lr, %2, 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%1], #16\n"
                     "vstrb.8 q0, [%0], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : "+r"(out), "+r"(in)
                     : "r"(count)
                     : "lr", "q0", "memory");
    return out;
}

static inline void ar_fill_s8_mve(int8_t *out, int32_t value, int32_t count)
{
    __asm__ volatile("vdup.8 q0, %1\n"
                     "wlstp.8 lr, %2, 2f\n"
                     "1:\n"
                     "vstrb.8 q0, [%0], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : "+r"(out)
                     : "r"(value), "r"(count)
                     : "lr", "q0", "memory");
}

static inline void ar_clamp_s8_mve(int8_t *out, int32_t low, int32_t high, int32_t count)
{
    __asm__ volatile("vdup.8 q1, %1\n"
                     "vdup.8 q2, %2\n"
                     "wlstp.8 lr, %3, 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%0]\n"
                     "vmax.s8 q0, q0, q1\n"
                     "vmin.s8 q0, q0, q2\n"
                     "vstrb.8 q0, [%0], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : "+r"(out)
                     : "r"(low), "r"(high), "r"(count)
                     : "lr", "q0", "q1", "q2", "memory");
}

#else

static inline int8_t *ar_copy_s8_mve(int8_t *out, const int8_t *in, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        *out++ = *in++;
    }
    return out;
}

static inline void ar_fill_s8_mve(int8_t *out, int32_t value, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        out[i] = (int8_t)value;
    }
}

static inline void ar_clamp_s8_mve(int8_t *out, int32_t low, int32_t high, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        out[i] = (int8_t)(out[i] < low ? low : out[i] > high ? high : out[i]);
    }
}

#endif

#endif
