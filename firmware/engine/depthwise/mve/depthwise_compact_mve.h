/* DEPTHWISE_CONV_2D, int8, for Helium in builds for small flash, with one output channel per input channel.
 *
 * Sixteen channels are computed at a time, as depthwise_s8_mve.h describes. The weights are int8 [blocks][taps][16], in
 * plain order; the constants of a block are a record of 16 lanes (compact_layer_mve.h). With 1, 2, 4 or 8 channels and
 * stride 1, a block holds several neighboring pixels: its weights repeat those of the channels.
 *
 * The scratch memory has the records, then the addresses of a window's taps, then a row of padding,
 * in_w * in_c + 15 bytes, if a tap can be outside the image. The kernels read up to 15 bytes after the last channel of an
 * input row. These bytes do not affect the results.
 */
#ifndef ARENITE_DEPTHWISE_COMPACT_MVE_H
#define ARENITE_DEPTHWISE_COMPACT_MVE_H

#include "compact_layer_mve.h"

/* Neighboring outputs of one row. */
typedef struct {
    const int8_t *records;
    const int8_t *weights;
    int32_t channels;          /* of an output */
    int32_t zero;              /* ar_compact_zero */
    const int8_t *const *taps; /* addresses of the inputs of the first output */
    int8_t *out;
    const int8_t *out_end; /* the address of the output after the last one */
    /* Distances between the outputs and between their taps, less the channels, rounded up to a multiple of 16. */
    int32_t tap_step, out_step;
    int32_t tap_count;
} ar_depthwise_compact_run;

/* Compute a layer with any window, and with windows of 3 x 3. */
void ar_depthwise_compact_s8_mve(const ar_compact_layer_mve *p);
void ar_depthwise_3x3_compact_s8_mve(const ar_compact_layer_mve *p);

/* Compute neighboring outputs. */
void ar_depthwise_compact_run_mve(const ar_depthwise_compact_run *d);
void ar_depthwise_3x3_compact_run_mve(const ar_depthwise_compact_run *d);

#endif
