/* MAX_POOL_2D, int8, for WebAssembly's 128-bit SIMD: sixteen channels at a time. */
#include "max_pool_2d_s8_simd128.h"

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>

/* Writes the largest values of columns [x0, x1) of all rows. Reads up to 15 bytes after the last channel, which are in
 * the arena or its guard words. */
static void window_maxima(const ar_pool_2d_params *p, const int8_t *const *rows, int32_t x0, int32_t x1,
                          int8_t *out)
{
    const int32_t channels = p->channels;
    const v128_t low = wasm_i8x16_splat((int8_t)p->act_min), high = wasm_i8x16_splat((int8_t)p->act_max);
    for (int32_t c = 0; c < channels; c += 16) {
        v128_t largest = low;
        for (int32_t k = 0; k < p->k_h; k++) {
            if (rows[k]) {
                const int8_t *in = rows[k] + x0 * channels + c;
                for (int32_t x = x0; x < x1; x++, in += channels) {
                    largest = wasm_i8x16_max(largest, wasm_v128_load(in));
                }
            }
        }
        largest = wasm_i8x16_min(largest, high);
        if (channels - c >= 16) {
            wasm_v128_store(out + c, largest);
        } else {
            int8_t lanes[16];
            wasm_v128_store(lanes, largest);
            for (int32_t k = 0; k < channels - c; k++) {
                out[c + k] = lanes[k];
            }
        }
    }
}

#else

static void window_maxima(const ar_pool_2d_params *p, const int8_t *const *rows, int32_t x0, int32_t x1,
                          int8_t *out)
{
    for (int32_t c = 0; c < p->channels; c++) {
        int32_t largest = p->act_min;
        for (int32_t k = 0; k < p->k_h; k++) {
            for (int32_t x = x0; rows[k] && x < x1; x++) {
                const int32_t value = rows[k][x * p->channels + c];
                largest = value > largest ? value : largest;
            }
        }
        out[c] = (int8_t)(largest > p->act_max ? p->act_max : largest);
    }
}

#endif

void ar_max_pool_2d_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_pool_2d_params *p = params;
    for (int32_t x = 0; x < p->out_w; x++, out += p->channels) {
        const ar_pool_window w = ar_pool_clip(p, 0, x);
        window_maxima(p, rows, w.x0, w.x1, out);
    }
}

void ar_max_pool_2d_s8_simd128(const ar_pool_2d_params *p)
{
    const int32_t in_row = p->in_w * p->channels;
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * in_row) {
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->channels) {
            const int8_t *rows[AR_MAX_POOL_SIMD128_ROWS];
            int32_t at = y * p->stride_h - p->pad_top;
            for (int32_t k = 0; k < p->k_h; k++, at++) {
                rows[k] = at < 0 || at >= p->in_h ? 0 : image + at * in_row;
            }
            ar_max_pool_2d_s8_simd128_row(p, rows, out);
        }
    }
}
