/* FULLY_CONNECTED, int8, for cores without SIMD, with two products in each multiplication.
 *
 * The weights of four units for one input, with 128 added to each, are the bytes b3 b2 b1 b0 of a word W. There are
 * [units / 4][depth] words. A short sum adds the products with a few inputs x:
 *
 *     P = W & 0x00FF00FF   sum P * x = sum b0 * x + 2^16 * sum b2 * x
 *     Q = W >> 8           sum Q * x = sum b1 * x + 2^16 * sum b3 * x + 2^8 * sum b2 * x
 *
 * The last term of the sum for Q is known from the sum for P, and is subtracted. The added 128s change each sum by an
 * amount that depends only on X, the sum of the inputs x: by 0x00800080 * X for P, and by 2^15 * X more for Q. So the
 * sum t for P starts at 2^15 - 0x00800080 * X. At its end it is A * 2^16 + B + 2^15 modulo 2^32, where A is the sum of
 * unit 2 and B the sum of unit 0. Both must fit into 16 bits. So a short sum has as many quads (four inputs each) as
 * fit for every possible input; a quad that does not fit is two short sums of two inputs, which always fit (the
 * generator checks this). Then B + 2^15 is not negative, and A is t >> 16. There are two totals: `both` is the sum of
 * all t, and `high` is the sum of all t >> 16. At the end `high` is the sum of unit 2, and both - high * 2^16, minus
 * 2^15 for each short sum, is the sum of unit 0. The sum for Q gives units 3 and 1 in the same way. Overflows do not
 * matter, because everything is modulo 2^32.
 *
 * `words` is the number of words W that are used at the same time. `runs` has a byte for each short sum of 4 * `words`
 * units: its number of quads, or 0 for a quad that is two short sums. Inputs of 0 fill up the last quad; the weights
 * that are read for these may have any value.
 */
#include "fully_connected_scalar.h"

#include "in_order.h"

#define TILE 32 /* units that are summed before they are scaled; a multiple of 8 */

/* The number of words of weights that are used at the same time, as many as fit in registers: WORDS is the largest
 * number, WORDS_OF(p) the number for a layer. */
#if defined(AR_HOST) || defined(AR_ANY_CORE)
#define WORDS 2
#define WORDS_OF(p) ((p)->words)
#elif defined(__riscv)
#define WORDS 2
#define WORDS_OF(p) WORDS
#else
#define WORDS 1
#define WORDS_OF(p) WORDS
#endif

#define INLINE static inline __attribute__((always_inline))

/* Four inputs `x`. `p` and `q` are the amounts by which the added 128s change the sums for P and for Q over all inputs
 * before these four. */
typedef struct {
    uint32_t p, q;
    int16_t x[4];
} quad;

/* The totals of the sums for P and for Q. */
typedef struct {
    uint32_t both_p, high_p, both_q, high_q;
} totals;

#define MIDDLE 0x8000u     /* 2^15 */
#define BIAS_P 0x00800080u /* the change of the sum for P by the added 128s, for X = 1 */
#define BIAS_Q 0x00808080u /* the same for Q: BIAS_P + 2^15 */

/* Adds the short sums of four units to the totals. `p` and `q` are the sums for P and for Q. */
INLINE void split(totals *s, uint32_t p, uint32_t q)
{
    const uint32_t unit2 = (uint32_t)((int32_t)p >> 16);
    s->both_p += p;
    s->high_p += unit2;
    q -= unit2 << 8;
    s->both_q += q;
    s->high_q += (uint32_t)((int32_t)q >> 16);
}

/* Adds one quad to the totals of four units, as two short sums. `w` are its weights. */
static __attribute__((noinline)) void two_sums(totals *s, const quad *o, const uint32_t *w)
{
    const int16_t *x = o->x;
    for (const int16_t *end = x + 4; x != end; x += 2, w += 2) {
        const uint32_t x0 = (uint32_t)x[0], x1 = (uint32_t)x[1];
        const uint32_t p = (w[0] & 0x00FF00FFu) * x0 + (w[1] & 0x00FF00FFu) * x1;
        const uint32_t q = (w[0] >> 8) * x0 + (w[1] >> 8) * x1;
        split(s, p + MIDDLE - BIAS_P * (x0 + x1), q + MIDDLE - BIAS_Q * (x0 + x1));
    }
    s->both_p -= MIDDLE; /* of the second short sum, which has no byte in `runs` */
    s->both_q -= MIDDLE;
}

/* Adds the products with the quads from *o to `last` to the short sums p[k] and q[k] of word k, for each of `words`
 * words. *w are the weights of word 0, *v those of word 1. Advances these pointers. */
INLINE void short_sum(const int words, uint32_t *p, uint32_t *q, const quad **o, const quad *last,
                      const uint32_t **w, const uint32_t **v)
{
#if defined(__arm__) && !defined(AR_NO_LONG_PRODUCT) && !defined(AR_ANY_CORE)
/* Adds the products of one input. The next input is `next` bytes later. */
#define INPUT(next)                       \
    "ldrsh %[x], [%[at]], #" #next "\n\t" \
    "ldr %[b], [%[w]], #4\n\t"            \
    "and %[a], %[b], #0x00FF00FF\n\t"     \
    "lsr %[b], %[b], #8\n\t"              \
    "mla %[p], %[a], %[x], %[p]\n\t"      \
    "mla %[q], %[b], %[x], %[q]\n\t"
    const int16_t *at = (*o)->x, *end = last->x;
    uint32_t x, a, b;
    (void)words, (void)v;
    __asm__ volatile(
        "1:\n\t" INPUT(2) INPUT(2) INPUT(2) INPUT(10) "cmp %[at], %[end]\n\t"
                                                      "bne 1b"
        : [p] "+r"(*p), [q] "+r"(*q), [at] "+r"(at), [w] "+r"(*w), [x] "=&r"(x), [a] "=&r"(a), [b] "=&r"(b)
        : [end] "r"(end)
        : "cc", "memory");
    *o = last;
#else
    do {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const uint32_t input = (uint32_t)(*o)->x[i];
#pragma GCC unroll 2
            for (int k = 0; k < words; k++) {
                const uint32_t weights = (k ? *v : *w)[i];
                p[k] += (weights & 0x00FF00FFu) * input;
                q[k] += (weights >> 8) * input;
                AR_IN_ORDER(p[k], q[k]);
            }
        }
        ++*o;
        *w += 4;
        *v += 4;
    } while (*o != last);
#endif
}

/* Computes the sums of four units for each of `words` words over the inputs from `o` to `end`, and writes them to
 * `sums`. `w` are the weights of the first word, `v` those of the second. Returns the address of the runs of the next
 * units. */
INLINE const uint8_t *unit_sums(const int words, const quad *o, const quad *end, const uint32_t *w,
                                const uint32_t *v, const uint8_t *runs, int32_t *sums)
{
    const uint8_t *const first = runs;
    totals s[WORDS] = {{0, 0, 0, 0}};

    while (o != end) {
        const uint32_t n = *runs++;
        if (n == 0) {
#pragma GCC unroll 2
            for (int k = 0; k < words; k++) {
                totals t = s[k]; /* a copy, so that `s` can stay in registers */
                two_sums(&t, o, k ? v : w);
                s[k] = t;
            }
            o++;
            w += 4;
            v += 4;
            continue;
        }
        uint32_t p[WORDS], q[WORDS];
        const quad *last = o + n;
#pragma GCC unroll 2
        for (int k = 0; k < words; k++) {
            p[k] = o->p - last->p + MIDDLE;
            q[k] = o->q - last->q + MIDDLE;
        }
        short_sum(words, p, q, &o, last, &w, &v);
#pragma GCC unroll 2
        for (int k = 0; k < words; k++) {
            split(s + k, p[k], q[k]);
        }
    }
    /* The initial 2^15 of all short sums that have a byte in `runs`. */
    const uint32_t middles = (uint32_t)(runs - first) << 15;
#pragma GCC unroll 2
    for (int k = 0; k < words; k++) {
        sums[4 * k] = (int32_t)(s[k].both_p - middles - (s[k].high_p << 16));
        sums[4 * k + 1] = (int32_t)(s[k].both_q - middles - (s[k].high_q << 16));
        sums[4 * k + 2] = (int32_t)s[k].high_p;
        sums[4 * k + 3] = (int32_t)s[k].high_q;
    }
    return runs;
}

/* Converts one row of inputs to quads at `o`. Returns the address after the last quad; the fields `p` and `q` there
 * are the amounts for all inputs. */
static quad *expand(const int8_t *in, int32_t depth, quad *o)
{
    uint32_t sum = 0;
    for (; depth > 0; depth -= 4, o++) {
        o->p = BIAS_P * sum;
        o->q = BIAS_Q * sum;
        for (int32_t i = 0; i < 4; i++) {
            const int16_t x = i < depth ? *in++ : 0;
            o->x[i] = x;
            sum += (uint32_t)x;
        }
    }
    o->p = BIAS_P * sum;
    o->q = BIAS_Q * sum;
    return o;
}

void ar_fully_connected_s8_scalar(const ar_fully_connected_scalar_params *p)
{
    const int8_t *in = p->input;
    int8_t *out = p->output;
    quad *inputs = p->scratch;

    for (uint32_t b = 0; b < p->batches; b++, in += p->depth) {
        const quad *end = expand(in, p->depth, inputs);
        const uint32_t *w = p->weights;
        const uint8_t *runs = p->runs;
        for (int32_t at = 0; at < p->units; at += TILE) {
            const int32_t units = p->units - at < TILE ? p->units - at : TILE;
            int32_t sums[TILE];
            for (int32_t k = 0; k < units; k += 4 * WORDS_OF(p), w += WORDS_OF(p) * p->depth) {
                /* If there is no second word any more, its sums are computed from the first word, but not used. */
                const uint32_t *v = units - k > 4 ? w + p->depth : w;
                runs = WORDS_OF(p) == 2 ? unit_sums(2, inputs, end, w, v, runs, sums + k)
                                        : unit_sums(1, inputs, end, w, v, runs, sums + k);
            }
            ar_affine_channels_s8(&p->requant, sums, p->bias + at, p->multiplier + at, out, units);
            out += units;
        }
        ar_clamp_channels_s8(out - p->units, p->units, p->act_min, p->act_max);
    }
}
