/* Requantizes an accumulator to an int8 output, with float32 or with one product of 64 bits. A group of eight channels
 * uses the faster float32 if the generator has proven that the result is LiteRT's for every accumulator that can occur;
 * the same is proven for the integers. See float_affine.py and wide_affine.py in firmware/generator/requant.
 *
 * AR_WIDE_FLOAT: out = clamp(round(acc * scale + add)). Products, sums and the rounding are those of float32.
 * AR_WIDE_FLOAT_TWO_SIDED: the same, with the bits of add xor flip if acc < 0.
 * AR_WIDE_ONE_SIDED: out = clamp((acc * multiplier + offset) >> (32 + shift)).
 * AR_WIDE_TWO_SIDED: the same, with negative added to the offset if acc < 0.
 * All numbers belong to a channel, but shift belongs to the layer.
 */
#ifndef ARENITE_WIDE_REQUANT_H
#define ARENITE_WIDE_REQUANT_H

#include <stdint.h>

#include "float_bits.h"

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/* Arrays have one element per channel, rounded up to a multiple of 8 channels, or are 0 if no group needs them. */
typedef struct {
    const int32_t *bias;   /* the accumulators' first values, with constant terms folded in */
    const uint8_t *forms;  /* the ar_wide_form of each group of eight channels */
    const uint32_t *scale; /* bits of float32, as the next two */
    const uint32_t *add;
    const uint32_t *flip;
    const int32_t *multiplier; /* not negative */
    const int64_t *offset;
    const int64_t *negative; /* 0 if the result does not depend on the accumulator's sign */
    uint8_t shift;           /* up to 22 */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_wide;

/* The values are those of lower/core/wide_requantization.py. */
typedef enum {
    AR_WIDE_FLOAT,
    AR_WIDE_FLOAT_TWO_SIDED,
    AR_WIDE_ONE_SIDED,
    AR_WIDE_TWO_SIDED,
} ar_wide_form;

/* Adding this number, 1.5 * 2^23, rounds a small float32 number to an integer, the difference of the sum's bits and
 * those of the number. */
#define AR_WIDE_MAGIC 12582912.0f
#define AR_WIDE_MAGIC_BITS 0x4B400000

/* Returns the output of channel `c` for the accumulator `acc`, which includes the bias. */
static inline int8_t ar_wide_requant(const ar_wide *w, uint32_t c, int32_t acc)
{
    int32_t y;
    const uint32_t form = w->forms[c / 8];
    if (form <= AR_WIDE_FLOAT_TWO_SIDED) {
        const uint32_t flip = form == AR_WIDE_FLOAT_TWO_SIDED && acc < 0 ? w->flip[c] : 0;
        /* Separate statements, so that no compiler fuses them. */
        const float product = (float)acc * ar_float_from_bits(w->scale[c]);
        const float sum = product + ar_float_from_bits(w->add[c] ^ flip);
        y = (int32_t)(ar_float_bits(sum + AR_WIDE_MAGIC) - AR_WIDE_MAGIC_BITS);
    } else {
        int64_t sum = (int64_t)acc * w->multiplier[c] + w->offset[c];
        if (form == AR_WIDE_TWO_SIDED && acc < 0) {
            sum += w->negative[c];
        }
        y = (int32_t)(sum >> 32) >> w->shift;
    }
    return (int8_t)(y < w->act_min ? w->act_min : y > w->act_max ? w->act_max : y);
}

#if defined(__wasm_simd128__)

/* The constants of eight neighboring channels. */
struct ar_wide_lanes {
    v128_t multiplier[2]; /* or scale */
    v128_t offset[4];     /* or two vectors of add */
    v128_t negative[4];   /* or two vectors of flip */
    uint32_t shift;
    v128_t low, high;
};

/* Loads the constants of channels c to c + 7. In this and the next functions `form` is that of the group; it is a
 * constant at each call, so that the compiler can leave out code. */
__attribute__((always_inline)) static inline struct ar_wide_lanes ar_wide_load(const ar_wide *w, uint32_t c,
                                                                               ar_wide_form form)
{
    struct ar_wide_lanes l;
    for (uint32_t k = 0; k < 4; k++) {
        l.offset[k] = l.negative[k] = wasm_i32x4_const_splat(0);
    }
    if (form == AR_WIDE_FLOAT || form == AR_WIDE_FLOAT_TWO_SIDED) {
        for (uint32_t k = 0; k < 2; k++) {
            l.multiplier[k] = wasm_v128_load(w->scale + c + 4 * k);
            l.offset[k] = wasm_v128_load(w->add + c + 4 * k);
            if (form == AR_WIDE_FLOAT_TWO_SIDED) {
                l.negative[k] = wasm_v128_load(w->flip + c + 4 * k);
            }
        }
    } else {
        l.multiplier[0] = wasm_v128_load(w->multiplier + c);
        l.multiplier[1] = wasm_v128_load(w->multiplier + c + 4);
        for (uint32_t k = 0; k < 4; k++) {
            l.offset[k] = wasm_v128_load(w->offset + c + 2 * k);
            if (form == AR_WIDE_TWO_SIDED) {
                l.negative[k] = wasm_v128_load(w->negative + c + 2 * k);
            }
        }
    }
    l.shift = w->shift;
    l.low = wasm_i8x16_splat(w->act_min);
    l.high = wasm_i8x16_splat(w->act_max);
    return l;
}

/* Returns four outputs before the clamp; `half` is 0 for the first four channels, 1 for the others. */
__attribute__((always_inline)) static inline v128_t ar_wide_four(const struct ar_wide_lanes *l, v128_t acc,
                                                                 int half, ar_wide_form form)
{
    if (form == AR_WIDE_FLOAT || form == AR_WIDE_FLOAT_TWO_SIDED) {
        const v128_t product = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(acc), l->multiplier[half]);
        v128_t add = l->offset[half];
        if (form == AR_WIDE_FLOAT_TWO_SIDED) {
            add = wasm_v128_xor(add, wasm_v128_and(l->negative[half], wasm_i32x4_shr(acc, 31)));
        }
        const v128_t sum =
            wasm_f32x4_add(wasm_f32x4_add(product, add), wasm_f32x4_const_splat(AR_WIDE_MAGIC));
        return wasm_i32x4_sub(sum, wasm_i32x4_const_splat(AR_WIDE_MAGIC_BITS));
    }
    v128_t low = wasm_i64x2_extmul_low_i32x4(acc, l->multiplier[half]);
    v128_t high = wasm_i64x2_extmul_high_i32x4(acc, l->multiplier[half]);
    low = wasm_i64x2_add(low, l->offset[2 * half]);
    high = wasm_i64x2_add(high, l->offset[2 * half + 1]);
    if (form == AR_WIDE_TWO_SIDED) {
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
                                                                  v128_t second, ar_wide_form form)
{
    v128_t y = wasm_i16x8_narrow_i32x4(ar_wide_four(l, first, 0, form), ar_wide_four(l, second, 1, form));
    y = wasm_i8x16_narrow_i16x8(y, y);
    return wasm_i8x16_min(wasm_i8x16_max(y, l->low), l->high);
}

/* Executes `call` with the constant `form` that is the form of the group of channels that begins at channel `c`. */
#define AR_WIDE_WITH_FORM(w, c, call)                          \
    do {                                                       \
        switch ((w)->forms[(c) / 8]) {                         \
        case AR_WIDE_FLOAT: {                                  \
            const ar_wide_form form = AR_WIDE_FLOAT;           \
            call;                                              \
            break;                                             \
        }                                                      \
        case AR_WIDE_FLOAT_TWO_SIDED: {                        \
            const ar_wide_form form = AR_WIDE_FLOAT_TWO_SIDED; \
            call;                                              \
            break;                                             \
        }                                                      \
        case AR_WIDE_ONE_SIDED: {                              \
            const ar_wide_form form = AR_WIDE_ONE_SIDED;       \
            call;                                              \
            break;                                             \
        }                                                      \
        default: {                                             \
            const ar_wide_form form = AR_WIDE_TWO_SIDED;       \
            call;                                              \
        }                                                      \
        }                                                      \
    } while (0)

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
