/* FULLY_CONNECTED, int8, on cores with the DSP extension, with little code: for builds for small flash. */
#ifndef ARENITE_FULLY_CONNECTED_S8_COMPACT_DSP_H
#define ARENITE_FULLY_CONNECTED_S8_COMPACT_DSP_H

#include <stdint.h>

/* The weights of two units share an int16, as in dot_s8_dsp.h. A pair of units has two words,
 * 256 * (bias of the first unit) + (bias of the second unit), and the bias of the second unit minus the products of its
 * weights 0 and 1, 2 and 3, and so on (see row_dot_s8_dsp.h), then a word for every two inputs. If the number of units is
 * odd, the last pair has zeros for the second one. */
typedef struct {
    const int8_t *input;       /* [batches][depth] */
    int8_t *output;            /* [batches][units] */
    const int32_t *pairs;      /* [(units + 1) / 2][2 + 4 * rounds] */
    const int32_t *multiplier; /* of ar_requant_once: for each unit, or one for all units */
    const int8_t *shift;
    int32_t *scratch; /* a row of inputs, minus the zero point, as int16 [8 * rounds] */
    uint32_t batches;
    uint16_t depth, units;
    uint16_t rounds; /* depth / 8, rounded up */
    int8_t input_zero, output_zero;
    uint8_t per_channel; /* 1: one multiplier and shift per unit; 0: one for all units */
} ar_fully_connected_compact_params;

void ar_fully_connected_s8_compact_dsp(const ar_fully_connected_compact_params *p);

#endif
