/* QUANTIZE of integers, and RELU of int16. */
#include "requantize.h"

#include "element.h"
#include "fixed_point.h"

void ar_requantize(const ar_requantize_params *p)
{
    const uint8_t *in = p->input;
    uint8_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        /* If the inputs are int32, adding an offset may wrap, as in LiteRT. */
        const int32_t x = (int32_t)((uint32_t)ar_load(in, p->input_type) + (uint32_t)p->input_offset);
        const int32_t scaled = ar_requant(x, p->multiplier, p->shift);
        const int32_t y = (int32_t)((uint32_t)scaled + (uint32_t)p->output_offset);
        ar_store(out, p->output_type, ar_clamp(y, p->act_min, p->act_max));
        in += ar_element_size(p->input_type);
        out += ar_element_size(p->output_type);
    }
}
