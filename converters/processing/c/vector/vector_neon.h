/* The operations of the vector kernels for NEON. Only vector.h includes this file; vector_avx2.h describes each
 * operation. */
#ifndef ARENITE_VECTOR_NEON_H
#define ARENITE_VECTOR_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#define AR_VECTOR "neon"
#define AR_TARGET
#define AR_INLINE static inline __attribute__((always_inline))

typedef struct {
    uint32x4_t low, high;
} v8;

#define AR_16(a) vreinterpretq_s16_u32(a)
#define AR_U16(a) vreinterpretq_u16_u32(a)
#define AR_32(a) vreinterpretq_u32_s16(a)

AR_INLINE v8 v8_all(int32_t value)
{
    const v8 made = {vdupq_n_u32((uint32_t)value), vdupq_n_u32((uint32_t)value)};
    return made;
}

AR_INLINE v8 v8_all16(int16_t value)
{
    const v8 made = {AR_32(vdupq_n_s16(value)), AR_32(vdupq_n_s16(value))};
    return made;
}

AR_INLINE v8 v8_load(const void *at)
{
    const uint8_t *bytes = at;
    const v8 made = {vreinterpretq_u32_u8(vld1q_u8(bytes)), vreinterpretq_u32_u8(vld1q_u8(bytes + 16))};
    return made;
}

#define AR_BOTH(NAME, OPERATION)                                              \
    AR_INLINE v8 NAME(v8 a, v8 b)                                             \
    {                                                                         \
        const v8 made = {OPERATION(a.low, b.low), OPERATION(a.high, b.high)}; \
        return made;                                                          \
    }
AR_BOTH(v8_and, vandq_u32)
AR_BOTH(v8_or, vorrq_u32)
AR_BOTH(v8_add, vaddq_u32)
AR_BOTH(v8_sub, vsubq_u32)
AR_BOTH(v8_mul, vmulq_u32)

AR_INLINE v8 v8_max16(v8 a, v8 b)
{
    const v8 made = {AR_32(vmaxq_s16(AR_16(a.low), AR_16(b.low))),
                     AR_32(vmaxq_s16(AR_16(a.high), AR_16(b.high)))};
    return made;
}

AR_INLINE v8 v8_min16(v8 a, v8 b)
{
    const v8 made = {AR_32(vminq_s16(AR_16(a.low), AR_16(b.low))),
                     AR_32(vminq_s16(AR_16(a.high), AR_16(b.high)))};
    return made;
}

/* Shifts by a count that is constant after inlining. */
AR_INLINE v8 v8_sra(v8 a, int bits)
{
    const int32x4_t by = vdupq_n_s32(-bits);
    const v8 made = {vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a.low), by)),
                     vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a.high), by))};
    return made;
}

AR_INLINE v8 v8_shl(v8 a, int bits)
{
    const int32x4_t by = vdupq_n_s32(bits);
    const v8 made = {vshlq_u32(a.low, by), vshlq_u32(a.high, by)};
    return made;
}

AR_INLINE v8 v8_srl(v8 a, int bits) { return v8_shl(a, -bits); }

AR_INLINE v8 v8_shl16(v8 a, int bits)
{
    const int16x8_t by = vdupq_n_s16((int16_t)bits);
    const v8 made = {vreinterpretq_u32_u16(vshlq_u16(AR_U16(a.low), by)),
                     vreinterpretq_u32_u16(vshlq_u16(AR_U16(a.high), by))};
    return made;
}

AR_INLINE v8 v8_srl16(v8 a, int bits) { return v8_shl16(a, -bits); }

AR_INLINE v8 v8_halves(v8 a, v8 b)
{
    const uint32x4_t first = vdupq_n_u32(0xffff);
    const v8 made = {vbslq_u32(first, a.low, b.low), vbslq_u32(first, a.high, b.high)};
    return made;
}

AR_INLINE uint32x4_t ar_dot(uint32x4_t a, uint32x4_t b)
{
    const int16x8_t x = AR_16(a), y = AR_16(b);
    const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
    return vreinterpretq_u32_s32(vpaddq_s32(low, vmull_high_s16(x, y)));
}

AR_INLINE v8 v8_dot(v8 a, v8 b)
{
    const v8 made = {ar_dot(a.low, b.low), ar_dot(a.high, b.high)};
    return made;
}

AR_INLINE uint32x4_t ar_two(uint64_t a, uint64_t b, const uint8_t *order)
{
    const uint8x16_t bytes = vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(a), vcreate_u64(b)));
    return vreinterpretq_u32_u8(vqtbl1q_u8(bytes, vld1q_u8(order)));
}

AR_INLINE void v8_words(const uint64_t w[8], const uint8_t *order, v8 *low, v8 *high)
{
    const uint32x4_t a = ar_two(w[0], w[1], order), b = ar_two(w[2], w[3], order + 32);
    const uint32x4_t c = ar_two(w[4], w[5], order + 16), d = ar_two(w[6], w[7], order + 48);
    low->low = vuzp1q_u32(a, b);
    low->high = vuzp1q_u32(c, d);
    high->low = vuzp2q_u32(a, b);
    high->high = vuzp2q_u32(c, d);
}

AR_INLINE void v8_store(void *to, v8 a)
{
    uint8_t *bytes = to;
    vst1q_u8(bytes, vreinterpretq_u8_u32(a.low));
    vst1q_u8(bytes + 16, vreinterpretq_u8_u32(a.high));
}

AR_INLINE void v8_store16(void *to, v8 a)
{
    vst1q_u8(to, vreinterpretq_u8_u16(vcombine_u16(vmovn_u32(a.low), vmovn_u32(a.high))));
}

AR_INLINE void v8_store_1(uint8_t *to, v8 a)
{
    vst1_u8(to, vmovn_u16(vcombine_u16(vmovn_u32(a.low), vmovn_u32(a.high))));
}

AR_INLINE void v8_store_3(uint8_t *to, v8 a)
{
    uint8x8x3_t three;
    const uint8x16_t x = vreinterpretq_u8_u32(a.low), y = vreinterpretq_u8_u32(a.high);
    const uint8x16x2_t both = {{x, y}};
    three.val[0] = vqtbl2_u8(both, vcreate_u8(0x1c1814100c080400));
    three.val[1] = vqtbl2_u8(both, vcreate_u8(0x1d1915110d090501));
    three.val[2] = vqtbl2_u8(both, vcreate_u8(0x1e1a16120e0a0602));
    vst3_u8(to, three);
}

typedef struct {
    uint64x2_t sums[4];
} w8;

AR_INLINE w8 w8_all(uint64_t value)
{
    const uint64x2_t all = vdupq_n_u64(value);
    const w8 made = {{all, all, all, all}};
    return made;
}

AR_INLINE w8 w8_dot(w8 sum, v8 a, v8 b)
{
    const w8 made = {{vmlal_u32(sum.sums[0], vget_low_u32(a.low), vget_low_u32(b.low)),
                      vmlal_high_u32(sum.sums[1], a.low, b.low),
                      vmlal_u32(sum.sums[2], vget_low_u32(a.high), vget_low_u32(b.high)),
                      vmlal_high_u32(sum.sums[3], a.high, b.high)}};
    return made;
}

AR_INLINE v8 w8_from(w8 sum, int bits)
{
    const int64x2_t by = vdupq_n_s64(-bits);
    const v8 made = {
        vcombine_u32(vmovn_u64(vshlq_u64(sum.sums[0], by)), vmovn_u64(vshlq_u64(sum.sums[1], by))),
        vcombine_u32(vmovn_u64(vshlq_u64(sum.sums[2], by)), vmovn_u64(vshlq_u64(sum.sums[3], by)))};
    return made;
}

AR_INLINE v8 v8_load_8(const uint8_t *at)
{
    const uint16x8_t wide = vmovl_u8(vld1_u8(at));
    const v8 made = {vmovl_u16(vget_low_u16(wide)), vmovl_high_u16(wide)};
    return made;
}

AR_INLINE v8 v8_load_16(const uint8_t *at)
{
    const uint8x16_t bytes = vld1q_u8(at);
    const v8 made = {vreinterpretq_u32_u16(vmovl_u8(vget_low_u8(bytes))),
                     vreinterpretq_u32_u16(vmovl_high_u8(bytes))};
    return made;
}

AR_INLINE void v8_store_16(uint8_t *to, v8 a)
{
    vst1q_u8(to, vuzp1q_u8(vreinterpretq_u8_u32(a.low), vreinterpretq_u8_u32(a.high)));
}

AR_INLINE v8 v8_sums(const v8 a[8])
{
    uint32x4_t halves[8];
    for (int k = 0; k < 8; k++) {
        halves[k] = vaddq_u32(a[k].low, a[k].high);
    }
    const v8 made = {
        vpaddq_u32(vpaddq_u32(halves[0], halves[1]), vpaddq_u32(halves[2], halves[3])),
        vpaddq_u32(vpaddq_u32(halves[4], halves[5]), vpaddq_u32(halves[6], halves[7])),
    };
    return made;
}

AR_INLINE void ar_split_3(const uint8_t *at, uint8_t *a, uint8_t *b, uint8_t *c)
{
    const uint8x16x3_t three = vld3q_u8(at);
    vst1q_u8(a, three.val[0]);
    vst1q_u8(b, three.val[1]);
    vst1q_u8(c, three.val[2]);
}

AR_INLINE void ar_split_4(const uint8_t *at, uint8_t *a, uint8_t *b, uint8_t *c)
{
    const uint8x16x4_t four = vld4q_u8(at);
    vst1q_u8(a, four.val[0]);
    vst1q_u8(b, four.val[1]);
    vst1q_u8(c, four.val[2]);
}

AR_INLINE uint32x4_t ar_high(uint32x4_t a, uint32x4_t b)
{
    const int32x4_t x = vreinterpretq_s32_u32(a), y = vreinterpretq_s32_u32(b);
    const int64x2_t low = vmull_s32(vget_low_s32(x), vget_low_s32(y)), high = vmull_high_s32(x, y);
    return vuzp2q_u32(vreinterpretq_u32_s64(low), vreinterpretq_u32_s64(high));
}

AR_INLINE v8 v8_high(v8 a, v8 b)
{
    const v8 made = {ar_high(a.low, b.low), ar_high(a.high, b.high)};
    return made;
}

AR_INLINE uint32x4_t ar_sra(uint32x4_t a, uint32x4_t bits)
{
    return vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a), vnegq_s32(vreinterpretq_s32_u32(bits))));
}

AR_INLINE v8 v8_sra_by(v8 a, v8 bits)
{
    const v8 made = {ar_sra(a.low, bits.low), ar_sra(a.high, bits.high)};
    return made;
}

#define AR_SIGNED(NAME, OPERATION)                                                                           \
    AR_INLINE v8 NAME(v8 a, v8 b)                                                                            \
    {                                                                                                        \
        const v8 made = {                                                                                    \
            vreinterpretq_u32_s32(OPERATION(vreinterpretq_s32_u32(a.low), vreinterpretq_s32_u32(b.low))),    \
            vreinterpretq_u32_s32(OPERATION(vreinterpretq_s32_u32(a.high), vreinterpretq_s32_u32(b.high)))}; \
        return made;                                                                                         \
    }
AR_SIGNED(v8_min, vminq_s32)
AR_SIGNED(v8_max, vmaxq_s32)

AR_INLINE void v8_store_real(float *to, v8 a, v8 step)
{
    const float32x4_t low = vcvtq_f32_s32(vreinterpretq_s32_u32(a.low));
    const float32x4_t high = vcvtq_f32_s32(vreinterpretq_s32_u32(a.high));
    vst1q_f32(to, vmulq_f32(low, vreinterpretq_f32_u32(step.low)));
    vst1q_f32(to + 4, vmulq_f32(high, vreinterpretq_f32_u32(step.high)));
}

typedef uint16x8_t h8;

AR_INLINE h8 h8_all(uint16_t value) { return vdupq_n_u16(value); }
AR_INLINE h8 h8_load(const uint16_t *at) { return vld1q_u16(at); }
AR_INLINE h8 h8_add(h8 a, h8 b) { return vaddq_u16(a, b); }
AR_INLINE h8 h8_srl(h8 a, int bits) { return vshlq_u16(a, vdupq_n_s16((int16_t)-bits)); }

AR_INLINE h8 h8_high(h8 a, h8 b)
{
    const uint32x4_t low = vmull_u16(vget_low_u16(a), vget_low_u16(b)), high = vmull_high_u16(a, b);
    return vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
}

AR_INLINE void h8_store_1(uint8_t *to, h8 a) { vst1_u8(to, vmovn_u16(a)); }

AR_INLINE void h8_store_3(uint8_t *to, h8 a, h8 b, h8 c)
{
    const uint8x8x3_t three = {{vmovn_u16(a), vmovn_u16(b), vmovn_u16(c)}};
    vst3_u8(to, three);
}

#endif
