/* CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV, NHWC.
 *
 * Weights: [out_c][k_h][k_w][k_c] with k_c = in_c / groups; depthwise [k_h][k_w][out_c] with k_c = out_c / in_c;
 * transposed [out_c][k_h][k_w][in_c].
 */
#ifndef ARENITE_CONV_2D_H
#define ARENITE_CONV_2D_H

#include <stdint.h>

typedef struct {
    const void *input; /* [batches][in_h][in_w][in_c] */
    void *output;      /* [batches][out_h][out_w][out_c] */
    const int8_t *weights;
    const void *bias;       /* [out_c] int32 (int8 input) or int64 (int16 input); 0 when absent */
    const void *multiplier; /* [out_c] int32, with 16 bits for int16 input; uint16 if `spare` is not 0 */
    const int8_t *shift;    /* [out_c]; 0: packed into the multipliers, see conv_output.h */
    uint16_t batches, in_h, in_w, in_c;
    uint16_t out_h, out_w, out_c;
    uint16_t k_h, k_w, k_c;
    uint16_t pad_top, pad_left;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    int16_t input_offset;  /* minus the input's zero point; not used for int16 input */
    int16_t output_offset; /* the output's zero point; not used for int16 input */
    int16_t act_min, act_max;
    uint8_t spare; /* bits of each bias word that belong to the multiplier, see conv_output.h */
    uint8_t packed_shift;
} ar_conv_2d_params;

void ar_conv_2d_s8(const ar_conv_2d_params *p);
void ar_conv_2d_s16(const ar_conv_2d_params *p);
void ar_depthwise_conv_2d_s8(const ar_conv_2d_params *p);
void ar_depthwise_conv_2d_s16(const ar_conv_2d_params *p);
void ar_transpose_conv_s8(const ar_conv_2d_params *p);
void ar_transpose_conv_s16(const ar_conv_2d_params *p);

/* Compute one output row, see ar_row_fn in stream.h. */
void ar_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out);
void ar_depthwise_conv_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
