/* DEPTHWISE_CONV_2D, int8, one output channel for each input channel.
 *
 * Input rows are copied into buffers, called lines, together with their padding, so that no sum has to check where the
 * image ends. A line is [columns][channels] bytes. 128 is added to each byte, so that loads need no sign extension; to
 * correct this, 128 times the sum of the weights is subtracted from the bias. Weights are [channels][k_h][k_w],
 * signed. BLOCK neighboring outputs are summed at the same time, so that each weight is loaded once for all these
 * outputs. If the window is 3x3, each input, too, is loaded only once for these outputs.
 *
 * The scratch memory has a line for each input row that a window spans, then k_h pointers to lines. A line has enough
 * columns for at least BLOCK outputs.
 */
#include "affine_requant.h"
#include "conv_2d_scalar.h"
#include "in_order.h"

#define BLOCK 3
#define TILE 32 /* channels that are summed before they are scaled */

#define INLINE static inline __attribute__((always_inline))

typedef uint32_t __attribute__((__may_alias__)) word;

/* Returns the size of a line in bytes: all columns that the outputs of a row need, rounded up to words. */
static uint32_t line_bytes(const ar_conv_2d_scalar_params *p)
{
    const uint32_t outputs = p->out_w < BLOCK ? BLOCK : p->out_w;
    const uint32_t columns = (outputs - 1) * p->stride_w + (p->k_w - 1u) * p->dilation_w + 1;
    return (columns * p->in_c + 3) & ~3u;
}

/* Fills a line of `bytes` bytes from an input row; `row` is 0 for a row outside the image. */
static void fill_line(const ar_conv_2d_scalar_params *p, const int8_t *row, uint8_t *line, uint32_t bytes)
{
    const uint8_t *end = line + bytes;
    const uint8_t padding = (uint8_t)(p->padding ^ 0x80);
    const uint8_t *from = (const uint8_t *)row;

    if (row) {
        for (uint32_t n = (uint32_t)p->pad_left * p->in_c; n; n--) {
            *line++ = padding;
        }
        uint32_t left = (uint32_t)p->in_w * p->in_c;
        left = left < (uint32_t)(end - line) ? left : (uint32_t)(end - line);
        if ((((uintptr_t)from | (uintptr_t)line) & 3u) == 0) {
            for (; left >= 4; left -= 4, line += 4, from += 4) {
                *(word *)(void *)line = *(const word *)(const void *)from ^ 0x80808080u;
            }
        }
        for (; left; left--) {
            *line++ = *from++ ^ 0x80u;
        }
    }
    while (line < end) {
        *line++ = padding;
    }
}

/* With -Os GCC inlines less, so it gets plain C. */
#if defined(__arm__) && defined(AR_NO_SIGNED_BYTES) && !defined(AR_ANY_CORE) && !defined(__OPTIMIZE_SIZE__)
#define AR_DEPTHWISE_THUMB1
#include "depthwise_3x3_s8_thumb1.h"
#else

/* Adds to `sum` the products of one row of BLOCK neighboring 3x3 windows for one channel. `w` has the weights of
 * the row; `x` is the input in the first column, and each following column is `next` bytes later. */
INLINE void add_row_of_3(const int stride, const uint8_t *x, uint32_t next, const int8_t *w,
                         int32_t sum[BLOCK])
{
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2];
#pragma GCC unroll 8
    for (int column = 0; column < (BLOCK - 1) * stride + 3; column++, x += next) {
        const int32_t value = *x;
#pragma GCC unroll 4
        for (int n = 0; n < BLOCK; n++) {
            const int tap = column - n * stride;
            if (tap >= 0 && tap < 3) {
                sum[n] += value * (tap == 0 ? w0 : tap == 1 ? w1 : w2);
            }
        }
    }
    AR_IN_ORDER(sum[0], sum[1]);
}

/* Writes to `sums` the sums of products of `channels` neighboring channels for BLOCK neighboring 3x3 windows at
 * stride 1. `at` is the offset in each line of the first input, and `next` the distance between columns in bytes. */
INLINE void sums_3x3_s1(const uint8_t *const *lines, uint32_t at, uint32_t next, const int8_t *w,
                        uint32_t channels, int32_t sums[BLOCK][TILE])
{
    const uint8_t *x0 = lines[0] + at, *x1 = lines[1] + at, *x2 = lines[2] + at;
    int32_t *to = sums[0];

    for (const uint8_t *end = x0 + channels; x0 != end; x0++, x1++, x2++, w += 9, to++) {
        int32_t sum[BLOCK] = {0};
        add_row_of_3(1, x0, next, w, sum);
        add_row_of_3(1, x1, next, w + 3, sum);
        add_row_of_3(1, x2, next, w + 6, sum);
#pragma GCC unroll 4
        for (int n = 0; n < BLOCK; n++) {
            to[n * TILE] = sum[n];
        }
    }
}

/* Does the same as sums_3x3_s1 for stride 2, with less code, because such layers are rare. */
INLINE void sums_3x3_s2(const uint8_t *const *lines, uint32_t at, uint32_t next, const int8_t *w,
                        uint32_t channels, int32_t sums[BLOCK][TILE])
{
    int32_t *to = sums[0];

    for (const uint32_t end = at + channels; at != end; at++, to++) {
        int32_t sum[BLOCK] = {0};
#pragma GCC unroll 1
        for (const uint8_t *const *line = lines; line != lines + 3; line++, w += 3) {
            add_row_of_3(2, *line + at, next, w, sum);
        }
#pragma GCC unroll 4
        for (int n = 0; n < BLOCK; n++) {
            to[n * TILE] = sum[n];
        }
    }
}

#endif

/* Does the same as sums_3x3_s1 for any window and stride. The windows of neighboring outputs begin `step` bytes
 * apart. */
static void sums_any(const ar_conv_2d_scalar_params *p, const uint8_t *const *lines, uint32_t at,
                     uint32_t next, uint32_t step, const int8_t *w, uint32_t channels,
                     int32_t sums[BLOCK][TILE])
{
    for (uint32_t c = 0; c < channels; c++) {
        int32_t s0 = 0, s1 = 0, s2 = 0;
        for (int32_t ky = 0; ky < p->k_h; ky++) {
            const uint8_t *x = lines[ky] + at + c;
            for (int32_t kx = p->k_w; kx; kx--, x += next) {
                const int32_t weight = *w++;
                s0 += weight * x[0];
                s1 += weight * x[step];
                s2 += weight * x[2 * step];
            }
        }
        sums[0][c] = s0;
        sums[1][c] = s1;
        sums[2][c] = s2;
    }
}

/* Computes an output row from its lines. */
static void compute_row(const ar_conv_2d_scalar_params *p, const uint8_t *const *lines, int8_t *out)
{
    const uint32_t taps = (uint32_t)p->k_h * p->k_w;
    const uint32_t step = (uint32_t)p->stride_w * p->in_c;
    const uint32_t next = (uint32_t)p->dilation_w * p->in_c;
    const int square = p->k_h == 3 && p->k_w == 3 && p->dilation_w == 1;
    const int32_t out_w = p->out_w;

#ifdef AR_DEPTHWISE_THUMB1
    if (square && p->stride_w <= 2) {
        ar_compute_row_3x3(p, lines, out);
        ar_clamp_channels_s8(out, out_w * p->out_c, p->act_min, p->act_max);
        return;
    }
#endif
    for (int32_t x = 0; x < out_w; x += BLOCK) {
        /* The last block may begin earlier and compute some sums again. */
        const int32_t first = x > out_w - BLOCK && out_w >= BLOCK ? out_w - BLOCK : x;
        const int8_t *w = (const int8_t *)p->weights;
        for (uint32_t c = 0; c < p->out_c; c += TILE, w += taps * TILE) {
            const uint32_t channels = p->out_c - c < TILE ? p->out_c - c : TILE;
            const uint32_t at = (uint32_t)first * step + c;
            int32_t sums[BLOCK][TILE];
#ifndef AR_DEPTHWISE_THUMB1
            if (square && p->stride_w == 1) {
                sums_3x3_s1(lines, at, next, w, channels, sums);
            } else if (square && p->stride_w == 2) {
                sums_3x3_s2(lines, at, next, w, channels, sums);
            } else
#endif
            {
                sums_any(p, lines, at, next, step, w, channels, sums);
            }
            for (int32_t n = x; n < x + BLOCK && n < out_w; n++) {
                int8_t *o = out + n * p->out_c + c;
                ar_affine_channels_s8(&p->requant, sums[n - first], p->bias + c, p->multiplier + c, o,
                                      (int32_t)channels);
            }
        }
    }
    ar_clamp_channels_s8(out, out_w * p->out_c, p->act_min, p->act_max);
}

void ar_depthwise_conv_2d_s8_scalar_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_conv_2d_scalar_params *p = params;
    const uint32_t bytes = line_bytes(p);
    uint8_t *line = p->scratch;
    const uint8_t **lines = (const uint8_t **)(void *)(line + AR_BEFORE_POINTERS(p->k_h * bytes));

    for (int32_t ky = 0; ky < p->k_h; ky++, line += bytes) {
        fill_line(p, rows[ky], line, bytes);
        lines[ky] = line;
    }
    compute_row(p, lines, out);
}

void ar_depthwise_conv_2d_s8_scalar(const ar_conv_2d_scalar_params *p)
{
    /* The lines are a ring buffer of `ring` lines, so that each input row is copied once. */
    const int32_t ring = (p->k_h - 1) * p->dilation_h + 1;
    const uint32_t bytes = line_bytes(p);
    uint8_t *first = p->scratch;
    const uint8_t **lines = (const uint8_t **)(void *)(first + AR_BEFORE_POINTERS((uint32_t)ring * bytes));
    const int8_t *image = p->input;
    const int32_t row_bytes = p->in_w * p->in_c;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * row_bytes) {
        int32_t ready = 0; /* number of rows copied so far, including those above the image */
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->out_c) {
            const int32_t top = y * p->stride_h;
            for (ready = ready < top ? top : ready; ready < top + ring; ready++) {
                const int32_t at = ready - p->pad_top;
                fill_line(p, (uint32_t)at < p->in_h ? image + at * row_bytes : 0,
                          first + (uint32_t)(ready % ring) * bytes, bytes);
            }
            for (int32_t ky = 0; ky < p->k_h; ky++) {
                lines[ky] = first + (uint32_t)((top + ky * p->dilation_h) % ring) * bytes;
            }
            compute_row(p, lines, out);
        }
    }
}
