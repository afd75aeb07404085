/* FULLY_CONNECTED, int8, two products in each multiplication.
 *
 * The weights of four units for one input are a word W, b3 b2 b1 b0, 128 added to each: [units / 4][depth] words. With
 * x the input, and sums over a few inputs, a short sum:
 *
 *     P = W & 0x00FF00FF   sum P * x = sum b0 * x + 2^16 * sum b2 * x
 *     Q = W >> 8           sum Q * x = sum b1 * x + 2^16 * sum b3 * x + 2^8 * sum b2 * x
 *
 * The last part of Q's is known from P's. What the added 128s make of each sum depends on the inputs only: with X their
 * sum, 0x00800080 * X for P and 2^15 * X more for Q. So P's starts at 2^15 - 0x00800080 * X and is then, modulo 2^32,
 * A * 2^16 + B + 2^15 with A the sum of unit 2 and B that of unit 0. Both fit 16 bits, because short sums are short: 16
 * inputs where the weights allow any input, else 8 (an octet), else 4 and 4, else 2, 2, 2 and 2, which always fit (the
 * generator checks). Then B + 2^15 is not negative and A is t >> 16. Totals are kept of t and of t >> 16: at the end unit 2 has
 * `high`, and unit 0 has both - high * 2^16, whatever overflowed on the way: all is modulo 2^32.
 *
 * `runs`, for each eight units, are bytes that count in turn: pairs of octets summed by 16, octets by 8, octets by 4,
 * by 2, pairs by 16, ... up to the last. Cores with few registers add up every octet of a pair by itself. The inputs are filled up to whole octets with 0: what is read as their weights does not matter.
 */
#include "fully_connected_scalar.h"

#include "in_order.h"

#define TILE 32 /* units that are summed before they are scaled; a multiple of 8 */

#if defined(__riscv) || defined(AR_HOST)
#define WORDS 2 /* words of weights at a time: as many as the registers hold */
#else
#define WORDS 1
#endif

#define INLINE static inline __attribute__((always_inline))

/* Eight inputs, and where their short sums start. */
typedef struct {
    uint32_t start_p, start_q;
    int16_t x[8];
} octet;

typedef struct {
    uint32_t both_p, high_p, both_q, high_q;
} totals;

INLINE uint32_t start_of_p(uint32_t sum) { return 0x8000u - 0x00800080u * sum; }
INLINE uint32_t start_of_q(uint32_t sum) { return start_of_p(sum) - (sum << 15); }

/* Splits a short sum of all four units, and adds it to the totals. */
INLINE void split(totals *s, uint32_t p, uint32_t q)
{
    const uint32_t unit2 = (uint32_t)((int32_t)p >> 16);
    s->both_p += p;
    s->high_p += unit2;
    q -= unit2 << 8;
    s->both_q += q;
    s->high_q += (uint32_t)((int32_t)q >> 16);
}

/* Adds the short sums over `octets`, for `words` times four units; the second word of each input is at `v`. */
INLINE void short_sum(totals *s, const int words, const int octets, const octet *o, const uint32_t *w,
                      const uint32_t *v)
{
    uint32_t p[WORDS], q[WORDS];
    const uint32_t start_p = octets == 1 ? o->start_p : o[0].start_p + o[1].start_p - 0x8000u;
    const uint32_t start_q = octets == 1 ? o->start_q : o[0].start_q + o[1].start_q - 0x8000u;
#pragma GCC unroll 2
    for (int k = 0; k < words; k++) {
        p[k] = start_p;
        q[k] = start_q;
    }
#pragma GCC unroll 16
    for (int i = 0; i < 8 * octets; i++) {
        const uint32_t input = (uint32_t)o[i / 8].x[i % 8];
#pragma GCC unroll 2
        for (int k = 0; k < words; k++) {
            const uint32_t weights = (k ? v : w)[i];
            p[k] += (weights & 0x00FF00FFu) * input;
            q[k] += (weights >> 8) * input;
            AR_IN_ORDER(p[k], q[k]);
        }
    }
#pragma GCC unroll 2
    for (int k = 0; k < words; k++) {
        split(s + k, p[k], q[k]);
    }
}

/* Takes the 2^15 of `n` short sums off the totals. */
INLINE void take_off(totals *s, const int words, uint32_t n)
{
#pragma GCC unroll 2
    for (int k = 0; k < words; k++) {
        s[k].both_p -= n << 15;
        s[k].both_q -= n << 15;
    }
}

/* One octet in parts of `count`, for four units. */
static void octet_in_parts(totals *s, int count, const octet *o, const uint32_t *w)
{
    const int16_t *x = o->x;
    for (const int16_t *end = x + 8; x != end;) {
        uint32_t sum = 0, p = 0, q = 0;
        for (const int16_t *last = x + count; x != last; x++, w++) {
            const uint32_t input = (uint32_t)*x;
            sum += input;
            p += (*w & 0x00FF00FFu) * input;
            q += (*w >> 8) * input;
        }
        split(s, p + start_of_p(sum), q + start_of_q(sum));
        take_off(s, 1, 1);
    }
}

/* `octets` octets, each in parts. */
INLINE void in_parts(totals *s, const int words, int count, uint32_t octets, const octet *o,
                     const uint32_t *w, const uint32_t *v)
{
    for (; octets; octets--, o++, w += 8, v += 8) {
#pragma GCC unroll 2
        for (int k = 0; k < words; k++) {
            totals t = s[k]; /* not `s` itself, which is to stay in registers */
            octet_in_parts(&t, count, o, k ? v : w);
            s[k] = t;
        }
    }
}

/* Sums of four units for each of `words`; their weights begin at `w` and `v`. Gives the end of the runs. */
INLINE const uint8_t *unit_sums(const int words, const octet *o, const octet *end, const uint32_t *w,
                                const uint32_t *v, const uint8_t *runs, int32_t *sums)
{
    totals s[WORDS] = {{0, 0, 0, 0}};
    uint32_t n;

    for (;;) {
        n = *runs++;
        if (words == 2) {
            take_off(s, words, n);
            for (const octet *last = o + 2 * n; o != last; o += 2, w += 16, v += 16) {
                short_sum(s, words, 2, o, w, v);
                AR_IN_ORDER(w, v);
            }
            if (o == end) {
                break;
            }
            n = *runs++;
        } else {
            n *= 2;
            if (o + n != end) {
                n += *runs++;
            }
        }
        take_off(s, words, n);
        for (const octet *last = o + n; o != last; o++, w += 8, v += 8) {
            short_sum(s, words, 1, o, w, v);
        }
        if (o == end) {
            break;
        }
        n = *runs++;
        in_parts(s, words, 4, n, o, w, v);
        o += n;
        w += 8 * n;
        v += 8 * n;
        if (o == end) {
            break;
        }
        n = *runs++;
        in_parts(s, words, 2, n, o, w, v);
        o += n;
        w += 8 * n;
        v += 8 * n;
        if (o == end) {
            break;
        }
    }
#pragma GCC unroll 2
    for (int k = 0; k < words; k++) {
        sums[4 * k] = (int32_t)(s[k].both_p - (s[k].high_p << 16));
        sums[4 * k + 1] = (int32_t)(s[k].both_q - (s[k].high_q << 16));
        sums[4 * k + 2] = (int32_t)s[k].high_p;
        sums[4 * k + 3] = (int32_t)s[k].high_q;
    }
    return runs;
}

/* Widens one row of inputs. Gives the end. */
static octet *expand(const int8_t *in, int32_t depth, octet *o)
{
    for (; depth > 0; depth -= 8, o++) {
        uint32_t sum = 0;
        for (int32_t i = 0; i < 8; i++) {
            const int16_t x = i < depth ? *in++ : 0;
            o->x[i] = x;
            sum += (uint32_t)x;
        }
        o->start_p = start_of_p(sum);
        o->start_q = start_of_q(sum);
    }
    return o;
}

void ar_fully_connected_s8_scalar(const ar_fully_connected_scalar_params *p)
{
    const int8_t *in = p->input;
    int8_t *out = p->output;
    octet *inputs = p->scratch;

    for (uint32_t b = 0; b < p->batches; b++, in += p->depth) {
        const octet *end = expand(in, p->depth, inputs);
        const uint32_t *w = p->weights;
        const uint8_t *runs = p->runs;
        for (int32_t at = 0; at < p->units; at += TILE) {
            const int32_t units = p->units - at < TILE ? p->units - at : TILE;
            int32_t sums[TILE];
            for (int32_t k = 0; k < units; k += 8, w += 2 * p->depth) {
                const uint8_t *next = runs;
                for (int32_t j = 0; j < 8 && k + j < units; j += 4 * WORDS) {
                    const uint32_t *first = w + j / 4 * p->depth;
                    /* Past the last units the second word's sums are of no use, and not used. */
                    next = unit_sums(WORDS, inputs, end, first, units - k > 4 ? first + p->depth : first,
                                     runs, sums + k + j);
                }
                runs = next;
            }
            ar_affine_channels_s8(&p->requant, sums, p->bias + at, p->multiplier + at, out, units);
            out += units;
        }
        ar_clamp_s8(out - p->units, p->units, p->act_min, p->act_max);
    }
}
