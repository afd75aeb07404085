/* Requantizes and clamps the sums of neighboring channels, see affine_requant.h. */
#include "affine_requant.h"

/* With -Os GCC has too few registers for the hand-written loop, so it gets plain C. */
#if defined(__arm__) && defined(AR_NO_LONG_PRODUCT) && !defined(AR_ANY_CORE) && !defined(__OPTIMIZE_SIZE__)
#include "affine_requant_thumb1.h"
#else

/* Computes the outputs from `out` to `end`; `rounding` is the rounding constant. */
static inline __attribute__((always_inline)) void ar_affine_loop(int two_sided, const int32_t *sum,
                                                                 const int32_t *bias,
                                                                 const int32_t *multiplier, int32_t rounding,
                                                                 int shift, int8_t *out, const int8_t *end)
{
    while (out != end) {
        *out++ = ar_affine_s8(ar_affine_x(*sum++, *bias++, two_sided), *multiplier++, rounding, shift);
    }
}

#endif

void ar_affine_channels_s8(const ar_affine *a, const int32_t *sum, const int32_t *bias,
                           const int32_t *multiplier, int8_t *out, int32_t count)
{
    const int shift = a->shift;
    const int32_t rounding = (2 * a->zero_point + 1) * (1 << (shift - 1));
    const int8_t *end = out + count;

    if (a->two_sided) {
        ar_affine_loop(1, sum, bias, multiplier, rounding, shift, out, end);
    } else {
        ar_affine_loop(0, sum, bias, multiplier, rounding, shift, out, end);
    }
}

void ar_clamp_channels_s8(int8_t *out, int32_t count, int32_t low, int32_t high)
{
    ar_clamp_s8(out, count, low, high);
}
