/* The function ar_short_sums of short_sums_s8.h for Arm cores with few 32-bit instructions (Armv6-M and Armv8-M
 * Baseline): one channel and four pixels, 34 instructions for 16 products. Weights are biased. The loop is written by
 * hand, because GCC moves the totals to the stack and back. */
#ifndef ARENITE_SHORT_SUMS_S8_THUMB1_H
#define ARENITE_SHORT_SUMS_S8_THUMB1_H

/* Adds the products of one tap to the short sums r4 and r5 of the two pixel pairs. `at` is the tap's index in the short
 * sum. The words have fixed registers, because an LDM loads registers in ascending order. */
#define TAP(at)                       \
    "ldmia %[x]!, {r2, r3}\n\t"       \
    "ldrb %[v], [%[w], #" #at "]\n\t" \
    "muls r2, %[v]\n\t"               \
    "adds r4, r4, r2\n\t"             \
    "muls r3, %[v]\n\t"               \
    "adds r5, r5, r3\n\t"

/* Computes short sums until x reaches `end`. `first` is the code that sets r4 and r5 to the initial values, `all` the
 * code for the taps, and `count` the number of taps. */
#define SHORT_SUMS(first, all, count)                                                                        \
    __asm__ volatile(".syntax unified\n"                                                                     \
                     "1:\n\t" first all "adds %[w], #" #count "\n\t"                                         \
                     "add %[b0], r4\n\t"                                                                     \
                     "asrs r4, r4, #16\n\t"                                                                  \
                     "add %[h0], r4\n\t"                                                                     \
                     "add %[b1], r5\n\t"                                                                     \
                     "asrs r5, r5, #16\n\t"                                                                  \
                     "add %[h1], r5\n\t"                                                                     \
                     "cmp %[x], %[end]\n\t"                                                                  \
                     "bne 1b"                                                                                \
                     : [b0] "+h"(b0), [b1] "+h"(b1), [h0] "+h"(h0), [h1] "+h"(h1), [x] "+l"(x), [w] "+l"(w), \
                       [start] "+l"(begin), [v] "=&l"(v)                                                     \
                     : [end] "h"(end)                                                                        \
                     : "r2", "r3", "r4", "r5", "cc", "memory")

AR_INLINE void ar_short_sums(ar_totals *s, const int biased, const int together, const int taps, uint32_t n,
                             ar_cursor *at, uint32_t middle)
{
    uint32_t b0 = s->both[0][0], b1 = s->both[0][1], h0 = s->high[0][0], h1 = s->high[0][1];
    const uint32_t *x = at->x, *end = x + (uint32_t)taps * AR_PAIRS * n;
    const uint8_t *w = at->w;
    uint32_t v;
    (void)biased, (void)together;
    if (n == 0) {
        return;
    }
    if (taps == 4) {
        const uint32_t *begin = at->start;
        SHORT_SUMS("ldmia %[start]!, {r4, r5}\n\t", TAP(0) TAP(1) TAP(2) TAP(3), 4);
        at->start = begin;
    } else {
        uint32_t begin = middle; /* the initial values are begin - 128 * (the sum of a pair's two words) */
        SHORT_SUMS("ldmia %[x]!, {r2, r3, r4, r5}\n\t"
                   "subs %[x], #16\n\t"
                   "adds r4, r4, r2\n\t"
                   "adds r5, r5, r3\n\t"
                   "lsls r4, r4, #7\n\t"
                   "lsls r5, r5, #7\n\t"
                   "subs r4, %[start], r4\n\t"
                   "subs r5, %[start], r5\n\t",
                   TAP(0) TAP(1), 2);
    }
    at->x = x, at->w = w;
    s->both[0][0] = b0, s->both[0][1] = b1, s->high[0][0] = h0, s->high[0][1] = h1;
}

#endif
