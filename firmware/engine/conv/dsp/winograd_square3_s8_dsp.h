/* Winograd's algorithm F(2x2, 3x3) for convolutions with 3 x 3 taps and stride 1, on cores with the DSP extension. All
 * numbers are integers, so it is exact.
 *
 * winograd3_s8_dsp.h explains F(2,3), which computes two outputs of a filter with three taps from four products. Here it
 * is applied along rows and along columns: a tile is 2 x 2 outputs, which depend on 4 x 4 inputs d. They are transformed
 * to 4 x 4 numbers, as are the 3 x 3 weights g of a filter. 16 products then replace 36. The transforms are B d B^T and
 * G g G^T, with
 *
 *         | 1  0 -1  0 |         | 2  0  0 |
 *     B = | 0  1  1  0 |     G = | 1  1  1 |
 *         | 0 -1  1  0 |         | 1 -1  1 |
 *         | 0  1  0 -1 |         | 0  0 -2 |
 *
 * Let m[v][h] be the sums of the products over the input channels. Then
 *
 *     left[v] = m[v][0] + m[v][1] + m[v][2],    right[v] = m[v][1] - m[v][2] + m[v][3]
 *
 * are the sums of the left and the right output of a row, transformed along columns, and 4 times the sums of the outputs
 * are left[0] + left[1] + left[2] and left[1] - left[2] + left[3], and the same for the right. Sums may wrap around
 * modulo 2^32, because the final sums fit. The generator multiplies the transformed weights by 16; they then fit into 16
 * bits for every int8 filter. The final sums are 64 times those of the convolution.
 *
 * Three tiles are transformed at a time into 16 planes: 1, 2, 0, 3 are the orders of v and, for each v, of h. Each plane
 * is int16 [in_c / 2][3 tiles][2]. The filters of a pair of output channels are the two biases, multiplied by 64, and
 * then the weights for each plane, int16 [in_c / 2][2 channels][2]. Every four channels are in the order of SXTB16: 0, 2,
 * 1, 3.
 *
 * Requantization is two-sided, see dot_s8_dsp.h, with the shift AR_WINOGRAD_SHIFT; x = 256 * sum is 4 times the final
 * sum. */
#ifndef ARENITE_WINOGRAD_SQUARE3_S8_DSP_H
#define ARENITE_WINOGRAD_SQUARE3_S8_DSP_H

#include <stdint.h>

#define AR_WINOGRAD_SHIFT 12

/* The parameters of ar_winograd_square3_s8_dsp, in the order in which the assembly loads them. Pair i is output channels
 * 2i and 2i + 1. */
typedef struct {
    int8_t *out[3]; /* addresses of channel 2i of the upper left output of each tile */
    int32_t row;    /* 0: the offset of the output row that is computed first */
    int32_t pixel;  /* bytes from one output to the next: out_c */
    int32_t rounding;
    const int32_t *requant; /* of pair i: multiplier0, offset0, multiplier1, offset1 */
    const int32_t *x;       /* the transformed tiles */
    int32_t rounds;         /* in_c / 16 */
    const int32_t *pair;    /* filters of pair i */
    const int32_t *end;     /* the end of the filters */
    int32_t out_row;        /* bytes of a row of outputs */
} ar_winograd_square_s8;

/* Computes the outputs of pair i to the last pair, for three tiles. */
void ar_winograd_square3_s8_dsp(const ar_winograd_square_s8 *d);

/* The parameters of ar_winograd_square_tile_s8_dsp, in the order in which the assembly loads them. */
typedef struct {
    const int8_t *row[4]; /* the first input of each row of the tile */
    int32_t pixel;        /* bytes of an input pixel, a multiple of four */
    uint32_t *x;          /* where the first plane of the tile begins */
    int32_t plane;        /* bytes of a plane */
} ar_winograd_square_tile;

/* Transforms the inputs of one tile. */
void ar_winograd_square_tile_s8_dsp(const ar_winograd_square_tile *t);

#endif
