/* FULLY_CONNECTED with one row of inputs, int8, on cores with the DSP extension. Convolutions with one output pixel use
 * this kernel, too. */
#ifndef ARENITE_FULLY_CONNECTED_S8_DSP_H
#define ARENITE_FULLY_CONNECTED_S8_DSP_H

#include <stdint.h>

typedef struct {
    const int8_t *input;           /* [depth] */
    int8_t *output;                /* [units] */
    const int32_t *filters;        /* [(units + 3) / 4][4 + groups * 8], see row_dot_s8_dsp.h */
    const int32_t *requant;        /* [(units + 3) / 4][2][3], see row_dot_s8_dsp.h */
    int32_t *scratch;              /* int16 [groups * 8] */
    int32_t rounding;              /* of the requantization, see dot_s8_dsp.h */
    uint16_t depth, units, groups; /* groups: depth / 8, rounded up */
    uint8_t shift;                 /* of the requantization, see dot_s8_dsp.h */
    int8_t act_min, act_max;       /* -128 and 127 when there is nothing to clamp */
} ar_fully_connected_dsp_params;

void ar_fully_connected_s8_dsp(const ar_fully_connected_dsp_params *p);

/* The same with the constant shift AR_ROW_SHIFT. A quad of `filters` has 8 + groups * 8 words, see row_dot_s8_dsp.h;
 * `requant` and `shift` are not used. */
void ar_fully_connected_s8_fixed_dsp(const ar_fully_connected_dsp_params *p);

#endif
