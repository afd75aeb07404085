/* The inner loop of depthwise_3x3_s8_mve.c: neighboring outputs of one row, all channels. */
#ifndef ARENITE_DEPTHWISE_3X3_RUN_S8_MVE_H
#define ARENITE_DEPTHWISE_3X3_RUN_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *taps[9];  /* channel 0 of each tap of the first output */
    const int32_t *weights; /* layouts: depthwise_s8_mve.h */
    const int32_t *scales;
    int8_t *out;
    const int8_t *out_end; /* out + outputs * channels */
    int32_t channels;
    int32_t
        tap_step; /* added to the taps after all blocks of an output; each block has advanced them by 16 */
    int32_t out_step; /* the same for the output */
    int32_t zero;     /* low half: the output's zero point; bit 16: two_sided */
} ar_depthwise_3x3_run;

void ar_depthwise_3x3_run_s8_mve(const ar_depthwise_3x3_run *d);

#endif
