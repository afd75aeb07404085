/* The fast kernels of CONV_2D and DEPTHWISE_CONV_2D, int8, for cores without SIMD. Tensors are NHWC. */
#ifndef ARENITE_CONV_2D_SCALAR_H
#define ARENITE_CONV_2D_SCALAR_H

#include <stdint.h>

#include "affine_requant.h"

/* Defined for cores without an instruction that loads a signed byte at a constant offset. Their kernels use biased
 * weights, see conv_2d_s8_scalar.c. */
#if defined(__XTENSA__) || defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define AR_NO_SIGNED_BYTES
#endif

/* Rounds `bytes`, a multiple of 4, up to a multiple of a pointer's size, so that pointers can follow. This adds nothing
 * unless a pointer has 8 bytes. */
#define AR_BEFORE_POINTERS(bytes) ((bytes) + ((bytes) & (uint32_t)(sizeof(void *) - 4)))

typedef struct {
    const int8_t *input;       /* [batches][in_h][in_w][in_c] */
    int8_t *output;            /* [batches][out_h][out_w][out_c] */
    const uint8_t *weights;    /* in the layout of the kernel, see its C file */
    const int32_t *bias;       /* [out_c], see ar_affine_x; includes the input's zero point */
    const int32_t *multiplier; /* [out_c], see affine_requant.h */
    const uint8_t *runs;       /* only for CONV_2D: lengths of the short sums, see conv_2d_s8_scalar.c */
    void *scratch;             /* see the C file of the kernel */
    ar_affine requant;
    uint16_t batches, in_h, in_w, in_c;
    uint16_t out_h, out_w, out_c;
    uint16_t k_h, k_w;
    uint16_t pad_top, pad_left;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    uint8_t biased;          /* only for CONV_2D: 1 if 128 was added to each weight */
    uint8_t together;        /* only for CONV_2D: the number of channels that are summed at the same time */
    int8_t padding;          /* the input's zero point */
    int8_t act_min, act_max; /* outputs are clamped to this range */
} ar_conv_2d_scalar_params;

void ar_conv_2d_s8_scalar(const ar_conv_2d_scalar_params *p);
void ar_depthwise_conv_2d_s8_scalar(const ar_conv_2d_scalar_params *p);

/* Compute one output row. `params` is an ar_conv_2d_scalar_params. `rows[k]` is the input row of kernel row k, or 0 if
 * that is outside the image. */
void ar_conv_2d_s8_scalar_row(const void *params, const int8_t *const *rows, int8_t *out);
void ar_depthwise_conv_2d_s8_scalar_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
