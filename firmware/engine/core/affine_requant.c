/* Requantizes and clamps the sums of neighboring channels, see affine_requant.h. */
#include "affine_requant.h"

void ar_affine_channels_s8(const ar_affine *a, const int32_t *sum, const int32_t *bias,
                           const int32_t *multiplier, int8_t *out, int32_t count)
{
    const int shift = a->shift;
    const int32_t rounding = (2 * a->zero_point + 1) * (1 << (shift - 1));
    const int8_t *end = out + count;

    if (a->two_sided) {
        while (out != end) {
            *out++ = ar_affine_s8(ar_affine_x(*sum++, *bias++, 1), *multiplier++, rounding, shift);
        }
    } else {
        while (out != end) {
            *out++ = ar_affine_s8(ar_affine_x(*sum++, *bias++, 0), *multiplier++, rounding, shift);
        }
    }
}

void ar_clamp_channels_s8(int8_t *out, int32_t count, int32_t low, int32_t high)
{
    ar_clamp_s8(out, count, low, high);
}
