/* Runs a body of layers once per step. */
#include "loop.h"

#include "copy.h"

/* Makes `count` copies of step `step`, and returns the copy after them. */
static const ar_loop_copy *copy(const ar_loop_copy *c, uint32_t count, int32_t step)
{
    for (const ar_loop_copy *end = c + count; c != end; c++) {
        ar_copy_bytes((uint8_t *)c->to + step * c->to_stride,
                      (const uint8_t *)c->from + step * c->from_stride, c->bytes);
    }
    return c;
}

void ar_loop(const ar_loop_params *p)
{
    const ar_loop_copy *const before = copy(p->copies, p->first, 0);
    const ar_loop_copy *last = before;

    for (int32_t step = 0; step < p->steps; step++) {
        const ar_loop_copy *const after = copy(before, p->before, step);
        for (uint32_t k = 0; k < p->layer_count; k++) {
            p->layers[k]();
        }
        last = copy(after, p->after, step);
    }
    copy(last, p->last, 0);
}
