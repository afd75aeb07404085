/* ADD and SUB, int8, for WebAssembly's 128-bit SIMD: the linear function of add_linear.h, sixteen elements at a time. */
#include "add_s8_simd128.h"

/* Returns the output for a pair of inputs. */
static inline int8_t add_one(const ar_add_linear_params *p, int8_t a, int8_t b)
{
    const int32_t y = (a * p->multiplier1 + b * p->multiplier2 + p->constant) >> p->shift;
    return (int8_t)(y < p->act_min ? p->act_min : y > p->act_max ? p->act_max : y);
}

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>

struct constants {
    v128_t multiplier1, multiplier2, constant;
    uint32_t shift;
};

/* Returns four outputs before the clamp. */
static inline v128_t add_four(const struct constants *k, v128_t a, v128_t b)
{
    const v128_t products =
        wasm_i32x4_add(wasm_i32x4_mul(a, k->multiplier1), wasm_i32x4_mul(b, k->multiplier2));
    return wasm_i32x4_shr(wasm_i32x4_add(products, k->constant), k->shift);
}

/* Returns eight outputs before the clamp. */
static inline v128_t add_eight(const struct constants *k, v128_t a, v128_t b)
{
    const v128_t low = add_four(k, wasm_i32x4_extend_low_i16x8(a), wasm_i32x4_extend_low_i16x8(b));
    return wasm_i16x8_narrow_i32x4(
        low, add_four(k, wasm_i32x4_extend_high_i16x8(a), wasm_i32x4_extend_high_i16x8(b)));
}

/* Computes the outputs of all complete vectors, and returns their number. */
static uint32_t add_vectors(const ar_add_linear_params *p, const int8_t *a, const int8_t *b, int8_t *out)
{
    const struct constants k = {wasm_i32x4_splat(p->multiplier1), wasm_i32x4_splat(p->multiplier2),
                                wasm_i32x4_splat(p->constant), p->shift};
    const v128_t least = wasm_i8x16_splat(p->act_min), most = wasm_i8x16_splat(p->act_max);
    uint32_t i = 0;
    for (; i + 16 <= p->count; i += 16) {
        const v128_t x = wasm_v128_load(a + i), y = wasm_v128_load(b + i);
        const v128_t low = add_eight(&k, wasm_i16x8_extend_low_i8x16(x), wasm_i16x8_extend_low_i8x16(y));
        const v128_t high = add_eight(&k, wasm_i16x8_extend_high_i8x16(x), wasm_i16x8_extend_high_i8x16(y));
        const v128_t sum = wasm_i8x16_narrow_i16x8(low, high);
        wasm_v128_store(out + i, wasm_i8x16_min(wasm_i8x16_max(sum, least), most));
    }
    return i;
}

#else

static uint32_t add_vectors(const ar_add_linear_params *p, const int8_t *a, const int8_t *b, int8_t *out)
{
    (void)p, (void)a, (void)b, (void)out;
    return 0;
}

#endif

void ar_add_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_add_linear_params *p = params;
    for (uint32_t i = add_vectors(p, rows[0], rows[1], out); i < p->count; i++) {
        out[i] = add_one(p, rows[0][i], rows[1][i]);
    }
}

void ar_add_s8_simd128(const ar_add_linear_params *p)
{
    const int8_t *const rows[2] = {p->input1, p->input2};
    ar_add_s8_simd128_row(p, rows, p->output);
}
