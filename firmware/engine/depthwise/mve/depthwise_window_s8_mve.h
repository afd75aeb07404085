/* The inner loop of depthwise_conv_2d_s8_mve.c: neighboring outputs, all channels, any number of taps. */
#ifndef ARENITE_DEPTHWISE_WINDOW_S8_MVE_H
#define ARENITE_DEPTHWISE_WINDOW_S8_MVE_H

#include "depthwise_s8_mve.h"

/* p->taps points to channel 0 of every tap of the first output; `count` is at least 1. */
void ar_depthwise_window_s8_mve(const ar_depthwise_mve_params *p, int8_t *out, uint32_t count);

#endif
