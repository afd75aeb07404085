/* SOFTMAX along the last axis. */
#ifndef ARENITE_SOFTMAX_H
#define ARENITE_SOFTMAX_H

#include <stdint.h>

typedef struct {
    const void *input; /* [rows][depth] */
    void *output;
    uint32_t rows;
    int32_t multiplier; /* converts an input difference to Q5.26, see exp_fixed.h */
    uint16_t depth;
    int16_t diff_min; /* exp is 0 where the input minus the row's maximum is less than this */
    uint8_t shift;
} ar_softmax_params;

/* int8 output. */
void ar_softmax_s8(const ar_softmax_params *p);
/* int16 output. */
void ar_softmax_s8_s16(const ar_softmax_params *p);

typedef struct {
    const int8_t *input; /* [rows][2] */
    int8_t *output;
    /* [last + 1], by the difference of the inputs: twice the output x of the larger one, plus 1 if that of the smaller one is
     * -x - 1, not -x. Larger differences have the outputs of `last`. */
    const uint8_t *outputs;
    uint32_t rows;
    uint8_t last;
} ar_softmax_of_two_params;

/* int8 input and output, depth 2. */
void ar_softmax_of_two_s8(const ar_softmax_of_two_params *p);

typedef struct {
    const int16_t *input; /* [rows][depth] */
    int16_t *output;
    const int16_t *exp_table;        /* [513]: exp on [-10, 0], see lut_s16.h */
    const int16_t *reciprocal_table; /* [513]: 1 / (1 + x) on [0, 1] */
    uint32_t rows;
    int32_t multiplier; /* converts an input difference to steps of 10 / 65535 */
    uint16_t depth;
    int8_t shift;
} ar_softmax_s16_params;

void ar_softmax_s16(const ar_softmax_s16_params *p);

#endif
