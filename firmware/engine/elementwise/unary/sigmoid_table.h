/* LOGISTIC and TANH of int16, by linear interpolation in one table: tanh(x) = 2 sigmoid(2x) - 1. */
#ifndef ARENITE_SIGMOID_TABLE_H
#define ARENITE_SIGMOID_TABLE_H

#include <stdint.h>

typedef struct {
    const void *input;
    void *output;
    const uint16_t *table; /* [256]: entry i is sigmoid(i / 24) with 16 fraction bits */
    uint32_t count;
    int32_t multiplier; /* converts inputs, together with the shift, to steps of 1 / 12288 */
    uint8_t shift;      /* a right shift with rounding */
} ar_sigmoid_table_params;

void ar_table_logistic_s16(const ar_sigmoid_table_params *p);
void ar_table_tanh_s16(const ar_sigmoid_table_params *p);

/* Returns the input x, converted to steps of 1 / 12288. 512 steps are the distance between two table entries. */
static inline int32_t ar_sigmoid_input(const ar_sigmoid_table_params *p, int32_t x)
{
    const uint32_t round = p->shift > 0 ? 1u << (p->shift - 1) : 0;
    return (int32_t)((uint32_t)x * (uint32_t)p->multiplier + round) >> p->shift;
}

#endif
