/* The inner loop of depthwise_conv_2d_s8_mve.c. It computes all channels of neighboring outputs, for any number of
 * taps. */
#ifndef ARENITE_DEPTHWISE_WINDOW_S8_MVE_H
#define ARENITE_DEPTHWISE_WINDOW_S8_MVE_H

#include "depthwise_s8_mve.h"

/* Computes `count` (at least 1) outputs. p->taps has the addresses of channel 0 of the first output's inputs. */
void ar_depthwise_window_s8_mve(const ar_depthwise_mve_params *p, int8_t *out, uint32_t count);

#endif
