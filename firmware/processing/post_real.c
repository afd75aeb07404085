#include "post.h"

int32_t ar_real(const ar_affine *affine, const void *data, uint32_t dtype, uint32_t index)
{
    if (dtype != AR_POST_FLOAT32) {
        return ar_affine_stored(affine, 0, ar_key(data, dtype, index));
    }
    const float value = ((const float *)data)[index];
    /* A comparison with a NaN is false. */
    const float above = value > -32000.0f ? value : value == value ? -32000.0f : 0.0f;
    const float cut = above < 32000.0f ? above : 32000.0f;
    return ar_affine_stored(affine, 0, (int32_t)(cut * 65536.0f));
}
