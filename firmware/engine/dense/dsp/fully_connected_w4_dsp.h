/* FULLY_CONNECTED with one row of inputs, int8, int4 weights, on cores with the DSP extension. */
#ifndef ARENITE_FULLY_CONNECTED_W4_DSP_H
#define ARENITE_FULLY_CONNECTED_W4_DSP_H

#include "fully_connected_s8_dsp.h"

/* `filters` is [(units + 3) / 4][4 + groups * 4] words. row_dot_w4_dsp.h describes `filters` and `requant`. */
void ar_fully_connected_w4_dsp(const ar_fully_connected_dsp_params *p);

#endif
