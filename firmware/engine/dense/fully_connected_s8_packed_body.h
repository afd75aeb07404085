/* The body of FULLY_CONNECTED, int8, with packed weights: computes one unit after the other. The file that includes
 * this file must first define:
 *     FULLY_CONNECTED                the name of the function
 *     MULTIPLIER                     the type of a multiplier
 *     SCALE(sum, multiplier, shift)  the output for a sum, minus the output's zero point */
#include "fixed_point.h"
#include "fully_connected_packed.h"

void FULLY_CONNECTED(const ar_fully_connected_packed_params *params)
{
    const ar_fully_connected_params *p = &params->layer;
    const int32_t *bias = p->bias;
    const MULTIPLIER *multiplier = p->multiplier;
    const int32_t weights_offset = p->weights_offset;
    const int32_t input_offset = p->input_offset;
    ar_packed_place place = {0, 0};

    for (int32_t c = 0; c < p->units; c++) {
        const int32_t k = p->per_channel ? c : 0;
        const int8_t *in = p->input;
        int8_t *out = (int8_t *)p->output + c;
        ar_unpack(&params->packed, &place, params->row, p->depth);
        for (uint32_t b = 0; b < p->batches; b++, in += p->depth, out += p->units) {
            const int8_t *w = params->row;
            const int8_t *const end = w + p->depth;
            const int8_t *a = in;
            int32_t acc = bias ? bias[c] : 0;
            while (w != end) {
                acc += (*w++ + weights_offset) * (*a++ + input_offset);
            }
            acc = SCALE(acc, multiplier[k], p->shift[k]) + p->output_offset;
            *out = (int8_t)ar_clamp(acc, p->act_min, p->act_max);
        }
    }
}
