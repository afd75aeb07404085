/* NEG and ABS of integers without quantization. */
#include "negate.h"

#include "element.h"

void ar_negate(const ar_negate_params *p)
{
    const uint32_t bytes = p->count * ar_element_size(p->type);
    const uint8_t *in = p->input;
    uint8_t *out = p->output;
    for (uint32_t at = 0; at < bytes; at += ar_element_size(p->type)) {
        const int32_t x = ar_load(in + at, p->type);
        ar_store(out + at, p->type, p->only_negative && x >= 0 ? x : (int32_t)(0u - (uint32_t)x));
    }
}
