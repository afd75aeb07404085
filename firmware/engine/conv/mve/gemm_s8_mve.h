/* Multiplies pixels with filters on Helium: the inner product of every int8 convolution that sums over input channels.
 *
 * Weights. A filter's `depth` values are cut into pieces: depth / 32 pieces of 32 bytes, then a piece of 16 bytes if at
 * least 16 are left, then the rest. The same piece of all filters is contiguous: [depth / 32][out_c][32], [out_c][16],
 * [out_c][depth % 16]. Nothing is padded. Filters are processed four at a time. If `out_c` is not a multiple of four,
 * the last group begins earlier, and some outputs are written twice with the same value.
 *
 * Requantization computes the same as LiteRT's, four lanes at once. VQRDMULH is LiteRT's function
 * SaturatingRoundingDoublingHighMul: both round ties upwards, and saturation would need a negative multiplier. VRSHL
 * shifts like LiteRT's RoundingDivideByPOT, but it rounds ties upwards and not away from zero. So if `two_sided` is 1,
 * the kernel first subtracts one from negative values; then VRSHL gives the same result for every right shift of at
 * least 1. If the output is clamped at its zero point, all negative values give the same output, and `two_sided` is 0.
 */
#ifndef ARENITE_GEMM_S8_MVE_H
#define ARENITE_GEMM_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *weights;     /* in the layout above; all values from -128 to 127 are allowed */
    const int32_t *bias;       /* [out_c], minus the input's zero point times the sum of the filter */
    const int32_t *multiplier; /* [out_c], 0 or at least 2^30 */
    const int8_t *shift;       /* [out_c], -31 to 0; below 0 if `two_sided` is 1 */
    uint16_t out_c;            /* at least 4 */
    uint16_t depth;            /* at least 1 */
    int16_t output_zero;       /* the output's zero point */
    uint16_t two_sided;        /* 0 or 1, see above */
    uint32_t out_step; /* bytes from the outputs of a pixel to those of the next; out_c if none are between */
} ar_gemm_s8_mve_params;

/* Computes `out_c` outputs of each pixel, limited to int8; those of the first pixel are at `out`. The inputs of a pixel
 * are `depth` bytes; those of the first pixel are at `x`, those of each further pixel `step` bytes later. */
void ar_gemm_s8_mve(const ar_gemm_s8_mve_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                    int8_t *out);

#endif
