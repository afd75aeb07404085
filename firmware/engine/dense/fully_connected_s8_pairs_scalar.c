/* FULLY_CONNECTED, int8, for cores without SIMD, with two products in each multiplication. Weights are stored in pairs.
 *
 * A word has the weights a and b of two units for one input: a + 2^16 * b modulo 2^32. The words of eight units are
 * stored together: [units / 8][depth][4]; weights of 0 fill up the last eight units. A short sum over a few inputs x
 * starts at 2^15. At its end it is
 *
 *     t = 2^15 + sum word * x = 2^16 * B + A + 2^15    modulo 2^32
 *
 * where A is the sum of the first unit and B the sum of the second unit. Both must fit into 16 bits. So a short sum has
 * as many quads (four inputs each) as fit for every possible input; a quad that does not fit is two short sums of two
 * inputs, which always fit (the generator checks this). Then A + 2^15 is not negative, and B is t >> 16. There are two
 * totals: `both` is the sum of all t, and `high` is the sum of all t >> 16. At the end `high` is the sum of the second
 * unit, and both - high * 2^16, minus 2^15 for each short sum, is the sum of the first unit. Overflows do not matter,
 * because everything is modulo 2^32.
 *
 * `runs` has a byte for each short sum of eight units: its number of quads, or 0 for a quad that is two short sums.
 */
#include "fully_connected_pairs.h"

#include "in_order.h"

#define TILE 32        /* units that are summed before they are scaled; a multiple of 8 */
#define PAIRS 4        /* words (unit pairs) that are summed at the same time: as many as fit in registers */
#define MIDDLE 0x8000u /* the initial value of a short sum */

#define INLINE static inline __attribute__((always_inline))

/* Adds the short sum t to the totals. */
INLINE void split(uint32_t *both, uint32_t *high, uint32_t t)
{
    *both += t;
    *high += (uint32_t)((int32_t)t >> 16);
}

/* Adds the products of `count` inputs with their weights `w` to the short sums t. */
INLINE void add_products(const int count, uint32_t t[PAIRS], const int8_t *x, const uint32_t *w)
{
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) {
        const uint32_t input = (uint32_t)x[i];
#pragma GCC unroll 2
        for (int k = 0; k < PAIRS; k += 2) {
            t[k] += w[PAIRS * i + k] * input;
            t[k + 1] += w[PAIRS * i + k + 1] * input;
            AR_IN_ORDER(t[k], t[k + 1]);
        }
    }
}

/* Adds one quad to the totals as two short sums. `totals` has PAIRS values of `both`, then PAIRS values of `high`. */
static __attribute__((noinline)) void two_sums(uint32_t *totals, const int8_t *x, const uint32_t *w)
{
    for (const int8_t *end = x + 4; x != end; x += 2, w += 2 * PAIRS) {
        uint32_t t[PAIRS] = {MIDDLE, MIDDLE, MIDDLE, MIDDLE};
        add_products(2, t, x, w);
        for (int k = 0; k < PAIRS; k++) {
            split(totals + k, totals + PAIRS + k, t[k]);
        }
    }
    for (int k = 0; k < PAIRS; k++) {
        totals[k] -= MIDDLE; /* of the second short sum, which has no byte in `runs` */
    }
}

/* With -Os GCC inlines less, and then has too few registers for the hand-written loop, so it gets plain C. */
#if defined(__arm__) && defined(AR_NO_LONG_PRODUCT) && !defined(AR_ANY_CORE) && !defined(__OPTIMIZE_SIZE__)
#include "fully_connected_pairs_thumb1.h"

/* Computes the sums of eight units over the inputs from x to `end`, with the weights at `w`, and writes them to `sums`.
 * Returns the address of the runs of the next units. */
INLINE const uint8_t *unit_sums(const int8_t *x, const int8_t *end, const uint32_t *w, const uint8_t *runs,
                                int32_t *sums)
{
    const uint8_t *const first = runs;
    uint32_t totals[2 * PAIRS] = {0}; /* as in two_sums */

    while (x != end) {
        const uint32_t n = *runs++;
        if (n) {
            ar_short_sum_of_pairs(totals, &x, x + 4 * n, &w);
        } else {
            two_sums(totals, x, w);
            x += 4;
            w += 4 * PAIRS;
        }
    }
    /* The initial values of all short sums that have a byte in `runs`. */
    const uint32_t middles = (uint32_t)(runs - first) << 15;
    for (int k = 0; k < PAIRS; k++) {
        sums[2 * k] = (int32_t)(totals[k] - middles - (totals[PAIRS + k] << 16));
        sums[2 * k + 1] = (int32_t)totals[PAIRS + k];
    }
    return runs;
}

#else

/* Computes the sums of eight units over the inputs from x to `end`, with the weights at `w`, and writes them to `sums`.
 * Returns the address of the runs of the next units. */
INLINE const uint8_t *unit_sums(const int8_t *x, const int8_t *end, const uint32_t *w, const uint8_t *runs,
                                int32_t *sums)
{
    const uint8_t *const first = runs;
    uint32_t both[PAIRS] = {0}, high[PAIRS] = {0};

    while (x != end) {
        const uint32_t n = *runs++;
        if (n == 0) {
            uint32_t totals[2 * PAIRS]; /* copies, so that `both` and `high` can stay in registers */
#pragma GCC unroll 4
            for (int k = 0; k < PAIRS; k++) {
                totals[k] = both[k];
                totals[PAIRS + k] = high[k];
            }
            two_sums(totals, x, w);
#pragma GCC unroll 4
            for (int k = 0; k < PAIRS; k++) {
                both[k] = totals[k];
                high[k] = totals[PAIRS + k];
            }
            x += 4;
            w += 4 * PAIRS;
            continue;
        }
        uint32_t t[PAIRS] = {MIDDLE, MIDDLE, MIDDLE, MIDDLE};
        const int8_t *const last = x + 4 * n;
        do {
            add_products(4, t, x, w);
            x += 4;
            w += 4 * PAIRS;
        } while (x != last);
#pragma GCC unroll 4
        for (int k = 0; k < PAIRS; k++) {
            split(both + k, high + k, t[k]);
        }
    }
    /* The initial values of all short sums that have a byte in `runs`. */
    const uint32_t middles = (uint32_t)(runs - first) << 15;
#pragma GCC unroll 4
    for (int k = 0; k < PAIRS; k++) {
        sums[2 * k] = (int32_t)(both[k] - middles - (high[k] << 16));
        sums[2 * k + 1] = (int32_t)high[k];
    }
    return runs;
}

#endif

void ar_fully_connected_s8_pairs_scalar(const ar_fully_connected_pairs_params *p)
{
    const int8_t *in = p->input;
    int8_t *out = p->output;

    for (uint32_t b = 0; b < p->batches; b++, in += p->depth) {
        const uint32_t *w = p->weights;
        const uint8_t *runs = p->runs;
        for (int32_t at = 0; at < p->units; at += TILE) {
            const int32_t units = p->units - at < TILE ? p->units - at : TILE;
            int32_t sums[TILE];
            for (int32_t k = 0; k < units; k += 2 * PAIRS, w += PAIRS * p->depth) {
                runs = unit_sums(in, in + p->depth, w, runs, sums + k);
            }
            ar_affine_channels_s8(&p->requant, sums, p->bias + at, p->multiplier + at, out, units);
            out += units;
        }
        ar_clamp_channels_s8(out - p->units, p->units, p->act_min, p->act_max);
    }
}
