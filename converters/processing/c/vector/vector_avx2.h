/* The operations of the vector kernels for AVX2. Only vector.h includes this file. */
#ifndef ARENITE_VECTOR_AVX2_H
#define ARENITE_VECTOR_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#define AR_VECTOR "avx2"
#define AR_TARGET __attribute__((target("avx2")))
#define AR_INLINE static inline __attribute__((always_inline, target("avx2")))

typedef __m256i v8;

AR_INLINE v8 v8_all(int32_t value) { return _mm256_set1_epi32(value); }
AR_INLINE v8 v8_all16(int16_t value) { return _mm256_set1_epi16(value); }
AR_INLINE v8 v8_load(const void *at) { return _mm256_loadu_si256((const __m256i *)at); }
AR_INLINE v8 v8_and(v8 a, v8 b) { return _mm256_and_si256(a, b); }
AR_INLINE v8 v8_or(v8 a, v8 b) { return _mm256_or_si256(a, b); }
AR_INLINE v8 v8_add(v8 a, v8 b) { return _mm256_add_epi32(a, b); }
AR_INLINE v8 v8_sub(v8 a, v8 b) { return _mm256_sub_epi32(a, b); }
AR_INLINE v8 v8_mul(v8 a, v8 b) { return _mm256_mullo_epi32(a, b); }
AR_INLINE v8 v8_max16(v8 a, v8 b) { return _mm256_max_epi16(a, b); }
AR_INLINE v8 v8_min16(v8 a, v8 b) { return _mm256_min_epi16(a, b); }
#define v8_sra(a, bits) _mm256_srai_epi32(a, bits)
#define v8_srl(a, bits) _mm256_srli_epi32(a, bits)
#define v8_shl(a, bits) _mm256_slli_epi32(a, bits)
#define v8_srl16(a, bits) _mm256_srli_epi16(a, bits)
#define v8_shl16(a, bits) _mm256_slli_epi16(a, bits)

/* Returns lanes with the low 16 bits of a's lanes and the high 16 bits of b's lanes. */
AR_INLINE v8 v8_halves(v8 a, v8 b) { return _mm256_blend_epi16(a, b, 0xaa); }

/* Multiplies the signed halves of the lanes, and returns the sum of the two products of each lane. */
AR_INLINE v8 v8_dot(v8 a, v8 b) { return _mm256_madd_epi16(a, b); }

AR_INLINE __m128i ar_two(uint64_t a, uint64_t b)
{
    return _mm_insert_epi64(_mm_cvtsi64_si128((long long)a), (long long)b, 1);
}

/* Sorts the bytes of eight words of 8 bytes, two words at a time, and writes the low halves of the sorted words to
 * `low` and the high halves to `high`. `order` has 16 bytes for each two words: words 0 and 1, 4 and 5, 2 and 3, 6 and
 * 7. */
AR_INLINE void v8_words(const uint64_t w[8], const uint8_t *order, v8 *low, v8 *high)
{
    const __m256i *o = (const __m256i *)(const void *)order;
    const __m256i a =
        _mm256_shuffle_epi8(_mm256_set_m128i(ar_two(w[4], w[5]), ar_two(w[0], w[1])), _mm256_loadu_si256(o));
    const __m256i b = _mm256_shuffle_epi8(_mm256_set_m128i(ar_two(w[6], w[7]), ar_two(w[2], w[3])),
                                          _mm256_loadu_si256(o + 1));
    const __m256 x = _mm256_castsi256_ps(a), y = _mm256_castsi256_ps(b);
    *low = _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88));
    *high = _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xdd));
}

AR_INLINE void v8_store(void *to, v8 a) { _mm256_storeu_si256((__m256i *)to, a); }

/* Stores lanes below 65,536 as 16 bits each. */
AR_INLINE void v8_store16(void *to, v8 a)
{
    const __m128i low = _mm256_castsi256_si128(a), high = _mm256_extracti128_si256(a, 1);
    _mm_storeu_si128((__m128i *)to, _mm_packus_epi32(low, high));
}

/* Stores the lowest byte of each lane, 8 bytes in all. */
AR_INLINE void v8_store_1(uint8_t *to, v8 a)
{
    const __m256i order = _mm256_set1_epi32(0x0c080400);
    const __m256i packed = _mm256_shuffle_epi8(a, order);
    const __m128i low = _mm256_castsi256_si128(packed), high = _mm256_extracti128_si256(packed, 1);
    _mm_storel_epi64((__m128i *)(void *)to, _mm_unpacklo_epi32(low, high));
}

/* Stores the lowest three bytes of each lane, 24 bytes in all, and does not write beyond them. */
AR_INLINE void v8_store_3(uint8_t *to, v8 a)
{
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i packed = _mm256_shuffle_epi8(a, order);
    const __m128i low = _mm256_castsi256_si128(packed), high = _mm256_extracti128_si256(packed, 1);
    const int32_t last = _mm_extract_epi32(high, 2);
    _mm_storeu_si128((__m128i *)(void *)to, low);
    _mm_storel_epi64((__m128i *)(void *)(to + 12), high);
    __builtin_memcpy(to + 20, &last, 4);
}

/* Eight sums of 64 bits: of the even lanes, and of the odd lanes. */
typedef struct {
    __m256i even, odd;
} w8;

AR_INLINE w8 w8_all(uint64_t value)
{
    const w8 made = {_mm256_set1_epi64x((long long)value), _mm256_set1_epi64x((long long)value)};
    return made;
}

/* Returns `sum` plus the unsigned products of the lanes of a and b. */
AR_INLINE w8 w8_dot(w8 sum, v8 a, v8 b)
{
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    const w8 made = {_mm256_add_epi64(sum.even, _mm256_mul_epu32(a, b)), _mm256_add_epi64(sum.odd, odd)};
    return made;
}

/* Returns 32 bits of each sum, from bit `bits` (0 to 32) up. */
#define w8_from(sum, bits) \
    _mm256_blend_epi32(_mm256_srli_epi64((sum).even, bits), _mm256_slli_epi64((sum).odd, 32 - (bits)), 0xaa)

/* v8_load_8 widens 8 bytes to lanes. v8_load_16 widens 16 bytes to halves of lanes, and v8_store_16 stores such halves
 * as 16 bytes. */
AR_INLINE v8 v8_load_8(const uint8_t *at)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)at));
}

AR_INLINE v8 v8_load_16(const uint8_t *at)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)at));
}

AR_INLINE void v8_store_16(uint8_t *to, v8 a)
{
    const __m128i low = _mm256_castsi256_si128(a), high = _mm256_extracti128_si256(a, 1);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_packus_epi16(low, high));
}

/* Returns the sum of the lanes of each of eight vectors. */
AR_INLINE v8 v8_sums(const v8 a[8])
{
    const v8 x = _mm256_hadd_epi32(_mm256_hadd_epi32(a[0], a[1]), _mm256_hadd_epi32(a[2], a[3]));
    const v8 y = _mm256_hadd_epi32(_mm256_hadd_epi32(a[4], a[5]), _mm256_hadd_epi32(a[6], a[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(x, y, 0x20), _mm256_permute2x128_si256(x, y, 0x31));
}

/* Read 16 pixels of three bytes (ar_split_3) or four bytes (ar_split_4). They store the first byte of each pixel at
 * `a`, the second at `b` and the third at `c`. */
AR_INLINE void ar_split_3(const uint8_t *at, uint8_t *a, uint8_t *b, uint8_t *c)
{
    const __m128i *from = (const __m128i *)(const void *)at;
    const __m128i x = _mm_loadu_si128(from), y = _mm_loadu_si128(from + 1), z = _mm_loadu_si128(from + 2);
    const __m128i ax = _mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i ay = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1);
    const __m128i az = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13);
    const __m128i bx = _mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i by = _mm_setr_epi8(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1);
    const __m128i bz = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14);
    const __m128i cx = _mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i cy = _mm_setr_epi8(-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1);
    const __m128i cz = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15);
    _mm_storeu_si128((__m128i *)(void *)a,
                     _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(x, ax), _mm_shuffle_epi8(y, ay)),
                                  _mm_shuffle_epi8(z, az)));
    _mm_storeu_si128((__m128i *)(void *)b,
                     _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(x, bx), _mm_shuffle_epi8(y, by)),
                                  _mm_shuffle_epi8(z, bz)));
    _mm_storeu_si128((__m128i *)(void *)c,
                     _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(x, cx), _mm_shuffle_epi8(y, cy)),
                                  _mm_shuffle_epi8(z, cz)));
}

AR_INLINE void ar_split_4(const uint8_t *at, uint8_t *a, uint8_t *b, uint8_t *c)
{
    const __m128i *from = (const __m128i *)(const void *)at;
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m128i w = _mm_shuffle_epi8(_mm_loadu_si128(from), order);
    const __m128i x = _mm_shuffle_epi8(_mm_loadu_si128(from + 1), order);
    const __m128i y = _mm_shuffle_epi8(_mm_loadu_si128(from + 2), order);
    const __m128i z = _mm_shuffle_epi8(_mm_loadu_si128(from + 3), order);
    const __m128i wx = _mm_unpacklo_epi32(w, x), yz = _mm_unpacklo_epi32(y, z);
    _mm_storeu_si128((__m128i *)(void *)a, _mm_unpacklo_epi64(wx, yz));
    _mm_storeu_si128((__m128i *)(void *)b, _mm_unpackhi_epi64(wx, yz));
    _mm_storeu_si128((__m128i *)(void *)c,
                     _mm_unpacklo_epi64(_mm_unpackhi_epi32(w, x), _mm_unpackhi_epi32(y, z)));
}

/* Returns the high 32 bits of the signed products of the lanes. */
AR_INLINE v8 v8_high(v8 a, v8 b)
{
    const __m256i even = _mm256_mul_epi32(a, b);
    const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

/* Shifts each lane right by its own count. */
AR_INLINE v8 v8_sra_by(v8 a, v8 bits) { return _mm256_srav_epi32(a, bits); }
AR_INLINE v8 v8_min(v8 a, v8 b) { return _mm256_min_epi32(a, b); }
AR_INLINE v8 v8_max(v8 a, v8 b) { return _mm256_max_epi32(a, b); }

/* Stores signed lanes as floats, multiplied by the lanes of `step`, which are floats. */
AR_INLINE void v8_store_real(float *to, v8 a, v8 step)
{
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(a), _mm256_castsi256_ps(step)));
}

/* A vector of eight lanes of 16 bits. */
typedef __m128i h8;

AR_INLINE h8 h8_all(uint16_t value) { return _mm_set1_epi16((short)value); }
AR_INLINE h8 h8_load(const uint16_t *at) { return _mm_loadu_si128((const __m128i *)(const void *)at); }
AR_INLINE h8 h8_add(h8 a, h8 b) { return _mm_add_epi16(a, b); }
/* Returns the high halves of the unsigned products of the lanes. */
AR_INLINE h8 h8_high(h8 a, h8 b) { return _mm_mulhi_epu16(a, b); }
#define h8_srl(a, bits) _mm_srli_epi16(a, bits)

/* Stores lanes below 256 as bytes, 8 bytes in all. */
AR_INLINE void h8_store_1(uint8_t *to, h8 a)
{
    _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(a, a));
}

/* Stores lanes below 256 of a, b and c in turn as bytes, 24 bytes in all. */
AR_INLINE void h8_store_3(uint8_t *to, h8 a, h8 b, h8 c)
{
    const __m128i ab = _mm_packus_epi16(a, b), cc = _mm_packus_epi16(c, c);
    const __m128i ab_low = _mm_setr_epi8(0, 8, -1, 1, 9, -1, 2, 10, -1, 3, 11, -1, 4, 12, -1, 5);
    const __m128i cc_low = _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
    const __m128i ab_high = _mm_setr_epi8(13, -1, 6, 14, -1, 7, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i cc_high = _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, -1, -1, -1, -1, -1, -1);
    _mm_storeu_si128((__m128i *)(void *)to,
                     _mm_or_si128(_mm_shuffle_epi8(ab, ab_low), _mm_shuffle_epi8(cc, cc_low)));
    _mm_storel_epi64((__m128i *)(void *)(to + 16),
                     _mm_or_si128(_mm_shuffle_epi8(ab, ab_high), _mm_shuffle_epi8(cc, cc_high)));
}

#endif
