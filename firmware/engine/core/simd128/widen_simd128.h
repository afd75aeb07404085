/* Copies int8 elements as int16, for kernels that multiply pairs of int16, or with their highest bits changed, for
 * kernels that multiply bytes. */
#ifndef ARENITE_WIDEN_SIMD128_H
#define ARENITE_WIDEN_SIMD128_H

#include <stdint.h>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/* The number of elements that ar_widen may read and write after the last one, and that ar_flip may. */
enum { AR_WIDEN_SLACK = 7, AR_FLIP_SLACK = 15 };

/* Copies `count` elements. It may read, and overwrite, up to AR_WIDEN_SLACK elements after the last one. */
static inline void ar_widen(int16_t *to, const int8_t *from, int32_t count)
{
#if defined(__wasm_simd128__)
    for (int32_t i = 0; i < count; i += 8) {
        wasm_v128_store(to + i, wasm_i16x8_load8x8(from + i));
    }
#else
    for (int32_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
#endif
}

/* Copies `count` elements, each xor `mask`. It may read, and overwrite, up to AR_FLIP_SLACK elements after the last
 * one. */
static inline void ar_flip(int8_t *to, const int8_t *from, int32_t count, int8_t mask)
{
#if defined(__wasm_simd128__)
    const v128_t masks = wasm_i8x16_splat(mask);
    for (int32_t i = 0; i < count; i += 16) {
        wasm_v128_store(to + i, wasm_v128_xor(wasm_v128_load(from + i), masks));
    }
#else
    for (int32_t i = 0; i < count; i++) {
        to[i] = (int8_t)(from[i] ^ mask);
    }
#endif
}

/* Writes `value` to `count` elements. */
static inline void ar_fill_s16(int16_t *to, int16_t value, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        to[i] = value;
    }
}

#endif
