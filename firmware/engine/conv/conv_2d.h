/* The kernels of CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV in plain C. Tensors are NHWC.
 *
 * The layout of the weights and the meaning of k_c depend on the operator:
 *     CONV_2D            [out_c][k_h][k_w][k_c], k_c = in_c / groups
 *     DEPTHWISE_CONV_2D  [k_h][k_w][out_c], k_c = out_c / in_c
 *     TRANSPOSE_CONV     [out_c][k_h][k_w][k_c], k_c = in_c
 */
#ifndef ARENITE_CONV_2D_H
#define ARENITE_CONV_2D_H

#include <stdint.h>

typedef struct {
    const void *input; /* [batches][in_h][in_w][in_c] */
    void *output;      /* [batches][out_h][out_w][out_c] */
    const int8_t *weights;
    const void *bias;       /* [out_c] int32 (int8 input) or int64 (int16 input); 0 if there is no bias */
    const void *multiplier; /* [out_c] int32, below 2^15 for int16 input; uint16 if `spare` is not 0 */
    const int8_t *shift;    /* [out_c]; 0 if shifts are packed into multipliers, see conv_output.h */
    uint16_t batches, in_h, in_w, in_c;
    uint16_t out_h, out_w, out_c;
    uint16_t k_h, k_w, k_c;
    uint16_t pad_top, pad_left;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    int16_t input_offset;     /* minus the input's zero point; not used for int16 input */
    int16_t output_offset;    /* the output's zero point; not used for int16 input */
    int16_t act_min, act_max; /* outputs are clamped to this range */
    uint8_t spare; /* number of bits of each bias word that belong to the multiplier, see conv_output.h */
    uint8_t packed_shift; /* the format of packed shifts, see conv_output.h */
} ar_conv_2d_params;

/* Compute the whole output: s8 for int8, s16 for int16 activations. */
void ar_conv_2d_s8(const ar_conv_2d_params *p);
void ar_conv_2d_s16(const ar_conv_2d_params *p);
void ar_depthwise_conv_2d_s8(const ar_conv_2d_params *p);
void ar_depthwise_conv_2d_s16(const ar_conv_2d_params *p);
void ar_transpose_conv_s8(const ar_conv_2d_params *p);
void ar_transpose_conv_s16(const ar_conv_2d_params *p);

/* Compute one output row. `params` is an ar_conv_2d_params; ar_row_fn in stream.h describes the other arguments. */
void ar_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out);
void ar_depthwise_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
