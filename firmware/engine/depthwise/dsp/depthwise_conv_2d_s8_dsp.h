/* DEPTHWISE_CONV_2D, int8, depth multiplier 1, on cores with the DSP extension, for every kernel size, stride and
 * dilation. */
#ifndef ARENITE_DEPTHWISE_CONV_2D_S8_DSP_H
#define ARENITE_DEPTHWISE_CONV_2D_S8_DSP_H

#include <stdint.h>

/* The weights are ordered by groups of four channels. For each pair of taps a and b, a group has two words: one of
 * channels 0 and 1 (its bytes are a of channel 0, a of channel 1, b of channel 0, b of channel 1), and one of
 * channels 2 and 3. If the number of taps is odd, the last tap is one word with a byte for each channel. After the
 * groups come the weights of the last one to three channels, one channel after the other. Taps are ordered by window
 * row. */
typedef struct {
    const int8_t *input; /* [batches][in_h][in_w][channels] */
    int8_t *output;      /* [batches][out_h][out_w][channels] */
    const int32_t *weights;
    const int32_t *bias;  /* [channels]; includes the input's zero point */
    const int32_t *scale; /* [channels][2]: multiplier and offset, see ar_dw_output */
    void *scratch;        /* a pointer for each tap and for each kernel row, then a pixel of padding */
    int32_t rounding;     /* see ar_dw_output */
    uint16_t batches, in_h, in_w, channels, out_h, out_w;
    uint16_t taps; /* k_h * k_w */
    uint16_t k_h, k_w, pad_top, pad_left;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    uint8_t shift, two_sided; /* see ar_dw_output; two_sided is 0 or 1 */
    int8_t padding;           /* the input's zero point */
    int8_t act_min, act_max;  /* outputs are clamped to this range */
} ar_depthwise_dsp_params;

/* Returns the output for the accumulator `sum`: saturate((x * multiplier + rounding * 2^32) >> (32 + shift)), where
 * x is 256 times the accumulator plus the offset. If the layer is two-sided and the accumulator is negative, the
 * offset's bitwise complement is used. The generator has proven that this is LiteRT's output for every accumulator
 * that can occur; see affine.py in firmware/generator/requant. `scale` has the channel's multiplier and offset. */
static inline int8_t ar_dw_output(int32_t sum, const int32_t *scale, int32_t rounding, int32_t shift,
                                  int32_t two_sided)
{
    const int32_t offset = two_sided && sum < 0 ? ~scale[1] : scale[1];
    const int32_t x = (int32_t)((uint32_t)sum * 256u + (uint32_t)offset);
    const int32_t y = (int32_t)(((int64_t)x * scale[0] + rounding * ((int64_t)1 << 32)) >> 32) >> shift;
    return (int8_t)(y < -128 ? -128 : y > 127 ? 127 : y);
}

/* The parameters of one output pixel, in the order in which the assembly loads them. Fields without a comment are as in
 * ar_depthwise_dsp_params. */
typedef struct {
    const int32_t *scale;
    int8_t *out;
    int32_t rounding, shift;
    const int32_t *bias;
    const int8_t *const *taps; /* for each tap, channel 0 of its input pixel or of the padding */
    int32_t pairs;             /* number of pairs of taps */
    int32_t odd;               /* 1 if there is one more tap */
    int32_t end;               /* number of channels to compute, a multiple of 4, at least 4 */
    int32_t two_sided;
    const int32_t *weights;
} ar_dw_pixel;

/* Computes the first `end` channels of one output pixel. */
void ar_depthwise_pixel_s8_dsp(const ar_dw_pixel *pixel);

void ar_depthwise_conv_2d_s8_dsp(const ar_depthwise_dsp_params *p);

/* Computes one output row. `params` is an ar_depthwise_dsp_params; rows[k] is the input row of kernel row k, or 0 if
 * that row is outside the image. */
void ar_depthwise_conv_2d_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
