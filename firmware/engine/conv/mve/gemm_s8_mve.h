/* Multiplies pixels with filters on Helium: the inner product of every int8 convolution that sums over input channels.
 *
 * Weights. A filter's `depth` values are cut into pieces: depth / 32 pieces of 32 bytes, then one of 16 if it fits,
 * then the rest. The same piece of all filters is contiguous: [depth / 32][out_c][32], [out_c][16], [out_c][depth %
 * 16]. Nothing is padded. Filters are processed four at a time. If `out_c` is not a multiple of four, the last group
 * begins earlier, and some outputs are written twice with the same value.
 *
 * Requantization is LiteRT's own, four lanes at once. VQRDMULH is SaturatingRoundingDoublingHighMul (both round ties
 * upwards; the case that saturates needs a negative multiplier). VRSHL rounds ties upwards, RoundingDivideByPOT away
 * from zero: `two_sided` first subtracts one from negative values, which gives the same for every shift of at least 1.
 * If the output is clamped at its zero point, all negative values give the same output, and this step is left out.
 */
#ifndef ARENITE_GEMM_S8_MVE_H
#define ARENITE_GEMM_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *weights;     /* as above; every weight of -128 to 127 is allowed */
    const int32_t *bias;       /* [out_c], minus the input's zero point times the sum of the filter */
    const int32_t *multiplier; /* [out_c], 0 or 2^30 and more */
    const int8_t *shift;       /* [out_c], -31 to 0; below 0 when two_sided */
    uint16_t out_c;            /* at least 4 */
    uint16_t depth;            /* at least 1 */
    int16_t output_zero;
    uint16_t two_sided; /* 0 or 1 */
} ar_gemm_s8_mve_params;

/* Computes out[pixels][out_c], saturated, from `pixels` rows of `depth` bytes, each `step` bytes after the previous
 * one. */
void ar_gemm_s8_mve(const ar_gemm_s8_mve_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                    int8_t *out);

#endif
