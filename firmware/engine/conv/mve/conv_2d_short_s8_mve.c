/* CONV_2D, int8, for Helium: multiplies four pixels at a time with filters of at most 48 values. */
#include "conv_2d_short_s8_mve.h"

#include "strip_s8_mve.h"

/* Functions that are inlined, so that the references to the inner loops are in the functions that call them. */
#define INLINE static inline __attribute__((always_inline))

typedef void (*gemm4_fn)(const ar_gemm4_params *p, const int8_t *x, uint32_t step, uint32_t pixels,
                         int8_t *out);

static inline void clamp(const ar_conv_2d_mve_params *c, int32_t bytes)
{
    if (c->act_min > INT8_MIN || c->act_max < INT8_MAX) {
        ar_clamp_s8_mve(c->output, c->act_min, c->act_max, bytes);
    }
}

INLINE void all_pixels(const ar_conv_2d_short_mve_params *p, gemm4_fn f)
{
    const ar_conv_2d_mve_params *c = &p->conv;
    const int32_t pixels = c->batches * c->out_h * c->out_w;
    f(&p->gemm4, c->input, c->in_c, (uint32_t)pixels, c->output);
    clamp(c, pixels * c->gemm.out_c);
}

INLINE void all_strips(const ar_conv_2d_short_mve_params *p, gemm4_fn f)
{
    const ar_conv_2d_mve_params *c = &p->conv;
    const int32_t run = c->k_w * c->in_c;
    const int32_t strip_rows = (c->out_h - 1) * c->stride_h + c->k_h;
    const int32_t out_bytes = c->out_h * c->out_w * c->gemm.out_c;

    ar_fill_s8_mve(c->patches, c->padding, strip_rows * run);
    for (int32_t b = 0; b < c->batches; b++) {
        const int8_t *image = c->input + b * c->in_h * c->in_w * c->in_c;
        int8_t *out = c->output + b * out_bytes;
        for (int32_t x = 0; x < c->out_w; x++, out += c->gemm.out_c) {
            ar_fill_strip_s8_mve(c, image, x, strip_rows);
            f(&p->gemm4, c->patches, (uint32_t)(c->stride_h * run), c->out_h, out);
        }
    }
    clamp(c, c->batches * out_bytes);
}

void ar_conv_2d_depth8_s8_mve(const ar_conv_2d_short_mve_params *p) { all_pixels(p, ar_gemm4_depth8_mve); }

void ar_conv_2d_depth16_s8_mve(const ar_conv_2d_short_mve_params *p) { all_pixels(p, ar_gemm4_depth16_mve); }

void ar_conv_2d_depth32_s8_mve(const ar_conv_2d_short_mve_params *p) { all_pixels(p, ar_gemm4_depth32_mve); }

void ar_conv_2d_short16_s8_mve(const ar_conv_2d_short_mve_params *p) { all_strips(p, ar_gemm4_step16_mve); }

void ar_conv_2d_short32_s8_mve(const ar_conv_2d_short_mve_params *p) { all_strips(p, ar_gemm4_step32_mve); }

void ar_conv_2d_short48_s8_mve(const ar_conv_2d_short_mve_params *p) { all_strips(p, ar_gemm4_step48_mve); }
