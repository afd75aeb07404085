/* CONV_2D, int8, with short filters, on cores with the DSP extension. Weights are stored as int16, see
 * short_blocks_s8_dsp.h. */
#ifndef ARENITE_CONV_2D_S8_SHORT_DSP_H
#define ARENITE_CONV_2D_S8_SHORT_DSP_H

#include <stdint.h>

/* The largest height of a filter. */
#define AR_CONV_SHORT_ROWS 16

typedef struct {
    const int8_t *input;    /* [batches][in_h][in_w][in_c] */
    int8_t *output;         /* [batches][out_h][out_w][out_c], out_c even */
    const int32_t *filters; /* [out_c / 2][4 + 2 * words], see short_blocks_s8_dsp.h */
    /* int16 [words][3][2]: the widened inputs of a block; then for blocks at the image's edges a copy of their inputs
     * with padding, int8 [k_h][width of 3 windows], and for the last pixels of a row, int8 [3][out_c]. */
    void *scratch;
    int32_t rounding; /* see short_blocks_s8_dsp.h */
    uint16_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    uint16_t pad_top, pad_left;
    uint8_t k_h, k_w, stride_h, stride_w, dilation_h;
    uint8_t groups, rest, words; /* see short_blocks_s8_dsp.h */
    int8_t zero_point;           /* of the input, the value of padding */
    int8_t act_min, act_max;     /* -128 and 127 when there is nothing to clamp */
} ar_conv_2d_short_params;

void ar_conv_2d_s8_short_dsp(const ar_conv_2d_short_params *p);

/* Computes one output row. `params` is an ar_conv_2d_short_params; rows[k] is the input row of kernel row k, or 0 if
 * that is outside the image. */
void ar_conv_2d_s8_short_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
