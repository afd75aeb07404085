/* ARG_MAX and ARG_MIN write the index of the first largest or first smallest value. */
#include "element.h"
#include "select_axis.h"

void ar_arg(const ar_arg_params *p)
{
    const uint32_t element = ar_element_size(p->type);
    const uint32_t step = p->inner * element;
    uint32_t k = 0;

    for (uint32_t outer = 0; outer < p->outer; outer++) {
        const uint8_t *row = (const uint8_t *)p->input + outer * p->axis * step;
        for (uint32_t inner = 0; inner < p->inner; inner++) {
            const uint8_t *in = row + inner * element;
            int32_t best = ar_load(in, p->type);
            uint32_t index = 0;
            for (uint32_t i = 1; i < p->axis; i++) {
                in += step;
                const int32_t value = ar_load(in, p->type);
                if (p->smallest ? value < best : value > best) {
                    best = value;
                    index = i;
                }
            }
            if (p->index_bytes == 4) {
                ((int32_t *)p->output)[k] = (int32_t)index;
            } else {
                ((int64_t *)p->output)[k] = index;
            }
            k++;
        }
    }
}
