/* LOG_SOFTMAX along the last axis. */
#ifndef ARENITE_LOG_SOFTMAX_H
#define ARENITE_LOG_SOFTMAX_H

#include <stdint.h>

typedef struct {
    const int8_t *input; /* [rows][depth] */
    int8_t *output;      /* scale 1/16, zero point 127 */
    uint32_t rows;
    int32_t multiplier;         /* converts an input difference to Q5.26, see exp_fixed.h */
    int32_t reverse_multiplier; /* converts Q5.26 to an input difference */
    int32_t diff_min;           /* exp is 0 where the input minus the row's maximum is less than this */
    uint16_t depth;
    int8_t shift, reverse_shift;
} ar_log_softmax_params;

void ar_log_softmax_s8(const ar_log_softmax_params *p);

#endif
