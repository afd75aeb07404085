/* Computes one row of a layer whose weights are int4 in flash. First it unpacks the weights to int8. */
#include "unpacked_row.h"

void ar_unpacked_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_unpacked_row_params *p = params;
    ar_unpack4(&p->unpack);
    p->run(p->params, rows, out);
}
