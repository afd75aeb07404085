/* SVDF: a fully connected layer of low rank over a window of past inputs. */
#ifndef ARENITE_SVDF_H
#define ARENITE_SVDF_H

#include <stdint.h>

typedef struct {
    const int8_t *input;   /* [batches][inputs] */
    int8_t *output;        /* [batches][units] */
    const int8_t *feature; /* [units * rank][inputs] */
    const void *time;      /* int16_t or int8_t [units * rank][memory] */
    const int32_t *bias;   /* [units]; 0 if there is no bias */
    void *state; /* int16_t or int8_t [batches][units * rank][memory]; the newest value is the last */
    int32_t multiplier_1; /* scales a sum of feature products to the state */
    int32_t multiplier_2; /* scales a sum of time products to the output */
    uint16_t batches, inputs, units, rank, memory;
    int8_t input_zero_point, output_zero_point;
    int8_t state_zero_point; /* of an int8 state */
    int8_t shift_1, shift_2;
} ar_svdf_params;

/* Computes SVDF with int16 state and time weights. */
void ar_svdf_s8(const ar_svdf_params *p);
/* Computes SVDF with int8 state and time weights. */
void ar_svdf_s8_state8(const ar_svdf_params *p);

#endif
