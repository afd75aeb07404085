/* The inner loops of depthwise_tiles_s8_mve.c. */
#ifndef ARENITE_DEPTHWISE_TILES_RUN_S8_MVE_H
#define ARENITE_DEPTHWISE_TILES_RUN_S8_MVE_H

#include <stdint.h>

enum {
    AR_DEPTHWISE_TILES_CONSTANTS = 9, /* words of a channel's constants */
    AR_DEPTHWISE_TILES_PASS = 12 /* words of a pass in the table, at stride 1; at stride 2 it has 20 words */
};

typedef struct {
    const uint32_t *strips;
    int8_t *out;     /* channel 0 of the group's first output */
    int8_t *out_end; /* out + channels */
    const int32_t *constants;
    const uint32_t *passes; /* depthwise_tiles_s8_mve.h describes constants and passes */
    uint32_t pass_count;    /* at least 1 */
    uint32_t two_sided;
    uint32_t pair_step; /* at stride 2: the bytes from the inputs of an output to those of its neighbor */
} ar_depthwise_tiles_run;

/* Interleaves `bytes` (at least 16) bytes of four rows to words. */
void ar_interleave_rows_mve(const int8_t *const *rows, uint32_t *words, uint32_t bytes);

/* Compute all channels of a group's outputs, at stride 1 and at stride 2. */
void ar_depthwise_tiles_s1_mve(const ar_depthwise_tiles_run *d);
void ar_depthwise_tiles_s2_mve(const ar_depthwise_tiles_run *d);

#endif
