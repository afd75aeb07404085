/* QUANTIZE from float32. */
#include "quantize.h"

#include "element.h"
#include "fixed_point.h"
#include "float_bits.h"

void ar_quantize_f32(const ar_quantize_params *p)
{
    const int32_t low = p->type == AR_INT8 ? INT8_MIN : p->type == AR_INT16 ? INT16_MIN : 0;
    const int32_t high = p->type == AR_INT8 ? INT8_MAX : p->type == AR_INT16 ? INT16_MAX : UINT8_MAX;
    const float *in = p->input;
    uint8_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t bits = ar_float_bits(in[i] / p->scale);
        const uint32_t magnitude = ar_float_magnitude(bits, 1);
        /* A value that does not fit in int32 becomes the smallest int32, and the sum wraps, as in LiteRT on x86. */
        const uint32_t rounded = bits >> 31 ? 0u - magnitude : magnitude;
        const int32_t y = (int32_t)(rounded + (uint32_t)p->zero_point);
        ar_store(out, p->type, ar_clamp(y, low, high));
        out += ar_element_size(p->type);
    }
}
