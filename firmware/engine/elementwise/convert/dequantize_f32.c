/* DEQUANTIZE to float32. */
#include "quantize.h"

#include "element.h"

void ar_dequantize_f32(const ar_quantize_params *p)
{
    const uint8_t *in = p->input;
    float *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        /* The difference is exact in float32, so this rounds once, as a product in double would. */
        out[i] = p->scale * (float)(ar_load(in, p->type) - p->zero_point);
        in += ar_element_size(p->type);
    }
}
