/* SELECT and SELECT_V2. */
#include "select.h"

void ar_select(const ar_select_params *p)
{
    const uint32_t size = p->element_size;
    uint8_t *out = p->output;
    ar_rows rows;
    ar_rows_start(&rows, p->condition, p->if_true, p->if_false);
    do {
        const uint8_t *condition = rows.in[0];
        const uint8_t *if_true = rows.in[1];
        const uint8_t *if_false = rows.in[2];
        for (uint32_t i = p->shape.inner; i != 0; i--) {
            const uint8_t *source = *condition ? if_true : if_false;
            for (uint32_t k = 0; k < size; k++) {
                *out++ = source[k];
            }
            condition += p->shape.inner_step[0];
            if_true += size * p->shape.inner_step[1];
            if_false += size * p->shape.inner_step[2];
        }
    } while (ar_rows_next(&rows, &p->shape));
}
