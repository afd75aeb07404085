/* CAST from integers to float32. */
#include "cast.h"

#include "element.h"

void ar_cast_to_f32(const ar_cast_params *p)
{
    const uint8_t *in = p->input;
    float *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        out[i] = (float)ar_load(in, p->input_type);
        in += ar_element_size(p->input_type);
    }
}
