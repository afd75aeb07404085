/* The function ar_short_sums of short_sums_s8.h for Arm cores with 32-bit Thumb instructions: one channel and four
 * pixels, 22 instructions for 16 products. Weights are not biased. The loop is written by hand, because GCC moves the
 * totals to the stack and back. */
#ifndef ARENITE_SHORT_SUMS_S8_THUMB2_H
#define ARENITE_SHORT_SUMS_S8_THUMB2_H

/* Adds the products of one tap to a0 and a1, and stores the results in t0 and t1, the short sums of the two pixel
 * pairs. The first tap starts from `middle`; NEXT is any later tap. */
#define TAP(a0, a1)                         \
    "ldrd %[x0], %[x1], [%[x]], #8\n\t"     \
    "ldrsb %[v], [%[w]], #1\n\t"            \
    "mla %[t0], %[v], %[x0], %[" a0 "]\n\t" \
    "mla %[t1], %[v], %[x1], %[" a1 "]\n\t"
#define NEXT TAP("t0", "t1")

/* Computes n short sums; `rest` is the code for all taps but the first. */
#define SHORT_SUMS(rest)                                                                                     \
    __asm__ volatile(                                                                                        \
        "1:\n\t" TAP("middle", "middle") rest "add %[b0], %[b0], %[t0]\n\t"                                  \
                                              "add %[h0], %[h0], %[t0], asr #16\n\t"                         \
                                              "add %[b1], %[b1], %[t1]\n\t"                                  \
                                              "add %[h1], %[h1], %[t1], asr #16\n\t"                         \
                                              "subs %[n], %[n], #1\n\t"                                      \
                                              "bne 1b"                                                       \
        : [b0] "+r"(b0), [b1] "+r"(b1), [h0] "+r"(h0), [h1] "+r"(h1), [x] "+r"(x), [w] "+r"(w), [n] "+r"(n), \
          [t0] "=&r"(t0), [t1] "=&r"(t1), [x0] "=&r"(x0), [x1] "=&r"(x1), [v] "=&r"(v)                       \
        : [middle] "r"(middle)                                                                               \
        : "cc", "memory")

AR_INLINE void ar_short_sums(ar_totals *s, const int biased, const int together, const int taps, uint32_t n,
                             ar_cursor *at, uint32_t middle)
{
    uint32_t b0 = s->both[0][0], b1 = s->both[0][1], h0 = s->high[0][0], h1 = s->high[0][1];
    uint32_t t0, t1, x0, x1, v;
    const uint32_t *x = at->x;
    const uint8_t *w = at->w;
    (void)biased, (void)together;
    if (n == 0) {
        return;
    }
    if (taps == 4) {
        SHORT_SUMS(NEXT NEXT NEXT);
    } else {
        SHORT_SUMS(NEXT);
    }
    at->x = x, at->w = w;
    s->both[0][0] = b0, s->both[0][1] = b1, s->high[0][0] = h0, s->high[0][1] = h1;
}

#endif
