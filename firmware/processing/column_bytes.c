#include "image_steps.h"

void ar_column_bytes(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights, void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p);
    const uint32_t slots = p->down.taps;
    uint8_t *out = line;
    for (uint32_t k = 0; k < values; k++) {
        uint32_t sum = 1u << (AR_WEIGHT_BITS - 1);
        uint32_t slot = first;
        for (uint32_t t = 0; t < slots; t++) {
            sum += ((const uint8_t *)rows)[slot * values + k] * (uint32_t)weights[t];
            slot = slot + 1 == slots ? 0 : slot + 1;
        }
        out[k] = (uint8_t)(sum >> AR_WEIGHT_BITS);
    }
}
