/* FULLY_CONNECTED with int16 activations and int8 weights, on cores with the DSP extension. */
#ifndef ARENITE_FULLY_CONNECTED_S16_DSP_H
#define ARENITE_FULLY_CONNECTED_S16_DSP_H

#include <stdint.h>

typedef struct {
    const int16_t *input;       /* [batches][depth] */
    int16_t *output;            /* [batches][units] */
    const int32_t *filters;     /* a quad for every four units, see row_dot4_s16_dsp.h */
    const int64_t *bias;        /* [units]; 0 if the filters contain the bias */
    const uint64_t *multiplier; /* mantissas, see ar_scale_real: one for all units or one per unit */
    const int8_t *shift;        /* exponents, as many as mantissas */
    int16_t *scratch;           /* [groups * 8]; 0 if depth is a multiple of 8 */
    uint32_t batches;
    uint16_t depth, units, groups; /* groups: depth / 8, rounded up */
    int16_t act_min, act_max;      /* outputs are clamped to this range */
    uint8_t per_channel;           /* 1: one scale per unit; 0: one scale for all units */
} ar_fully_connected_s16_dsp_params;

/* For layers whose sums fit into 32 bits for every input. The quads begin with the biases of their units. */
void ar_fully_connected_s16_dsp(const ar_fully_connected_s16_dsp_params *p);

/* For all other layers: the inputs are divided into blocks of AR_S16_BLOCK groups, whose sums fit into 32 bits, and the
 * sums of the blocks are added with 64 bits. `filters` has a quad for each block of the first four units, then for each
 * block of the next four units, and so on. The quads begin with zeros. */
void ar_fully_connected_s16_wide_dsp(const ar_fully_connected_s16_dsp_params *p);

/* The groups of a block: the sum of 63 * 8 products of at most 2^22 fits into 32 bits. */
#define AR_S16_BLOCK 63

#endif
