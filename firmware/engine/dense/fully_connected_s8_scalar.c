/* FULLY_CONNECTED, int8, with two products in each multiplication.
 *
 * The weights of four units for one input, with 128 added to each, are the bytes b3 b2 b1 b0 of a word W:
 * [units / 4][depth] words. With x the inputs, the short sums over a few inputs are:
 *
 *     P = W & 0x00FF00FF   sum P * x = sum b0 * x + 2^16 * sum b2 * x
 *     Q = W >> 8           sum Q * x = sum b1 * x + 2^16 * sum b3 * x + 2^8 * sum b2 * x
 *
 * The last term of the sum for Q is known from the sum for P. The added 128s change each sum by an amount that depends
 * only on X, the sum of the inputs: by 0x00800080 * X for P, and by 2^15 * X more for Q. So the sum t for P starts at
 * 2^15 - 0x00800080 * X, and is then, modulo 2^32, A * 2^16 + B + 2^15, where A is the sum of unit 2 and B that of unit
 * 0. Both fit 16 bits, because a short sum has only as many quads of inputs as fit for every input, or else two inputs,
 * which always fit (the generator checks this). Then B + 2^15 is not negative and A is t >> 16. There are two totals:
 * `both` of t, and `high` of t >> 16. At the end unit 2 is `high` and unit 0 is both - high * 2^16. Overflows do not
 * matter, because everything is modulo 2^32.
 *
 * `runs` has a byte for each short sum of 4 * `words` units: its number of quads, or 0 for a quad that is two short
 * sums. The inputs are filled up to whole quads with 0; the weights that are read for these may have any value.
 */
#include "fully_connected_scalar.h"

#include "in_order.h"

#define TILE 32 /* units that are summed before they are scaled; a multiple of 8 */

/* Words of weights at a time, as many as fit in registers. */
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

/* Four inputs, with the amounts by which the 128s change the sums for P and Q over all inputs before them. */
typedef struct {
    uint32_t p, q;
    int16_t x[4];
} quad;

typedef struct {
    uint32_t both_p, high_p, both_q, high_q;
} totals;

#define MIDDLE 0x8000u
#define BIAS_P 0x00800080u
#define BIAS_Q 0x00808080u

/* Splits the short sums of four units, and adds them to the totals. */
INLINE void split(totals *s, uint32_t p, uint32_t q)
{
    const uint32_t unit2 = (uint32_t)((int32_t)p >> 16);
    s->both_p += p;
    s->high_p += unit2;
    q -= unit2 << 8;
    s->both_q += q;
    s->high_q += (uint32_t)((int32_t)q >> 16);
}

/* Adds one quad as two short sums, for four units. */
static __attribute__((noinline)) void two_sums(totals *s, const quad *o, const uint32_t *w)
{
    const int16_t *x = o->x;
    for (const int16_t *end = x + 4; x != end; x += 2, w += 2) {
        const uint32_t x0 = (uint32_t)x[0], x1 = (uint32_t)x[1];
        const uint32_t p = (w[0] & 0x00FF00FFu) * x0 + (w[1] & 0x00FF00FFu) * x1;
        const uint32_t q = (w[0] >> 8) * x0 + (w[1] >> 8) * x1;
        split(s, p + MIDDLE - BIAS_P * (x0 + x1), q + MIDDLE - BIAS_Q * (x0 + x1));
    }
    s->both_p -= MIDDLE;
    s->both_q -= MIDDLE;
}

/* Computes the short sums of four units for each of `words`, over the quads from *o to `last`, and advances the
 * pointers. */
INLINE void short_sum(const int words, uint32_t *p, uint32_t *q, const quad **o, const quad *last,
                      const uint32_t **w, const uint32_t **v)
{
#if defined(__arm__) && !defined(AR_NO_LONG_PRODUCT) && !defined(AR_ANY_CORE)
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

/* Sums four units for each of `words`; their weights begin at `w` and `v`. Returns the end of the runs. */
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

/* Widens one row of inputs. Returns the end, a quad with the amounts for all inputs. */
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
                /* Behind the last units the sums of the second word are not used. */
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
