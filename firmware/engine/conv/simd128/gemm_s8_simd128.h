/* The inner product of convolutions and fully connected layers for WebAssembly's 128-bit SIMD.
 *
 * A window consists of segments: runs of neighboring inputs, for example the part of each row. Weights are int8
 * [groups][segments][quads][8][4]: a group has eight neighboring output channels, a quad four neighboring inputs. Weights
 * of 0 fill up the last group and the last quad of each segment. Inputs are widened to int16, so that i32x4.dot_i16x8
 * multiplies a quad of inputs with the quads of two channels, or are bytes, so that the dot product of relaxed SIMD
 * multiplies it with the quads of four channels.
 */
#ifndef ARENITE_GEMM_S8_SIMD128_H
#define ARENITE_GEMM_S8_SIMD128_H

#include <stdint.h>

#include "wide_requant.h"

typedef struct {
    const int8_t *weights;
    const int32_t
        *excess; /* for each channel 128 * the sum of its weights; the channels fill up the last group */
    ar_wide requant;
    uint32_t out_c;
    uint32_t quads; /* number of quads of a segment */
    uint8_t segments;
} ar_gemm_s8_simd128_params;

enum { AR_GEMM_SIMD128_SEGMENTS = 64 }; /* the largest number of segments */

/* The windows of neighboring output pixels: segment s of pixel k begins at segment[s] + k * step, in elements. Up to
 * three elements after a segment are read. */
typedef struct {
    const int16_t *segment[AR_GEMM_SIMD128_SEGMENTS];
    uint32_t step;
} ar_windows_s16;

typedef struct {
    const int8_t *segment[AR_GEMM_SIMD128_SEGMENTS];
    uint32_t step;
} ar_windows_s8;

/* Computes the outputs of 1 to 4 pixels, whose windows begin `at` elements after the first window. The outputs of pixel k
 * begin at out + k * out_c. */
void ar_gemm_s8_simd128(const ar_gemm_s8_simd128_params *p, const ar_windows_s16 *windows, uint32_t at,
                        uint32_t pixels, int8_t *out);

#if defined(__wasm_relaxed_simd__)
/* Does the same with bytes. `is_unsigned` is 1 if the processor reads the bytes as unsigned; the windows then have the
 * inputs + 128. */
void ar_gemm_s8_relaxed(const ar_gemm_s8_simd128_params *p, const ar_windows_s8 *windows, uint32_t at,
                        uint32_t pixels, int is_unsigned, int8_t *out);
#endif

#endif
