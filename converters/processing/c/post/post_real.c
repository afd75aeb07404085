/* Converts outputs to real numbers in fixed point, with their scale and zero point. */
#include "post.h"

#define LOG2E 387270501 /* log2(e) with 28 fractional bits */

/* Converts a float to 16 fractional bits. Its magnitude is clipped to 32000; NaN becomes 0. */
static int32_t fixed(float value)
{
    /* A comparison with NaN is false. */
    const float above = value > -32000.0f ? value : value == value ? -32000.0f : 0.0f;
    const float cut = above < 32000.0f ? above : 32000.0f;
    return (int32_t)(cut * 65536.0f);
}

int32_t ar_real(const ar_affine *affine, uint32_t channel, const void *data, uint32_t dtype, uint32_t index)
{
    return ar_affine_stored(affine, channel,
                            dtype == AR_POST_FLOAT32 ? fixed(((const float *)data)[index])
                                                     : ar_key(data, dtype, index));
}

int32_t ar_real_of_key(const ar_affine *affine, uint32_t dtype, int32_t key)
{
    if (dtype != AR_POST_FLOAT32) {
        return ar_affine_stored(affine, 0, key);
    }
    const union {
        int32_t bits;
        float value;
    } u = {key < 0 ? INT32_MIN - (key + 1) : key};
    return ar_affine_stored(affine, 0, fixed(u.value));
}

int32_t ar_exponential(const uint32_t *powers, int32_t value)
{
    const int32_t most = 10 << 16;
    const int32_t cut = value < -most ? -most : value > most ? most : value;
    const int32_t power = (int32_t)(((int64_t)cut * LOG2E) >> 28);
    const uint32_t step = (uint32_t)power >> 9 & 127u;
    const uint64_t rise = (uint64_t)(powers[step + 1] - powers[step]) * ((uint32_t)power & 511u) >> 9;
    return (int32_t)((powers[step] + rise) >> (14 - (power >> 16)));
}

int32_t ar_sigmoid(const uint32_t *powers, int32_t value)
{
    const int32_t most = 10 << 16;
    const int32_t cut = value < -most ? -most : value;
    return (int32_t)(((uint64_t)1 << 32) / (65536u + (uint32_t)ar_exponential(powers, -cut)));
}
