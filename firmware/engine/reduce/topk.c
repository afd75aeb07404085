/* TOPK_V2 makes k passes, each of which finds the next largest value. It needs no scratch memory. */
#include "element.h"
#include "select_axis.h"

void ar_topk(const ar_topk_params *p)
{
    const uint32_t element = ar_element_size(p->type);
    const uint32_t index_size = ar_element_size(p->index_type);
    const uint8_t *row = p->input;
    uint8_t *values = p->values;
    uint8_t *indices = p->indices;

    for (uint32_t r = 0; r < p->rows; r++) {
        int32_t last = 0; /* the value that the previous pass found; its index is last_index */
        uint32_t last_index = 0;
        for (uint32_t k = 0; k < p->k; k++) {
            int32_t best = 0;
            uint32_t best_index = p->axis;
            for (uint32_t i = 0; i < p->axis; i++) {
                const int32_t value = ar_load(row + i * element, p->type);
                const int is_candidate = k == 0 || value < last || (value == last && i > last_index);
                if (is_candidate && (best_index == p->axis || value > best)) {
                    best = value;
                    best_index = i;
                }
            }
            last = best;
            last_index = best_index;
            ar_store(values, p->type, best);
            ar_store(indices, p->index_type, (int32_t)best_index);
            values += element;
            indices += index_size;
        }
        row += p->axis * element;
    }
}
