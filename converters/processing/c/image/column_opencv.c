/* Resizes down a column with OpenCV's bilinear method: the values of two rows have 15 bits, and the weights 11 bits. */
#include "image_steps.h"

void ar_column_opencv(const ar_image *p, const void *rows, uint32_t first, const int32_t *weights, void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p);
    uint8_t *out = line;
    if (p->down.taps == 1) {
        const uint16_t *at = rows;
        for (uint32_t k = 0; k < values; k++) {
            out[k] = (uint8_t)(((at[k] * (uint32_t)weights[0] >> 16) + 2) >> 2);
        }
        return;
    }
    /* The low 16 bits of each product are dropped before the products are added. At the border both taps read the same
     * row: a negative weight means that its tap reads the row of the other tap. */
    const uint16_t *older = (const uint16_t *)rows + first * values;
    const uint16_t *newer = (const uint16_t *)rows + (1 - first) * values;
    const uint16_t *upper = weights[0] < 0 ? newer : older;
    const uint16_t *lower = weights[1] < 0 ? older : newer;
    const uint32_t a = (uint32_t)(weights[0] < 0 ? -weights[0] : weights[0]);
    const uint32_t b = (uint32_t)(weights[1] < 0 ? -weights[1] : weights[1]);
    for (uint32_t k = 0; k < values; k++) {
        out[k] = (uint8_t)(((upper[k] * a >> 16) + (lower[k] * b >> 16) + 2) >> 2);
    }
}
