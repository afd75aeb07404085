/* Winograd's F(2,3) along rows, in exact integers, on cores with the DSP extension: 3 x 3 taps, stride 1.
 *
 * Two neighboring outputs of a row depend on four columns d0 to d3 of the input. With a filter row g0, g1, g2
 *
 *     m1 = (d0 - d2) * 2 g0       m2 = (d1 + d2) * (g0 + g1 + g2)
 *     m4 = (d1 - d3) * 2 g2       m3 = (d2 - d1) * (g0 - g1 + g2)
 *     2 (d0 g0 + d1 g1 + d2 g2) = m1 + m2 + m3,   2 (d1 g0 + d2 g1 + d3 g2) = m2 - m3 - m4:
 *
 * four products instead of six. They are summed over the filter's rows and channels before they are combined. All
 * numbers are integers. Sums may wrap around modulo 2^32, because the final sums fit. The generator computes the
 * transformed weights, multiplied by 64, so that the sums are multiplied by 128. They fit 16 bits for every int8
 * filter.
 *
 * A "tile" is a pair of outputs. Tiles are transformed three at a time, four planes after each other, each of int16
 * [depth / 2][3 tiles][2]: d1 + d2, d2 - d1, d0 - d2, d1 - d3. The filters of a pair of channels are the two biases,
 * multiplied by 128, then for each plane, in this order, int16 [depth / 2][2 channels][2]: g0 + g1 + g2, g0 - g1 +
 * g2, 2 g0, -2 g2. `depth` is 3 rows of in_c channels, in groups of four in the order of SXTB16: 0, 2, 1, 3.
 *
 * Requantization is two-sided, see dot_s8_dsp.h. */
#ifndef ARENITE_WINOGRAD3_S8_DSP_H
#define ARENITE_WINOGRAD3_S8_DSP_H

#include <stdint.h>

typedef struct {
    int8_t *out;            /* channel 2i of the first output of the first tile */
    const int32_t *requant; /* of pair i: multiplier0, offset0, multiplier1, offset1 */
    int32_t rounding;
    int32_t shift;
    int32_t tile;        /* bytes from one tile of the output to the next: 2 out_c */
    const int32_t *x;    /* the transformed tiles */
    const int32_t *end;  /* the end of the filters */
    int32_t groups;      /* in_c / 4 */
    const int32_t *pair; /* filters of pair i */
} ar_winograd_s8_dsp;

/* Transforms one row of a tile: four columns of `pixel` bytes each (a multiple of four), into the planes, which are
 * `plane` words apart. Returns the address for the tile's next row. */
uint32_t *ar_winograd_tile_s8_dsp(const int8_t *in, int32_t pixel, uint32_t *x, int32_t plane);

/* Computes the outputs of pair i to the last pair, for three tiles. */
void ar_winograd3_s8_dsp(const ar_winograd_s8_dsp *d);

#endif
