/* SVDF with int8 activations and feature weights. The file that includes this header defines first:
 *
 * - STATE, the type of the state and of the time weights: int16_t or int8_t;
 * - STATE_MIN and STATE_MAX, its limits;
 * - STATE_ZERO_POINT(p), the zero point of the state;
 * - SVDF, the name of the kernel. */
#include "fixed_point.h"
#include "svdf.h"

/* Shifts the window of past values by one step, and appends the scaled product of `input` and the weights `feature`.
 * The zero point is added after the limits, so an int8 value can wrap around as in TensorFlow Lite Micro. */
static void push(const ar_svdf_params *p, STATE *window, const int8_t *input, const int8_t *feature)
{
    uint32_t acc = 0;
    for (uint32_t i = 0; i < p->inputs; i++) {
        acc += (uint32_t)(feature[i] * (input[i] - p->input_zero_point));
    }
    for (int32_t m = 0; m < p->memory - 1; m++) {
        window[m] = window[m + 1];
    }
    const int32_t newest = ar_requant((int32_t)acc, p->multiplier_1, p->shift_1);
    window[p->memory - 1] = (STATE)(ar_clamp(newest, STATE_MIN, STATE_MAX) + STATE_ZERO_POINT(p));
}

void SVDF(const ar_svdf_params *p)
{
    const int8_t *input = p->input;
    STATE *window = p->state;
    int8_t *out = p->output;

    for (uint32_t b = 0; b < p->batches; b++, input += p->inputs) {
        const int8_t *feature = p->feature;
        const STATE *time = p->time;
        for (uint32_t u = 0; u < p->units; u++) {
            uint32_t acc = p->bias ? (uint32_t)p->bias[u] : 0;
            for (uint32_t r = 0; r < p->rank; r++) {
                push(p, window, input, feature);
                feature += p->inputs;
                for (uint32_t m = 0; m < p->memory; m++) {
                    const int32_t product = (*window++ - STATE_ZERO_POINT(p)) * *time++;
                    acc += (uint32_t)product;
                }
            }
            const int32_t value =
                ar_requant((int32_t)acc, p->multiplier_2, p->shift_2) + p->output_zero_point;
            *out++ = (int8_t)ar_clamp(value, -128, 127);
        }
    }
}
