/* Winograd's algorithm F(2,3) for convolutions with 3 x 3 taps and stride 1, on cores with the DSP extension. F(2,3)
 * computes two outputs of a filter with three taps. It is applied along rows, and all numbers are integers, so it is
 * exact.
 *
 * Two neighboring outputs of a row depend on four columns d0 to d3 of the input. For a filter row g0, g1, g2:
 *
 *     m1 = (d0 - d2) * 2 g0       m2 = (d1 + d2) * (g0 + g1 + g2)
 *     m4 = (d1 - d3) * 2 g2       m3 = (d2 - d1) * (g0 - g1 + g2)
 *     2 (d0 g0 + d1 g1 + d2 g2) = m1 + m2 + m3,   2 (d1 g0 + d2 g1 + d3 g2) = m2 - m3 - m4
 *
 * These are four products instead of six. m1 to m4 are summed over the filter's rows and input channels before they are
 * combined to the outputs. Sums may wrap around modulo 2^32, because the final sums fit. The generator computes the
 * transformed weights and multiplies them by 64; they then fit into 16 bits for every int8 filter. Together with the
 * factor 2 of the formulas, the final sums are 128 times the sums of the convolution.
 *
 * A "tile" is two neighboring outputs of a row. Three tiles are transformed at a time, into four planes that follow
 * each other: d1 + d2, d2 - d1, d0 - d2 and d1 - d3. Each plane is int16 [depth / 2][3 tiles][2]. The filters of a pair
 * of output channels are the two biases, multiplied by 128, and then the weights for each plane: g0 + g1 + g2, g0 - g1
 * + g2, 2 g0 and -2 g2, each int16 [depth / 2][2 channels][2]. `depth` is 3 * in_c: 3 rows of in_c channels, in groups
 * of four channels in the order of SXTB16: 0, 2, 1, 3.
 *
 * Requantization is two-sided, see dot_s8_dsp.h; x = 256 * sum is twice the final sum. */
#ifndef ARENITE_WINOGRAD3_S8_DSP_H
#define ARENITE_WINOGRAD3_S8_DSP_H

#include <stdint.h>

/* The parameters of ar_winograd3_s8_dsp. Pair i is output channels 2i and 2i + 1. */
typedef struct {
    int8_t *out;            /* address of channel 2i of the first output of the first tile */
    const int32_t *requant; /* of pair i: multiplier0, offset0, multiplier1, offset1 */
    int32_t rounding;
    int32_t shift;
    int32_t tile;        /* distance in bytes from one tile of the output to the next: 2 * out_c */
    const int32_t *x;    /* the transformed tiles */
    const int32_t *end;  /* the end of the filters */
    int32_t groups;      /* in_c / 4 */
    const int32_t *pair; /* filters of pair i */
} ar_winograd_s8_dsp;

/* Transforms one row of a tile, four columns of `pixel` bytes each (a multiple of four), and writes the results to the
 * four planes. `in` is the first column; `x` is the address in the first plane, and the planes are `plane` words apart.
 * Returns the address in the first plane for the tile's next row. */
uint32_t *ar_winograd_tile_s8_dsp(const int8_t *in, int32_t pixel, uint32_t *x, int32_t plane);

/* Computes the outputs of pair i to the last pair, for three tiles. */
void ar_winograd3_s8_dsp(const ar_winograd_s8_dsp *d);

#endif
