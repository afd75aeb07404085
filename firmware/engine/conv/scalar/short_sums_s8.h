/* The inner loop of conv_2d_s8_scalar.c, which explains the words, short sums and totals that are used here. */
#ifndef ARENITE_SHORT_SUMS_S8_H
#define ARENITE_SHORT_SUMS_S8_H

#include <stdint.h>

#include "conv_2d_scalar.h"
#include "in_order.h"

#define AR_INLINE static inline __attribute__((always_inline))

/* The numbers of pixel pairs (AR_PAIRS) and of channels (AR_TOGETHER) that are summed at the same time: as many as the
 * core has registers for. */
#if defined(__XTENSA__)
#define AR_PAIRS 1
#else
#define AR_PAIRS 2
#endif
#if defined(__arm__)
#define AR_TOGETHER 1
#else
#define AR_TOGETHER 2
#endif

/* The totals. */
typedef struct {
    uint32_t both[2][AR_PAIRS], high[2][AR_PAIRS]; /* [channel][pair of pixels] */
} ar_totals;

/* Returns the initial value of a short sum of biased weights. `sum` is the sum of its words x. */
AR_INLINE uint32_t ar_start_of(uint32_t sum) { return 0x8000u - (sum << 7); }

/* The addresses of what the next short sum reads. */
typedef struct {
    const uint32_t *x, *start; /* words; initial values of biased short sums of four taps */
    const uint8_t *w;          /* weights */
} ar_cursor;

/* With -Os GCC inlines less, and then has too few registers for the hand-written loops, so it gets plain C. */
#if defined(__arm__) && !defined(AR_ANY_CORE) && !defined(__OPTIMIZE_SIZE__) && defined(AR_NO_SIGNED_BYTES)
#define AR_CHANNELS_THUMB1 /* these cores use all_channels_s8_thumb1.h instead */
#elif defined(__arm__) && !defined(AR_ANY_CORE) && !defined(__OPTIMIZE_SIZE__)
#include "short_sums_s8_thumb2.h"
#else

/* Returns the weight at `w`. */
AR_INLINE uint32_t ar_weight(const int biased, const uint8_t *w)
{
    return biased ? *w : (uint32_t)(int8_t)*w;
}

/* Adds `n` short sums of `taps` taps each (4 or 2) to the totals, and advances *at. A short sum starts at `middle`,
 * which is 2^15, or if weights are biased, at the value at at->start (4 taps) or of ar_start_of (2 taps). */
AR_INLINE void ar_short_sums(ar_totals *s, const int biased, const int together, const int taps, uint32_t n,
                             ar_cursor *at, uint32_t middle)
{
    for (; n; n--) {
        uint32_t t[AR_PAIRS][2];
#pragma GCC unroll 2
        for (int q = 0; q < AR_PAIRS; q++) {
            const uint32_t *x = at->x + q;
            t[q][0] = t[q][1] = !biased ? middle : taps == 4 ? at->start[q] : ar_start_of(x[0] + x[AR_PAIRS]);
        }
#pragma GCC unroll 4
        for (int k = 0; k < taps; k++) {
            const uint8_t *w = at->w + together * k;
            const uint32_t w0 = ar_weight(biased, w), w1 = ar_weight(biased, w + together - 1);
#pragma GCC unroll 2
            for (int q = 0; q < AR_PAIRS; q++) {
                const uint32_t both = at->x[k * AR_PAIRS + q];
                t[q][0] += w0 * both;
                t[q][1] += w1 * both;
                AR_IN_ORDER(t[q][0], t[q][1]);
            }
        }
#pragma GCC unroll 2
        for (int q = 0; q < AR_PAIRS; q++) {
#pragma GCC unroll 2
            for (int c = 0; c < 2; c++) {
                s->both[c][q] += t[q][c];
                s->high[c][q] += (uint32_t)((int32_t)t[q][c] >> 16);
            }
        }
        at->x += taps * AR_PAIRS;
        at->w += taps * together;
        at->start += taps == 4 || !biased ? AR_PAIRS : 0;
    }
}

#endif

#endif
