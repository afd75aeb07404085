/* FULLY_CONNECTED with one row of activations, int8 with int4 weights, on cores with the DSP extension. */
#ifndef ARENITE_FULLY_CONNECTED_W4_DSP_H
#define ARENITE_FULLY_CONNECTED_W4_DSP_H

#include "fully_connected_s8_dsp.h"

/* `filters` are [(units + 3) / 4][4 + groups * 4] words, they and `requant` as row_dot_w4_dsp.h says. */
void ar_fully_connected_w4_dsp(const ar_fully_connected_dsp_params *p);

#endif
