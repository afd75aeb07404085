/* The inner loop of depthwise_3x3_s8_mve.c. It computes all channels of neighboring outputs of one row. */
#ifndef ARENITE_DEPTHWISE_3X3_RUN_S8_MVE_H
#define ARENITE_DEPTHWISE_3X3_RUN_S8_MVE_H

#include <stdint.h>

typedef struct {
    const int8_t *taps[9];  /* the addresses of channel 0 of the first output's nine inputs */
    const int32_t *weights; /* depthwise_s8_mve.h describes the layouts of weights and scales */
    const int32_t *scales;
    int8_t *out;
    const int8_t *out_end; /* out + outputs * channels */
    int32_t channels;
    /* Added to the addresses of the taps and of the output after all blocks of an output pixel. Before that, each
     * block of sixteen channels has advanced these addresses by 16. */
    int32_t tap_step;
    int32_t out_step;
    int32_t zero; /* low half: the output's zero point; bit 16: two_sided, see depthwise_s8_mve.h */
} ar_depthwise_3x3_run;

void ar_depthwise_3x3_run_s8_mve(const ar_depthwise_3x3_run *d);

#endif
