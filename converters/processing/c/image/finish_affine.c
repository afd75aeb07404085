/* The last step for lines with fractional bits: normalizes and quantizes each value. */
#include "image_steps.h"

void ar_finish_affine(const ar_image *p, const void *line, void *to)
{
    const uint32_t *in = line;
    const uint32_t channels = p->channels;
    const uint32_t working = ar_working_channels(p);
    for (uint32_t x = 0; x < p->canvas_width; x++, in += working) {
        for (uint32_t c = 0; c < channels; c++) {
            ar_affine_store(&p->affine, c, in[working == 1 ? 0 : c], to, x * channels + c);
        }
    }
}
