/* A template that converts a line of bytes with tables. Define AR_FINISH as the name of the function and AR_ELEMENT
 * as the type of an element, and include this file. */
#include "image_steps.h"

void AR_FINISH(const ar_image *p, const void *line, void *to)
{
    const uint8_t *in = line;
    const AR_ELEMENT *table = p->table;
    AR_ELEMENT *out = to;
    const uint32_t channels = p->channels;
    const uint32_t next_table = p->per_channel ? 256 : 0;
    const uint32_t working = ar_working_channels(p);
    const uint32_t red = p->working == AR_BGR ? 2 : 0;
    if (working == channels && !p->late_grey && !next_table) {
        const uint32_t values = p->canvas_width * channels;
        for (uint32_t k = 0; k < values; k++) {
            out[k] = table[in[k]];
        }
        return;
    }
    if (working == 3 && !p->late_grey) {
        const AR_ELEMENT *second = table + next_table;
        const AR_ELEMENT *third = second + next_table;
        for (uint32_t x = p->canvas_width; x > 0; x--, in += 3, out += 3) {
            out[0] = table[in[0]];
            out[1] = second[in[1]];
            out[2] = third[in[2]];
        }
        return;
    }
    for (uint32_t x = 0; x < p->canvas_width; x++, in += working) {
        const uint8_t value = working == 1 ? in[0] : ar_grey(p, in[red], in[1], in[2 - red]);
        for (uint32_t c = 0; c < channels; c++) {
            *out++ = table[c * next_table + value];
        }
    }
}
