/* CONV_2D, int8, on cores with the DSP extension. Filters have any width, up to AR_CONV_DSP_ROWS rows, any stride and
 * any dilation. Each filter reads all input channels. */
#ifndef ARENITE_CONV_2D_S8_DSP_H
#define ARENITE_CONV_2D_S8_DSP_H

#include "conv_2d_dsp_params.h"

void ar_conv_2d_s8_dsp(const ar_conv_2d_dsp_params *p);

/* Computes one output row. `params` is an ar_conv_2d_dsp_params; rows[k] is the input row of kernel row k, or 0 if that
 * is outside the image. */
void ar_conv_2d_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
