/* CONV_2D, int8, for Helium in builds for small flash; and DEPTHWISE_CONV_2D of one input channel. */
#ifndef ARENITE_CONV_2D_COMPACT_S8_MVE_H
#define ARENITE_CONV_2D_COMPACT_S8_MVE_H

#include "compact_layer_mve.h"

/* The weights have the layout of gemm_compact_s8_mve.h. A strip (see conv_2d_s8_mve.h) follows the records of four
 * channels in the scratch memory, except for filters of one tap at stride 1. */
void ar_conv_2d_compact_s8_mve(const ar_compact_layer_mve *p);

#endif
