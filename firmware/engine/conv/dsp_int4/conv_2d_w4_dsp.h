/* CONV_2D, int8 with int4 weights, on cores with the DSP extension: like conv_2d_s8_dsp.h except for the filters. */
#ifndef ARENITE_CONV_2D_W4_DSP_H
#define ARENITE_CONV_2D_W4_DSP_H

#include "conv_2d_dsp_params.h"

/* Computes the whole output. `filters` is [(out_c + 1) / 2][2 + groups] words. dot_w4_dsp.h describes `filters` and
 * `requant`. */
void ar_conv_2d_w4_dsp(const ar_conv_2d_dsp_params *p);

/* Computes one output row, see ar_conv_2d_s8_dsp_row. */
void ar_conv_2d_w4_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
