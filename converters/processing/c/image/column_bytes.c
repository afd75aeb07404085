/* Resizes down a column as Pillow does it: rows of bytes are summed and rounded to bytes. */
#include "image_steps.h"

void ar_column_bytes(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights, void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p);
    const uint32_t slots = p->down.taps;
    uint8_t *out = line;
    for (uint32_t k = 0; k < values; k++) {
        uint32_t sum = 1u << (AR_WEIGHT_BITS - 1);
        const int32_t *w = weights;
        const uint8_t *at = (const uint8_t *)rows + first * values + k;
        for (uint32_t slot = first; slot < slots; slot++, at += values) {
            sum += *at * (uint32_t)*w++;
        }
        at = (const uint8_t *)rows + k;
        for (uint32_t slot = 0; slot < first; slot++, at += values) {
            sum += *at * (uint32_t)*w++;
        }
        out[k] = (uint8_t)(sum >> AR_WEIGHT_BITS);
    }
}
