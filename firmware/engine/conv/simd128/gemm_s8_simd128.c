/* Multiplies windows with filters: eight channels and four pixels at a time. The layouts are in gemm_s8_simd128.h. */
#include "gemm_s8_simd128.h"

#if defined(__wasm_simd128__)

/* Adds the products of a quad of inputs `x` and the weights w0 and w1 to the sums of a pixel: `first` has the sums of
 * the first two channels, `second` those of the next two. Each channel has two sums. */
#define ADD_PRODUCTS(first, second, x)                          \
    first = wasm_i32x4_add(first, wasm_i32x4_dot_i16x8(x, w0)); \
    second = wasm_i32x4_add(second, wasm_i32x4_dot_i16x8(x, w1))

/* Returns the sums of four channels, which each have two sums in `first` or `second`. */
__attribute__((always_inline)) static inline v128_t add_halves(v128_t first, v128_t second, v128_t bias)
{
    const v128_t even = wasm_i32x4_shuffle(first, second, 0, 2, 4, 6);
    return wasm_i32x4_add(wasm_i32x4_add(even, bias), wasm_i32x4_shuffle(first, second, 1, 3, 5, 7));
}

/* Writes the outputs of eight channels of up to four pixels. `first` has the sums of the first four channels of each
 * pixel, `second` those of the others. `form` is a constant at each call. */
__attribute__((always_inline)) static inline void store_in_form(const ar_gemm_s8_simd128_params *p,
                                                                uint32_t c, const v128_t *first,
                                                                const v128_t *second, uint32_t pixels,
                                                                int8_t *out, ar_wide_form form)
{
    const struct ar_wide_lanes lanes = ar_wide_load(&p->requant, c, form);
    const uint32_t count = p->out_c - c;
    int8_t *to = out + c;
    ar_store_low_bytes(to, ar_wide_eight(&lanes, first[0], second[0], form), count);
    if (pixels > 1) {
        to += p->out_c;
        ar_store_low_bytes(to, ar_wide_eight(&lanes, first[1], second[1], form), count);
    }
    if (pixels > 2) {
        to += p->out_c;
        ar_store_low_bytes(to, ar_wide_eight(&lanes, first[2], second[2], form), count);
    }
    if (pixels > 3) {
        to += p->out_c;
        ar_store_low_bytes(to, ar_wide_eight(&lanes, first[3], second[3], form), count);
    }
}

/* See store_in_form. */
__attribute__((always_inline)) static inline void store_pixels(const ar_gemm_s8_simd128_params *p, uint32_t c,
                                                               const v128_t *first, const v128_t *second,
                                                               uint32_t pixels, int8_t *out)
{
    AR_WIDE_WITH_FORM(&p->requant, c, store_in_form(p, c, first, second, pixels, out, form));
}

/* Computes the outputs of 2 to 4 pixels. The sums of the pixels are a, b, c and d. */
static void four_pixels(const ar_gemm_s8_simd128_params *p, const ar_windows_s16 *windows, uint32_t at,
                        uint32_t pixels, int8_t *out)
{
    /* Pixels after the last one are computed from the window of the last one. */
    const uint32_t step1 = windows->step, step2 = pixels > 2 ? 2 * step1 : step1;
    const uint32_t step3 = pixels > 3 ? 3 * step1 : step2;
    const uint32_t group_bytes = 32 * p->segments * p->quads;
    const int8_t *group = p->weights;
    for (uint32_t c = 0; c < p->out_c; c += 8, group += group_bytes) {
        v128_t sums[2][4];
        for (uint32_t half = 0; half < 2; half++) {
            const v128_t zero = wasm_i32x4_const_splat(0);
            v128_t a0 = zero, a1 = zero, b0 = zero, b1 = zero;
            v128_t c0 = zero, c1 = zero, d0 = zero, d1 = zero;
            const int8_t *w = group + 16 * half;
            for (uint32_t s = 0; s < p->segments; s++) {
                const int16_t *x = windows->segment[s] + at;
                for (uint32_t k = p->quads; k != 0; k--, w += 32, x += 4) {
                    const v128_t w0 = wasm_i16x8_load8x8(w), w1 = wasm_i16x8_load8x8(w + 8);
                    v128_t quad = wasm_v128_load64_splat(x);
                    ADD_PRODUCTS(a0, a1, quad);
                    quad = wasm_v128_load64_splat(x + step1);
                    ADD_PRODUCTS(b0, b1, quad);
                    quad = wasm_v128_load64_splat(x + step2);
                    ADD_PRODUCTS(c0, c1, quad);
                    quad = wasm_v128_load64_splat(x + step3);
                    ADD_PRODUCTS(d0, d1, quad);
                }
            }
            const v128_t bias = wasm_v128_load(p->requant.bias + c + 4 * half);
            sums[half][0] = add_halves(a0, a1, bias);
            sums[half][1] = add_halves(b0, b1, bias);
            sums[half][2] = add_halves(c0, c1, bias);
            sums[half][3] = add_halves(d0, d1, bias);
        }
        store_pixels(p, c, sums[0], sums[1], pixels, out);
    }
}

/* Computes the outputs of one pixel, see four_pixels. */
static void one_pixel(const ar_gemm_s8_simd128_params *p, const ar_windows_s16 *windows, uint32_t at,
                      int8_t *out)
{
    const int8_t *w = p->weights;
    for (uint32_t c = 0; c < p->out_c; c += 8) {
        const v128_t zero = wasm_i32x4_const_splat(0);
        v128_t a0 = zero, a1 = zero, b0 = zero, b1 = zero; /* a: the first four channels, b: the others */
        for (uint32_t s = 0; s < p->segments; s++) {
            const int16_t *x = windows->segment[s] + at;
            for (uint32_t k = p->quads; k != 0; k--, w += 32, x += 4) {
                const v128_t quad = wasm_v128_load64_splat(x);
                v128_t w0 = wasm_i16x8_load8x8(w), w1 = wasm_i16x8_load8x8(w + 8);
                ADD_PRODUCTS(a0, a1, quad);
                w0 = wasm_i16x8_load8x8(w + 16);
                w1 = wasm_i16x8_load8x8(w + 24);
                ADD_PRODUCTS(b0, b1, quad);
            }
        }
        const v128_t low = add_halves(a0, a1, wasm_v128_load(p->requant.bias + c));
        const v128_t high = add_halves(b0, b1, wasm_v128_load(p->requant.bias + c + 4));
        store_pixels(p, c, &low, &high, 1, out);
    }
}

void ar_gemm_s8_simd128(const ar_gemm_s8_simd128_params *p, const ar_windows_s16 *windows, uint32_t at,
                        uint32_t pixels, int8_t *out)
{
    if (pixels == 1) {
        one_pixel(p, windows, at, out);
    } else {
        four_pixels(p, windows, at, pixels, out);
    }
}

#if defined(__wasm_relaxed_simd__)

/* Returns the first values of the sums of four channels from channel c on. */
__attribute__((always_inline)) static inline v128_t first_sums(const ar_gemm_s8_simd128_params *p, uint32_t c,
                                                               int is_unsigned)
{
    const v128_t bias = wasm_v128_load(p->requant.bias + c);
    return is_unsigned ? wasm_i32x4_sub(bias, wasm_v128_load(p->excess + c)) : bias;
}

/* See four_pixels. */
static void four_pixels_of_bytes(const ar_gemm_s8_simd128_params *p, const ar_windows_s8 *windows,
                                 uint32_t at, uint32_t pixels, int is_unsigned, int8_t *out)
{
    const uint32_t step1 = windows->step, step2 = pixels > 2 ? 2 * step1 : step1;
    const uint32_t step3 = pixels > 3 ? 3 * step1 : step2;
    const int8_t *w = p->weights;
    for (uint32_t c = 0; c < p->out_c; c += 8) {
        const v128_t bias0 = first_sums(p, c, is_unsigned), bias1 = first_sums(p, c + 4, is_unsigned);
        v128_t a0 = bias0, a1 = bias1, b0 = bias0, b1 = bias1;
        v128_t c0 = bias0, c1 = bias1, d0 = bias0, d1 = bias1;
        for (uint32_t s = 0; s < p->segments; s++) {
            const int8_t *x = windows->segment[s] + at;
            for (uint32_t k = p->quads; k != 0; k--, w += 32, x += 4) {
                const v128_t w0 = wasm_v128_load(w), w1 = wasm_v128_load(w + 16);
                v128_t quad = wasm_v128_load32_splat(x);
                a0 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w0, quad, a0);
                a1 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w1, quad, a1);
                quad = wasm_v128_load32_splat(x + step1);
                b0 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w0, quad, b0);
                b1 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w1, quad, b1);
                quad = wasm_v128_load32_splat(x + step2);
                c0 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w0, quad, c0);
                c1 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w1, quad, c1);
                quad = wasm_v128_load32_splat(x + step3);
                d0 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w0, quad, d0);
                d1 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w1, quad, d1);
            }
        }
        const v128_t first[4] = {a0, b0, c0, d0}, second[4] = {a1, b1, c1, d1};
        store_pixels(p, c, first, second, pixels, out);
    }
}

/* See one_pixel. */
static void one_pixel_of_bytes(const ar_gemm_s8_simd128_params *p, const ar_windows_s8 *windows, uint32_t at,
                               int is_unsigned, int8_t *out)
{
    const int8_t *w = p->weights;
    for (uint32_t c = 0; c < p->out_c; c += 8) {
        v128_t a0 = first_sums(p, c, is_unsigned), a1 = first_sums(p, c + 4, is_unsigned);
        for (uint32_t s = 0; s < p->segments; s++) {
            const int8_t *x = windows->segment[s] + at;
            for (uint32_t k = p->quads; k != 0; k--, w += 32, x += 4) {
                const v128_t quad = wasm_v128_load32_splat(x);
                a0 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load(w), quad, a0);
                a1 = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load(w + 16), quad, a1);
            }
        }
        store_pixels(p, c, &a0, &a1, 1, out);
    }
}

void ar_gemm_s8_relaxed(const ar_gemm_s8_simd128_params *p, const ar_windows_s8 *windows, uint32_t at,
                        uint32_t pixels, int is_unsigned, int8_t *out)
{
    if (pixels == 1) {
        one_pixel_of_bytes(p, windows, at, is_unsigned, out);
    } else {
        four_pixels_of_bytes(p, windows, at, pixels, is_unsigned, out);
    }
}

#endif

#else

void ar_gemm_s8_simd128(const ar_gemm_s8_simd128_params *p, const ar_windows_s16 *windows, uint32_t at,
                        uint32_t pixels, int8_t *out)
{
    for (uint32_t pixel = 0; pixel < pixels; pixel++, at += windows->step) {
        for (uint32_t c = 0; c < p->out_c; c++) {
            const int8_t *w = p->weights + c / 8 * p->segments * p->quads * 32 + c % 8 * 4;
            uint32_t acc = (uint32_t)p->requant.bias[c];
            for (uint32_t s = 0; s < p->segments; s++, w += 32 * p->quads) {
                const int16_t *x = windows->segment[s] + at;
                for (uint32_t k = 0; k < 4 * p->quads; k++) {
                    const int32_t weight = w[k / 4 * 32 + k % 4];
                    if (weight) { /* the elements after a segment may be undefined; their weights are 0 */
                        acc += (uint32_t)(x[k] * weight);
                    }
                }
            }
            *out++ = ar_wide_requant(&p->requant, c, (int32_t)acc);
        }
    }
}

#endif
