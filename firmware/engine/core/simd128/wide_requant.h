/* Requantizes an accumulator to an int8 output with one product of 64 bits.
 *
 * out = clamp((acc * multiplier + offset + (acc < 0 ? negative : 0)) >> (32 + shift)). Multiplier, offset and negative
 * belong to a channel, shift to the layer. The generator uses this formula only if it has proven that the result is
 * LiteRT's for every accumulator that can occur; see wide_affine.py in firmware/generator/requant.
 */
#ifndef ARENITE_WIDE_REQUANT_H
#define ARENITE_WIDE_REQUANT_H

#include <stdint.h>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/* Arrays have one element per channel, rounded up to a multiple of 8 channels. */
typedef struct {
    const int32_t *bias;       /* the accumulators' first values, with the input's zero point folded in */
    const int32_t *multiplier; /* not negative */
    const int64_t *offset;
    const int64_t *negative; /* 0 if the result does not depend on the accumulator's sign */
    uint8_t shift;           /* up to 22 */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_wide;

/* Returns the output of channel `c` for the accumulator `acc`, which includes the bias. */
static inline int8_t ar_wide_requant(const ar_wide *w, uint32_t c, int32_t acc)
{
    int64_t sum = (int64_t)acc * w->multiplier[c] + w->offset[c];
    if (w->negative && acc < 0) {
        sum += w->negative[c];
    }
    const int32_t y = (int32_t)(sum >> 32) >> w->shift;
    return (int8_t)(y < w->act_min ? w->act_min : y > w->act_max ? w->act_max : y);
}

#if defined(__wasm_simd128__)

/* The constants of eight neighboring channels. */
struct ar_wide_lanes {
    v128_t multiplier[2];
    v128_t offset[4];
    v128_t negative[4];
    uint32_t shift;
    v128_t low, high;
};

/* Loads the constants of channels c to c + 7. In this and the next functions `two_sided` is 1 if w->negative is used;
 * it is a constant at each call, so that the compiler can leave out code. */
__attribute__((always_inline)) static inline struct ar_wide_lanes ar_wide_load(const ar_wide *w, uint32_t c,
                                                                               int two_sided)
{
    struct ar_wide_lanes l;
    l.multiplier[0] = wasm_v128_load(w->multiplier + c);
    l.multiplier[1] = wasm_v128_load(w->multiplier + c + 4);
    for (uint32_t k = 0; k < 4; k++) {
        l.offset[k] = wasm_v128_load(w->offset + c + 2 * k);
        l.negative[k] = two_sided ? wasm_v128_load(w->negative + c + 2 * k) : wasm_i32x4_const_splat(0);
    }
    l.shift = w->shift;
    l.low = wasm_i16x8_splat(w->act_min);
    l.high = wasm_i16x8_splat(w->act_max);
    return l;
}

/* Returns four outputs before the clamp; `half` is 0 for the first four channels, 1 for the others. */
__attribute__((always_inline)) static inline v128_t ar_wide_four(const struct ar_wide_lanes *l, v128_t acc,
                                                                 int half, int two_sided)
{
    v128_t low = wasm_i64x2_extmul_low_i32x4(acc, l->multiplier[half]);
    v128_t high = wasm_i64x2_extmul_high_i32x4(acc, l->multiplier[half]);
    low = wasm_i64x2_add(low, l->offset[2 * half]);
    high = wasm_i64x2_add(high, l->offset[2 * half + 1]);
    if (two_sided) {
        const v128_t sign = wasm_i32x4_shr(acc, 31);
        low = wasm_i64x2_add(
            low, wasm_v128_and(l->negative[2 * half], wasm_i32x4_shuffle(sign, sign, 0, 0, 1, 1)));
        high = wasm_i64x2_add(
            high, wasm_v128_and(l->negative[2 * half + 1], wasm_i32x4_shuffle(sign, sign, 2, 2, 3, 3)));
    }
    return wasm_i32x4_shr(wasm_i32x4_shuffle(low, high, 1, 3, 5, 7), l->shift);
}

/* Returns eight outputs in the low bytes of the result. */
__attribute__((always_inline)) static inline v128_t ar_wide_eight(const struct ar_wide_lanes *l, v128_t first,
                                                                  v128_t second, int two_sided)
{
    v128_t y =
        wasm_i16x8_narrow_i32x4(ar_wide_four(l, first, 0, two_sided), ar_wide_four(l, second, 1, two_sided));
    y = wasm_i16x8_min(wasm_i16x8_max(y, l->low), l->high);
    return wasm_i8x16_narrow_i16x8(y, y);
}

/* Writes the first `count` bytes of `y`, at most 8. */
__attribute__((always_inline)) static inline void ar_store_low_bytes(int8_t *out, v128_t y, uint32_t count)
{
    if (count >= 8) {
        wasm_v128_store64_lane(out, y, 0);
        return;
    }
    if (count & 4) {
        wasm_v128_store32_lane(out, y, 0);
        y = wasm_i32x4_shuffle(y, y, 1, 1, 1, 1);
        out += 4;
    }
    if (count & 2) {
        wasm_v128_store16_lane(out, y, 0);
        y = wasm_i16x8_shuffle(y, y, 1, 1, 1, 1, 1, 1, 1, 1);
        out += 2;
    }
    if (count & 1) {
        wasm_v128_store8_lane(out, y, 0);
    }
}

#endif

#endif
