/* CAST from float32. It computes with the bits of the values, so the core needs no floating-point unit. */
#include "cast.h"

#include "element.h"
#include "float_bits.h"

/* Returns the float32 value with these bits, rounded towards zero and saturated to the integer type. Returns the type's
 * largest value for NaN. */
static int32_t saturated(uint32_t bits, uint32_t type)
{
    const uint32_t high = type == AR_INT32   ? INT32_MAX
                          : type == AR_INT16 ? INT16_MAX
                          : type == AR_INT8  ? INT8_MAX
                                             : UINT8_MAX;
    const uint32_t low = type == AR_UINT8 ? 0 : high + 1; /* magnitude of the smallest value */
    const uint32_t magnitude = ar_float_magnitude(bits, 0);
    const int is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    if (bits >> 31 && !is_nan) {
        return (int32_t)(0u - (magnitude > low ? low : magnitude));
    }
    return (int32_t)(magnitude > high ? high : magnitude);
}

void ar_cast_from_f32(const ar_cast_params *p)
{
    const float *in = p->input;
    uint8_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t bits = ar_float_bits(in[i]);
        if (p->output_type == AR_BOOL) {
            *out = bits << 1 != 0; /* +0 and -0 are false */
        } else {
            ar_store(out, p->output_type, saturated(bits, p->output_type));
        }
        out += ar_element_size(p->output_type);
    }
}
