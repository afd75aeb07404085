/* AVERAGE_POOL_2D, int8, for WebAssembly's 128-bit SIMD: the mean of those pixels of the window that are inside the
 * image, rounded to nearest, ties away from zero, for eight channels at a time. */
#include "average_pool_2d_s8_simd128.h"

#include "fixed_point.h"

enum { LANES = 8 }; /* channels that are computed at a time */

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>

/* Adds `columns` pixels of each of `rows` rows, for the first `lanes` channels from `pixel` on. A sum of 255 pixels fits in int16. Reads up to 7 bytes after the last
 * channel, which are in the arena or its guard words. */
static void add_pixels(int16_t *sums, const int8_t *pixel, int32_t rows, int32_t columns, int32_t in_row,
                       int32_t channels, int32_t lanes)
{
    (void)lanes;
    v128_t sum = wasm_i16x8_const_splat(0);
    for (; rows > 0; rows--, pixel += in_row) {
        const int8_t *at = pixel;
        for (int32_t x = columns; x > 0; x--, at += channels) {
            sum = wasm_i16x8_add(sum, wasm_i16x8_load8x8(at));
        }
    }
    wasm_v128_store(sums, sum);
}

#else

static void add_pixels(int16_t *sums, const int8_t *pixel, int32_t rows, int32_t columns, int32_t in_row,
                       int32_t channels, int32_t lanes)
{
    for (int32_t c = 0; c < lanes; c++) {
        sums[c] = 0;
        for (int32_t y = 0; y < rows; y++) {
            for (int32_t x = 0; x < columns; x++) {
                sums[c] = (int16_t)(sums[c] + pixel[y * in_row + x * channels + c]);
            }
        }
    }
}

#endif

/* Computes one output pixel from the window `w`. */
static void average(const ar_pool_2d_params *p, const int8_t *image, const ar_pool_window *w, int8_t *out)
{
    const int32_t channels = p->channels, in_row = p->in_w * channels;
    const int32_t rows = w->y1 - w->y0, columns = w->x1 - w->x0, count = rows * columns;
    const int8_t *first = image + w->y0 * in_row + w->x0 * channels;
    for (int32_t c = 0; c < channels; c += LANES) {
        const int32_t lanes = channels - c < LANES ? channels - c : LANES;
        int16_t sums[LANES];
        add_pixels(sums, first + c, rows, columns, in_row, channels, lanes);
        for (int32_t i = 0; i < lanes; i++) {
            const int32_t half = count / 2, sum = sums[i];
            out[c + i] = (int8_t)ar_clamp((sum + (sum > 0 ? half : -half)) / count, p->act_min, p->act_max);
        }
    }
}

void ar_average_pool_2d_s8_simd128(const ar_pool_2d_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * p->in_w * p->channels) {
        for (int32_t y = 0; y < p->out_h; y++) {
            for (int32_t x = 0; x < p->out_w; x++, out += p->channels) {
                const ar_pool_window w = ar_pool_clip(p, y, x);
                average(p, image, &w, out);
            }
        }
    }
}
