/* The body of FULLY_CONNECTED with int16 activations, on cores with the DSP extension. The file that includes this file
 * must first define:
 *     FULLY_CONNECTED  the name of the function
 *     SUM              the type of a sum
 *     SUMS             the function that computes the sums of four units from unit `c` and returns the next quad */
#include "fixed_point.h"
#include "real_scale.h"

/* Returns ar_scale_real(x, mantissa, exponent).
 *
 * A multiplier with the upper 31 bits of the mantissa gives a product that is too small by less than 2^32. So the upper
 * word of the product gives the result, unless the product is closer than that to a value halfway between two
 * results. */
static inline int32_t scale(SUM x, uint64_t mantissa, int exponent)
{
    const uint32_t shift = (uint32_t)(-22 - 32 - exponent); /* of the upper word */
    /* The condition is true if x fits into 32 bits and the shift is in [4, 30]. */
    if (x == (int32_t)x && shift - 4 <= 30 - 4) {
        const int32_t multiplier = (int32_t)(mantissa >> 22);
        const int32_t high = (int32_t)((int64_t)(int32_t)x * multiplier >> 32) + (1 << (shift - 1));
        /* The condition is true if the fraction, which is the low `shift` bits, is neither 0 nor all ones. */
        if ((((uint32_t)high + 1) << (32 - shift)) > (1u << (32 - shift))) {
            return high >> shift;
        }
    }
    return ar_scale_real(x, mantissa, exponent);
}

void FULLY_CONNECTED(const ar_fully_connected_s16_dsp_params *p)
{
    const int16_t *in = p->input;
    int16_t *out = p->output;
    for (uint32_t batch = p->batches; batch != 0; batch--, in += p->depth) {
        const int16_t *row = in;
        if (p->scratch) { /* zeros fill up the last group */
            uint32_t i = 0;
            for (; i < p->depth; i++) {
                p->scratch[i] = in[i];
            }
            for (; i & 7; i++) {
                p->scratch[i] = 0;
            }
            row = p->scratch;
        }
        const int32_t *quad = p->filters;
        const uint64_t *mantissa = p->multiplier;
        const int8_t *exponent = p->shift;
        for (int32_t c = 0; c < p->units; c += 4) {
            SUM sums[4];
            quad = SUMS(p, c, sums, (const int32_t *)(const void *)row, quad);
            const int32_t units = p->units - c < 4 ? p->units - c : 4;
            for (int32_t k = 0; k < units; k++) {
                *out++ = (int16_t)ar_clamp(scale(sums[k], *mantissa, *exponent), p->act_min, p->act_max);
                mantissa += p->per_channel;
                exponent += p->per_channel;
            }
        }
    }
}
