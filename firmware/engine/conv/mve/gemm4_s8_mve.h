/* Multiplies pixels with short filters on Helium: two filters (a pair) and four pixels at a time. The filters of a pair
 * stay in vector registers for all pixels.
 *
 * The constants of a pair are the vectors of the first filter, those of the second filter, and eight words: two biases,
 * which include the input's zero point, two words (output_zero << n) + 2^(n - 1), two multipliers and two words 24 - n.
 * n is the right shift, 0 to 24. depthwise_tiles_s8_mve.h describes this requantization and `two_sided`. The vectors of
 * a filter are filled up with zeros. Those of a filter of depth 8 are the filter and eight zeros, then eight zeros and the
 * filter, because a vector of inputs has two pixels.
 */
#ifndef ARENITE_GEMM4_S8_MVE_H
#define ARENITE_GEMM4_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int32_t *pairs; /* the constants of all pairs, see above */
    uint32_t pair_count;  /* at least 1 */
    uint32_t out_step;    /* bytes from the outputs of a pixel to those of the next; even */
    uint32_t two_sided;   /* 0 or 1 */
} ar_gemm4_params;

/* Compute the outputs of `pixels` pixels, at least 4. If their number is no multiple of 4, the last four are computed
 * together. The inputs of the first pixel are at `x`, its outputs at `out`, an
 * even address. In the first three functions the inputs of a pixel are 8, 16 or 32 bytes, `step` is this number, and the inputs of the next pixel follow. In the other
 * three they are 16, 32 or 48 bytes, of which the last ones may be filled up, and those of the next pixel are `step`
 * bytes later. With 48 bytes, `two_sided` is 0. */
void ar_gemm4_depth8_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out);
void ar_gemm4_depth16_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                          int8_t *out);
void ar_gemm4_depth32_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                          int8_t *out);
void ar_gemm4_step16_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out);
void ar_gemm4_step32_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out);
void ar_gemm4_step48_mve(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out);

#endif
