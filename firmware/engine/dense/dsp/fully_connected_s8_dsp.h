/* FULLY_CONNECTED with one row, int8, on cores with the DSP extension; and convolutions that have one output pixel. */
#ifndef ARENITE_FULLY_CONNECTED_S8_DSP_H
#define ARENITE_FULLY_CONNECTED_S8_DSP_H

#include <stdint.h>

typedef struct {
    const int8_t *input;    /* [depth] */
    int8_t *output;         /* [units] */
    const int32_t *filters; /* [(units + 3) / 4][4 + groups * 8] */
    const int32_t *requant; /* [(units + 3) / 4][2][3]; both: see row_dot_s8_dsp.h */
    int32_t *scratch;       /* int16 [groups * 8] */
    int32_t rounding;
    uint16_t depth, units, groups;
    uint8_t shift;
    int8_t act_min, act_max; /* -128 and 127 when there is nothing to clamp */
} ar_fully_connected_dsp_params;

void ar_fully_connected_s8_dsp(const ar_fully_connected_dsp_params *p);

#endif
