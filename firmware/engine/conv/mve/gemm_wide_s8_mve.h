/* Multiplies pixels with filters whose depth is a multiple of 16 on Helium: four filters (a group) and two pixels (a pair)
 * at a time, with no loop over the depth.
 *
 * The weights of a group are [depth / 16][4][16], in the order in which they are read. They are followed by the
 * group's biases, multipliers and shifts, int32 [4] each. Requantization is that of gemm_s8_mve.h. */
#ifndef ARENITE_GEMM_WIDE_S8_MVE_H
#define ARENITE_GEMM_WIDE_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int32_t *groups; /* the weights and constants of all groups, see above */
    uint32_t group_count;  /* at least 1 */
    uint32_t out_c;        /* 4 * group_count, at most 16,384 */
    uint32_t two_sided;    /* 0 or 1, as in gemm_s8_mve.h */
    int32_t output_zero;   /* the output's zero point */
    /* The offsets of the outputs of two pixels: for each filter that of the first pixel, then that of the second. */
    uint16_t offsets[8];
} ar_gemm_wide_params;

/* Compute out[pixels][out_c], limited to int8, from x[pixels][depth], with the depth in the name. `pixels` is even and at
 * least 2. */
void ar_gemm_depth64_mve(const ar_gemm_wide_params *p, const int8_t *x, uint32_t pixels, int8_t *out);
void ar_gemm_depth128_mve(const ar_gemm_wide_params *p, const int8_t *x, uint32_t pixels, int8_t *out);

#endif
