#include "image_steps.h"

void ar_column_opencv(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights, void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p);
    const uint32_t slots = p->down.taps;
    uint8_t *out = line;
    for (uint32_t k = 0; k < values; k++) {
        uint32_t sum = 2;
        uint32_t slot = first;
        for (uint32_t t = 0; t < slots; t++) {
            /* Each product is cut before the sum. */
            sum += ((const uint16_t *)rows)[slot * values + k] * (uint32_t)weights[t] >> 16;
            slot = slot + 1 == slots ? 0 : slot + 1;
        }
        out[k] = (uint8_t)(sum >> 2);
    }
}
