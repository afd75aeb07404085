/* Multiplies patches with filters: eight channels and four pixels at a time. The layouts are in gemm_s8_simd128.h. */
#include "gemm_s8_simd128.h"

#if defined(__wasm_simd128__)

/* Adds the products of a pair of inputs `x` and the weights w0 and w1 to the sums of a pixel: `first` has the sums of
 * the first four channels of a group, `second` those of the last four. */
#define ADD_PRODUCTS(first, second, x)                          \
    first = wasm_i32x4_add(first, wasm_i32x4_dot_i16x8(x, w0)); \
    second = wasm_i32x4_add(second, wasm_i32x4_dot_i16x8(x, w1))

/* Computes the outputs of 2 to 4 pixels. The sums of the pixels are a, b, c and d. `two_sided` is 1 if
 * p->requant.negative is not 0; it is a constant at each call, so that the compiler can leave out code. */
__attribute__((always_inline)) static inline void four_pixels(const ar_gemm_s8_simd128_params *p,
                                                              const int16_t *patches, uint32_t pixels,
                                                              int8_t *out, int two_sided)
{
    const uint32_t length = 2 * p->pairs;
    const int8_t *w = p->weights;
    for (uint32_t c = 0; c < p->out_c; c += 8) {
        const v128_t bias0 = wasm_v128_load(p->requant.bias + c);
        const v128_t bias1 = wasm_v128_load(p->requant.bias + c + 4);
        v128_t a0 = bias0, a1 = bias1, b0 = bias0, b1 = bias1;
        v128_t c0 = bias0, c1 = bias1, d0 = bias0, d1 = bias1;
        const int16_t *x = patches;
        for (uint32_t k = p->pairs; k != 0; k--, w += 16, x += 2) {
            const v128_t w0 = wasm_i16x8_load8x8(w), w1 = wasm_i16x8_load8x8(w + 8);
            v128_t pair = wasm_v128_load32_splat(x);
            ADD_PRODUCTS(a0, a1, pair);
            pair = wasm_v128_load32_splat(x + length);
            ADD_PRODUCTS(b0, b1, pair);
            pair = wasm_v128_load32_splat(x + 2 * length);
            ADD_PRODUCTS(c0, c1, pair);
            pair = wasm_v128_load32_splat(x + 3 * length);
            ADD_PRODUCTS(d0, d1, pair);
        }
        const struct ar_wide_lanes lanes = ar_wide_load(&p->requant, c, two_sided);
        const uint32_t count = p->out_c - c;
        int8_t *to = out + c;
        ar_store_low_bytes(to, ar_wide_eight(&lanes, a0, a1, two_sided), count);
        if (pixels > 1) {
            to += p->out_c;
            ar_store_low_bytes(to, ar_wide_eight(&lanes, b0, b1, two_sided), count);
        }
        if (pixels > 2) {
            to += p->out_c;
            ar_store_low_bytes(to, ar_wide_eight(&lanes, c0, c1, two_sided), count);
        }
        if (pixels > 3) {
            to += p->out_c;
            ar_store_low_bytes(to, ar_wide_eight(&lanes, d0, d1, two_sided), count);
        }
    }
}

/* Computes the outputs of one pixel, see four_pixels. */
__attribute__((always_inline)) static inline void one_pixel(const ar_gemm_s8_simd128_params *p,
                                                            const int16_t *patch, int8_t *out, int two_sided)
{
    const int8_t *w = p->weights;
    for (uint32_t c = 0; c < p->out_c; c += 8) {
        v128_t a0 = wasm_v128_load(p->requant.bias + c), a1 = wasm_v128_load(p->requant.bias + c + 4);
        const int16_t *x = patch;
        for (uint32_t k = p->pairs; k != 0; k--, w += 16, x += 2) {
            const v128_t w0 = wasm_i16x8_load8x8(w), w1 = wasm_i16x8_load8x8(w + 8);
            const v128_t pair = wasm_v128_load32_splat(x);
            ADD_PRODUCTS(a0, a1, pair);
        }
        const struct ar_wide_lanes lanes = ar_wide_load(&p->requant, c, two_sided);
        ar_store_low_bytes(out + c, ar_wide_eight(&lanes, a0, a1, two_sided), p->out_c - c);
    }
}

void ar_gemm_s8_simd128(const ar_gemm_s8_simd128_params *p, const int16_t *patches, uint32_t pixels,
                        int8_t *out)
{
    if (pixels == 1) {
        if (p->requant.negative) {
            one_pixel(p, patches, out, 1);
        } else {
            one_pixel(p, patches, out, 0);
        }
    } else if (p->requant.negative) {
        four_pixels(p, patches, pixels, out, 1);
    } else {
        four_pixels(p, patches, pixels, out, 0);
    }
}

#else

void ar_gemm_s8_simd128(const ar_gemm_s8_simd128_params *p, const int16_t *patches, uint32_t pixels,
                        int8_t *out)
{
    for (uint32_t pixel = 0; pixel < pixels; pixel++, patches += 2 * p->pairs) {
        for (uint32_t c = 0; c < p->out_c; c++) {
            const int8_t *w = p->weights + c / 8 * p->pairs * 16 + c % 8 * 2;
            uint32_t acc = (uint32_t)p->requant.bias[c];
            for (uint32_t k = 0; k < p->pairs; k++, w += 16) {
                /* The second element of the last pair may be undefined; its weight is 0. */
                acc += (uint32_t)(patches[2 * k] * w[0]);
                if (w[1]) {
                    acc += (uint32_t)(patches[2 * k + 1] * w[1]);
                }
            }
            *out++ = ar_wide_requant(&p->requant, c, (int32_t)acc);
        }
    }
}

#endif
