/* L2_NORMALIZATION along the last axis. */
#ifndef ARENITE_L2_NORMALIZATION_H
#define ARENITE_L2_NORMALIZATION_H

#include <stdint.h>

typedef struct {
    const int8_t *input; /* [rows][depth] */
    int8_t *output;      /* scale 1/128, zero point 0 */
    uint32_t rows;
    uint16_t depth;
    int16_t input_offset; /* minus the input's zero point */
} ar_l2_normalization_params;

void ar_l2_normalization_s8(const ar_l2_normalization_params *p);

#endif
