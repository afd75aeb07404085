/* The inner product of convolutions and fully connected layers for WebAssembly's 128-bit SIMD.
 *
 * Weights are int8 [groups][pairs][8][2]: a group has eight neighboring output channels, a pair two neighboring inputs.
 * Weights of 0 fill up the last group, and the last pair if the number of inputs is odd. Inputs are widened to int16
 * (the patches), so that i32x4.dot_i16x8 multiplies a pair of inputs with the pairs of four channels.
 */
#ifndef ARENITE_GEMM_S8_SIMD128_H
#define ARENITE_GEMM_S8_SIMD128_H

#include <stdint.h>

#include "wide_requant.h"

typedef struct {
    const int8_t *weights;
    ar_wide requant;
    uint32_t out_c;
    uint32_t pairs; /* number of pairs of inputs of a patch */
} ar_gemm_s8_simd128_params;

/* Computes the outputs of 1 to 4 pixels. `patches` has four patches of 2 * pairs elements; the patches after the last
 * pixel may have any contents. The outputs of pixel k begin at out + k * out_c. */
void ar_gemm_s8_simd128(const ar_gemm_s8_simd128_params *p, const int16_t *patches, uint32_t pixels,
                        int8_t *out);

#endif
