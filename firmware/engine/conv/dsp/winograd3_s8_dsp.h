/* Winograd's F(2,3) along rows, in exact integers, on cores with the DSP extension: 3 x 3 taps, stride 1.
 *
 * Two neighbouring outputs of a row see four columns d0 to d3 of the input. With a filter row g0, g1, g2
 *
 *     m1 = (d0 - d2) * 2 g0       m2 = (d1 + d2) * (g0 + g1 + g2)
 *     m4 = (d1 - d3) * 2 g2       m3 = (d2 - d1) * (g0 - g1 + g2)
 *     2 (d0 g0 + d1 g1 + d2 g2) = m1 + m2 + m3,   2 (d1 g0 + d2 g1 + d3 g2) = m2 - m3 - m4:
 *
 * four products where there were six, summed over the filter's rows and channels before they are put together. All are
 * integers, and sums wrap around modulo 2^32 without harm, since the last ones fit. The transformed weights are made by
 * the generator, 64 times as large, so that the sums come 128 times as large; they fit 16 bits for every int8 filter.
 *
 * A "tile" is a pair of outputs. Tiles are transformed three at a time, four planes after each other, each of
 * int16 [depth / 2][3 tiles][2]: d1 + d2, d2 - d1, d0 - d2, d1 - d3. The filters of a pair of channels are the two
 * biases, 128 times as large, then for each plane, in this order, int16 [depth / 2][2 channels][2]: g0 + g1 + g2,
 * g0 - g1 + g2, 2 g0, -2 g2. `depth` is 3 rows of in_c channels, in groups of four as SXTB16 splits them: 0, 2, 1, 3.
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
    const int32_t *end;  /* where the filters end */
    int32_t groups;      /* in_c / 4 */
    const int32_t *pair; /* filters of pair i */
} ar_winograd_s8_dsp;

/* One row of a tile: four columns of `pixel` bytes each (a multiple of four) into the planes, which lie `plane` words
 * apart. Returns where the tile's next row goes. */
uint32_t *ar_winograd_tile_s8_dsp(const int8_t *in, int32_t pixel, uint32_t *x, int32_t plane);

/* Pairs i to the last one of three tiles. */
void ar_winograd3_s8_dsp(const ar_winograd_s8_dsp *d);

#endif
