/* DEPTHWISE_CONV_2D for Helium, with one output channel per input channel. NHWC.
 *
 * Channels are processed in blocks of sixteen. VMULLB and VMULLT multiply the even and the odd channels to int16. Two
 * products are added before they are widened, because 128 * (|a| + |b|) stays below 2^15 unless both weights are -128.
 * Widening separates even and odd lanes again, so that the four vectors of a block hold the channels
 *     0 4 8 12    2 6 10 14    1 5 9 13    3 7 11 15,
 * and narrowing at the end restores their order. The biases and scales of a block are in that order:
 *     weights: bias int32 [16], which includes the input's zero point, then int8 [taps][16], channels in plain order;
 *     scales: multiplier int32 [16], then shift int8 [16].
 * If the last block is not full, it has zeros for the missing channels. Alternatively, to save memory for weights, the
 * channels of that block are stored in plain order, and copied into a block when the kernel starts (`rest_channels`).
 * The requantization is described in firmware/engine/conv/mve/gemm_s8_mve.h.
 *
 * The kernels read up to 15 bytes after the last channel of an input row. These bytes do not affect the results.
 */
#ifndef ARENITE_DEPTHWISE_S8_MVE_H
#define ARENITE_DEPTHWISE_S8_MVE_H

#include <stdint.h>

enum {
    AR_DEPTHWISE_MVE_ROWS = 32,  /* the largest number of rows of a window */
    AR_DEPTHWISE_MVE_BLOCK = 52, /* words of a block's biases and weights for a 3 x 3 window */
    AR_DEPTHWISE_MVE_SCALES = 20 /* words of a block's scales */
};

typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][channels] */
    int8_t *output;      /* [batches][out_h][out_w][channels] */
    const int32_t *weights;
    const int32_t *scales;
    int8_t *padding;     /* scratch: pixels of the input's zero point, see each kernel */
    const int8_t **taps; /* scratch of the general kernel: [k_h * k_w] */
    uint16_t batches, in_h, in_w, channels;
    uint16_t out_h, out_w;
    uint16_t k_h, k_w; /* k_h up to AR_DEPTHWISE_MVE_ROWS */
    uint16_t pad_top, pad_left;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    int16_t output_zero;     /* the output's zero point */
    int8_t input_zero;       /* the input's zero point */
    int8_t act_min, act_max; /* outputs are clamped to this range */
    uint8_t two_sided;       /* 0 or 1, as in gemm_s8_mve.h */
    /* The number of pixels that are computed with one block. It is 1, or 16 / channels, but only for 3 x 3 at
     * stride 1 with 1, 2, 4 or 8 channels. Then the constants of the channels repeat in the block. */
    uint8_t pixels_per_block;
    uint8_t rest_channels; /* the number of channels that are stored separately, see below; 0 to 15 */
    /* Only for 3 x 3: the last channels, if they do not fill a block and are not in `weights`. rest_bias is
     * [rest_channels], rest_taps is [9][rest_channels]; rest_block is scratch memory for the block of these channels,
     * AR_DEPTHWISE_MVE_BLOCK words. */
    const int32_t *rest_bias;
    const int8_t *rest_taps;
    int32_t *rest_block;
} ar_depthwise_mve_params;

/* Compute the whole output or one row (see ar_row_fn in stream.h), for any window. `padding` has channels + 15
 * bytes. */
void ar_depthwise_conv_2d_s8_mve(const ar_depthwise_mve_params *p);
void ar_depthwise_conv_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out);

/* Do the same for a window of 3 x 3. `padding` has in_w * channels + 15 bytes. */
void ar_depthwise_3x3_s8_mve(const ar_depthwise_mve_params *p);
void ar_depthwise_3x3_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out);

/* Returns the index of a lane's value among the 32-bit constants of a block. */
static inline int32_t ar_depthwise_place(int32_t lane) { return (lane & 1) * 8 + (lane & 2) * 2 + lane / 4; }

/* Writes to `rows` the addresses of the k_h input rows of a window whose first row is row `at` of the image, and 0
 * for a row outside the image. */
static inline void ar_depthwise_rows(const ar_depthwise_mve_params *p, const int8_t *image, int32_t at,
                                     const int8_t **rows)
{
    for (int32_t k = 0; k < p->k_h; k++, at += p->dilation_h) {
        rows[k] = at < 0 || at >= p->in_h ? 0 : image + at * p->in_w * p->channels;
    }
}

#endif
