/* Multiplies pixels with filters on Helium, like gemm_s8_mve.h, for builds for small flash: one loop for all filters, and
 * the constants in the records of compact_layer_mve.h.
 *
 * A filter's `depth` weights are cut into pieces of 16 bytes and the rest. The same piece of all filters is contiguous:
 * [depth / 16][out_c][16], then [out_c][depth % 16].
 */
#ifndef ARENITE_GEMM_COMPACT_S8_MVE_H
#define ARENITE_GEMM_COMPACT_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *weights;
    const int32_t *records; /* of four channels each; the last one ends with the last channel */
    uint16_t out_c;         /* at least 4 */
    uint16_t depth;         /* at least 1 */
    int32_t zero;           /* ar_compact_zero */
    uint32_t out_step;      /* bytes from the outputs of a pixel to those of the next */
} ar_gemm_compact_params;

/* The same as ar_gemm_s8_mve. */
void ar_gemm_compact_s8_mve(const ar_gemm_compact_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                            int8_t *out);

#endif
