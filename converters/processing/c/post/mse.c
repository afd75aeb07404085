/* The anomaly score of an autoencoder: the mean squared error between its input and its output. */
#include "post.h"

#define MAX_DIFFERENCE (1 << 25) /* 512, with 16 fractional bits */

float ar_mse(const ar_squares *p, const void *input, const void *output)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t difference = (int64_t)ar_real(&p->output, 0, output, p->output_dtype, i) -
                             ar_real(&p->input, 0, input, p->input_dtype, i);
        if (difference < -MAX_DIFFERENCE) {
            difference = -MAX_DIFFERENCE;
        } else if (difference > MAX_DIFFERENCE) {
            difference = MAX_DIFFERENCE;
        }
        sum += (uint64_t)(difference * difference);
    }
    return (float)sum * p->unit;
}
