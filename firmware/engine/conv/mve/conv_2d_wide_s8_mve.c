/* CONV_2D, int8, for Helium: 1 x 1 filters of 64 or 128 input channels, without a loop over the channels. */
#include "conv_2d_wide_s8_mve.h"

#include "vector_s8_mve.h"

static void clamp(const ar_conv_2d_wide_params *p)
{
    if (p->act_min > INT8_MIN || p->act_max < INT8_MAX) {
        ar_clamp_s8_mve(p->output, p->act_min, p->act_max, (int32_t)(p->pixels * p->gemm.out_c));
    }
}

/* If the number of pixels is odd, the last one is computed together with the one before it. */
void ar_conv_2d_depth64_s8_mve(const ar_conv_2d_wide_params *p)
{
    const uint32_t last = p->pixels - 2;
    ar_gemm_depth64_mve(&p->gemm, p->input, p->pixels / 2 * 2, p->output);
    if (p->pixels % 2 != 0) {
        ar_gemm_depth64_mve(&p->gemm, p->input + last * 64, 2, p->output + last * p->gemm.out_c);
    }
    clamp(p);
}

void ar_conv_2d_depth128_s8_mve(const ar_conv_2d_wide_params *p)
{
    const uint32_t last = p->pixels - 2;
    ar_gemm_depth128_mve(&p->gemm, p->input, p->pixels / 2 * 2, p->output);
    if (p->pixels % 2 != 0) {
        ar_gemm_depth128_mve(&p->gemm, p->input + last * 128, 2, p->output + last * p->gemm.out_c);
    }
    clamp(p);
}
