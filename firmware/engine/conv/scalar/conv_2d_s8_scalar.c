/* CONV_2D, int8, for cores without SIMD, with two products in each multiplication.
 *
 * A tap is here one input of the window: a position in the filter and an input channel. The inputs of two neighboring
 * pixels for one tap share a word x = x1 * 2^16 + x0. A weight times this word contains both products. A sum t of such
 * products is A * 2^16 + B, where A is the sum for pixel 1 and B is the sum for pixel 0. A and B can be separated if
 * both fit into 16 bits. Therefore a short sum has only four taps (a quad) if A and B then fit for every possible
 * input, and otherwise two taps, for which they always fit (the generator checks this). Each short sum starts at 2^15,
 * so that B + 2^15 is never negative and t >> 16 is A.
 *
 * Separating A and B of every short sum would take too long. Instead the kernel keeps two totals: `both` is the sum of
 * all t (without their initial 2^15), and `high` is the sum of all t >> 16. At the end the sum for pixel 1 is `high`,
 * and the sum for pixel 0 is both - high * 2^16. Overflows do not matter, because everything is modulo 2^32.
 *
 * `together` channels are summed at the same time, as many as the core has registers for: one on Arm, two on other
 * cores. Weights are [out_c / together][taps][together] bytes. Taps are ordered [k_h][k_w][in_c], and filled up to
 * whole quads with x = 0; the weights that are read for these additional taps may have any value. For cores that cannot
 * load signed bytes, the weights are `biased`: 128 is added to each weight. A short sum of biased weights is too large
 * by 128 times the sum of its words x. This amount is known before the weights are read, so the short sum starts at
 * 2^15 minus this amount.
 *
 * `runs` has a sequence of bytes for every `together` channels. The low five bits of a byte are a number of quads that
 * are summed as one short sum each, the upper three bits are the number of following quads that are summed as two short
 * sums each.
 *
 * A block of 2 * AR_PAIRS neighboring pixels is computed at a time. If the last block of a row is not full, its other
 * pixels repeat the row's last pixel. `scratch` has, in this order, the words x: [4 * quads][AR_PAIRS]; the initial
 * values of the biased short sums of four taps: [quads][AR_PAIRS] words; in_c bytes of padding; and k_h pointers to
 * rows.
 */
#include "affine_requant.h"
#include "conv_2d_scalar.h"
#include "in_order.h"
#include "short_sums_s8.h"

#define TILE 32 /* channels that are summed before they are scaled; even */

#if defined(AR_HOST) || defined(AR_ANY_CORE)
#define BIASED(p) ((p)->biased)
#define TOGETHER(p) ((p)->together)
#elif defined(AR_NO_SIGNED_BYTES)
#define BIASED(p) 1
#define TOGETHER(p) AR_TOGETHER
#else
#define BIASED(p) 0
#define TOGETHER(p) AR_TOGETHER
#endif

#ifdef AR_CHANNELS_THUMB1
#include "all_channels_s8_thumb1.h"
#else

/* Computes the sums of channels k to k + together - 1 for the pixels of a block, without bias: sums[pixel][channel].
 * `x` are the packed windows; `w` and `runs` are the weights and runs of these channels. Returns the address of the
 * runs of the next channels. */
AR_INLINE const uint8_t *window_sums(int32_t sums[][TILE], int32_t k, const int biased, const int together,
                                     uint32_t quads, const uint32_t *x, const uint8_t *w, const uint8_t *runs)
{
    ar_cursor at = {x, x + 4 * AR_PAIRS * quads, w};
    uint32_t left = quads, middle = 0x8000u;
    ar_totals s;
    AR_IN_REGISTER(middle); /* because it is the third operand of a multiply-add */
#pragma GCC unroll 2
    for (int q = 0; q < AR_PAIRS; q++) {
        s.high[0][q] = s.high[1][q] = 0;
        s.both[0][q] = s.both[1][q] = 0u - (quads << 15); /* subtracts the initial 2^15 of a sum per quad */
    }
    while (left) {
        const uint32_t quads_at_once = *runs & 31u, halved = *runs >> 5;
        runs++;
        left -= quads_at_once + halved;
        ar_short_sums(&s, biased, together, 4, quads_at_once, &at, middle);
        if (halved == 0) {
            continue;
        }
#pragma GCC unroll 2
        for (int q = 0; q < AR_PAIRS; q++) {
            s.both[0][q] -= halved << 15; /* the initial 2^15 of the second sum of each quad */
            s.both[1][q] -= halved << 15;
        }
        ar_short_sums(&s, biased, together, 2, 2 * halved, &at, middle);
        at.start += biased ? AR_PAIRS * halved : 0; /* short sums of two taps do not read these values */
    }
    for (int c = 0; c < together; c++) {
#pragma GCC unroll 2
        for (int q = 0; q < AR_PAIRS; q++) {
            sums[2 * q][k + c] = (int32_t)(s.both[c][q] - (s.high[c][q] << 16));
            sums[2 * q + 1][k + c] = (int32_t)s.high[c][q];
        }
    }
    return runs;
}

/* Computes all channels of `pixels` neighboring pixels from their packed windows `x`, and writes them to `out`. */
static void all_channels(const ar_conv_2d_scalar_params *p, int32_t pixels, const uint32_t *x, int8_t *out)
{
    const uint32_t taps = (uint32_t)p->k_h * p->k_w * p->in_c;
    const uint32_t quads = (taps + 3) / 4;
    const uint8_t *w = p->weights;
    const uint8_t *runs = p->runs;
    int32_t sums[2 * AR_PAIRS][TILE];

    for (int32_t c = 0; c < p->out_c; c += TILE) {
        const int32_t channels = p->out_c - c < TILE ? p->out_c - c : TILE;
        for (int32_t k = 0; k < channels; k += TOGETHER(p), w += (uint32_t)TOGETHER(p) * taps) {
            runs = window_sums(sums, k, BIASED(p), TOGETHER(p), quads, x, w, runs);
        }
        for (int32_t n = 0; n < pixels; n++) {
            int8_t *o = out + n * p->out_c + c;
            ar_affine_channels_s8(&p->requant, sums[n], p->bias + c, p->multiplier + c, o, channels);
        }
    }
}

#endif

/* Returns the word x of two pixels. */
AR_INLINE uint32_t word_of(int8_t pixel0, int8_t pixel1)
{
    return ((uint32_t)pixel1 << 16) + (uint32_t)pixel0;
}

/* Packs `left` bytes of two pixels, at `a` and at `b`, into words, AR_PAIRS words after each other. Returns the address
 * for the next word. */
static __attribute__((noinline)) uint32_t *pack_run(const int8_t *a, const int8_t *b, int32_t left,
                                                    uint32_t *to)
{
    for (; left >= 4; left -= 4, a += 4, b += 4, to += 4 * AR_PAIRS) {
        to[0] = word_of(a[0], b[0]);
        to[AR_PAIRS] = word_of(a[1], b[1]);
        to[2 * AR_PAIRS] = word_of(a[2], b[2]);
        to[3 * AR_PAIRS] = word_of(a[3], b[3]);
    }
    for (; left; left--, a++, b++, to += AR_PAIRS) {
        *to = word_of(*a, *b);
    }
    return to;
}

/* Packs the windows of the output pixels x0 and x1 of a row into the words `x`, and computes the initial values of
 * their biased short sums. */
static __attribute__((noinline)) void pack(const ar_conv_2d_scalar_params *p, const int8_t *const *rows,
                                           int32_t x0, int32_t x1, const int8_t *padding, uint32_t *x)
{
    const uint32_t quads = ((uint32_t)p->k_h * p->k_w * p->in_c + 3) / 4;
    uint32_t *start = x + 4 * quads * AR_PAIRS;
    uint32_t *to = x;

    x0 = x0 * p->stride_w - p->pad_left;
    x1 = x1 * p->stride_w - p->pad_left;
    /* If no column of either window is padding, a row of the window is contiguous, so it is packed as one run. */
    const int32_t inside = p->dilation_w == 1 && x0 >= 0 && x1 + p->k_w <= p->in_w;
    for (int32_t ky = 0; ky < p->k_h; ky++) {
        const int8_t *row = rows[ky];
        const int32_t runs = row && inside ? 1 : p->k_w;
        const int32_t length = row && inside ? p->k_w * p->in_c : p->in_c;
        for (int32_t run = 0; run < runs; run++) {
            const int32_t xa = x0 + run * p->dilation_w, xb = x1 + run * p->dilation_w;
            const int8_t *a = row && (uint32_t)xa < p->in_w ? row + xa * p->in_c : padding;
            const int8_t *b = row && (uint32_t)xb < p->in_w ? row + xb * p->in_c : padding;
            to = pack_run(a, b, length, to);
        }
    }
    while (to < start) {
        *to = 0;
        to += AR_PAIRS;
    }
    for (uint32_t n = BIASED(p) ? quads : 0; n; n--, x += 4 * AR_PAIRS, start += AR_PAIRS) {
        *start = ar_start_of(x[0] + x[AR_PAIRS] + x[2 * AR_PAIRS] + x[3 * AR_PAIRS]);
    }
}

void ar_conv_2d_s8_scalar_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_scalar_params *p = params;
    const uint32_t quads = ((uint32_t)p->k_h * p->k_w * p->in_c + 3) / 4;
    uint32_t *x = p->scratch;
    int8_t *padding = (int8_t *)(x + 5 * AR_PAIRS * quads);

    for (int32_t i = 0; i < p->in_c; i++) {
        padding[i] = p->padding;
    }
    int8_t *o = out;
    for (int32_t at = 0; at < p->out_w; at += 2 * AR_PAIRS) {
        const int32_t pixels = p->out_w - at < 2 * AR_PAIRS ? p->out_w - at : 2 * AR_PAIRS;
        for (int n = 0; n < 2 * AR_PAIRS; n += 2) {
            const int32_t first = n < pixels ? n : pixels - 1;
            const int32_t second = n + 1 < pixels ? n + 1 : pixels - 1;
            pack(p, rows, at + first, at + second, padding, x + n / 2);
        }
        all_channels(p, pixels, x, o);
        o += 2 * AR_PAIRS * p->out_c;
    }
    ar_clamp_channels_s8(out, p->out_w * p->out_c, p->act_min, p->act_max);
}

void ar_conv_2d_s8_scalar(const ar_conv_2d_scalar_params *p)
{
    const uint32_t quads = ((uint32_t)p->k_h * p->k_w * p->in_c + 3) / 4;
    const int32_t row_bytes = p->in_w * p->in_c;
    const uint32_t words = 5 * AR_PAIRS * quads + (p->in_c + 3u) / 4;
    const int8_t **rows = (const int8_t **)(void *)((uint8_t *)p->scratch + AR_BEFORE_POINTERS(4 * words));
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            for (int32_t ky = 0; ky < p->k_h; ky++) {
                const int32_t at = y * p->stride_h - p->pad_top + ky * p->dilation_h;
                rows[ky] = (uint32_t)at < p->in_h ? image + at * row_bytes : 0;
            }
            ar_conv_2d_s8_scalar_row(p, rows, out);
            out += p->out_w * p->out_c;
        }
        image += p->in_h * row_bytes;
    }
}
