/* SQRT of int16. Like LiteRT it computes in float32, and rounds the quotient (root / output scale) towards zero. */
#include "sqrt_s16.h"

#include "float_bits.h"

/* Returns the square root of a normal positive float, correctly rounded. */
static float square_root(float x)
{
    const uint32_t bits = ar_float_bits(x);
    const int exponent = (int)(bits >> 23) - 127;
    /* The radicand has 49 or 50 bits, so the root has 25 bits: 24 bits and one for rounding. There are no ties. */
    uint64_t rest = (uint64_t)((bits & 0x7FFFFFu) | 0x800000u) << (25 + (exponent & 1));
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 48; bit != 0; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    const uint32_t rounded = ((uint32_t)root + 1) >> 1; /* 2^23 to 2^24; 2^24 makes the exponent one larger */
    return ar_float_from_bits(((uint32_t)((exponent >> 1) + 126) << 23) + rounded);
}

void ar_sqrt_s16(const ar_sqrt_s16_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t result = 0;
        if (in[i] > 0) {
            const float root = square_root(p->input_scale * (float)in[i]);
            result = ar_float_magnitude(ar_float_bits(root / p->output_scale), 0);
        }
        out[i] = (int16_t)(result > INT16_MAX ? INT16_MAX : result);
    }
}
