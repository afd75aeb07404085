/* SOFTMAX of two values, int8: both outputs depend on the difference of the inputs only, so they are in a table. */
#include "softmax.h"

void ar_softmax_of_two_s8(const ar_softmax_of_two_params *p)
{
    const int8_t *in = p->input;
    int8_t *out = p->output;
    for (uint32_t left = p->rows; left != 0; left--, in += 2, out += 2) {
        int32_t difference = in[0] - in[1];
        const int32_t larger = difference < 0; /* which of the inputs is the larger one */
        difference = larger ? -difference : difference;
        const int32_t outputs = p->outputs[difference < p->last ? difference : p->last];
        out[larger] = (int8_t)(outputs >> 1);
        out[1 - larger] = (int8_t)(-(outputs >> 1) - (outputs & 1));
    }
}
