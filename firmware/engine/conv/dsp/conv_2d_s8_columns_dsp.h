/* CONV_2D, int8, for filters 3 taps wide at a horizontal stride of 1, on cores with the DSP extension. Neighboring
 * output pixels share columns of the input, which are widened to int16 only once. */
#ifndef ARENITE_CONV_2D_S8_COLUMNS_DSP_H
#define ARENITE_CONV_2D_S8_COLUMNS_DSP_H

#include <stdint.h>

/* The largest height of a filter. */
#define AR_CONV_COLUMNS_ROWS 16

typedef struct {
    const int8_t *input;    /* [batches][in_h][in_w][in_c], in_c a multiple of four */
    int8_t *output;         /* [batches][out_h][out_w][out_c], out_c even, out_w at least 2 */
    const int32_t *filters; /* [out_c / 2][2 + 6 * k_h * in_c / 4], see dot_s8_dsp.h and columns_s8_dsp.h */
    const int32_t *requant; /* the table of the requantization: see dot_s8_dsp.h */
    void *scratch;          /* int16 [k_h * in_c * 3][pixels of a block], then in_c bytes of padding */
    int32_t rounding;       /* of the requantization, see dot_s8_dsp.h */
    uint16_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    uint16_t pad_top;
    uint8_t pad_left; /* 0 or 1; on the right, too, at most one column is padding */
    uint8_t k_h, stride_h, dilation_h;
    uint8_t shift, form;     /* of the requantization, see dot_s8_dsp.h */
    int8_t zero_point;       /* of the input, the value of padding */
    int8_t act_min, act_max; /* -128 and 127 when there is nothing to clamp */
} ar_conv_2d_columns_params;

void ar_conv_2d_s8_columns_dsp(const ar_conv_2d_columns_params *p);

/* Computes one output row. `params` is an ar_conv_2d_columns_params; rows[k] is the input row of kernel row k, or 0 if
 * that is outside the image. */
void ar_conv_2d_s8_columns_dsp_row(const void *params, const int8_t *const *rows, int8_t *out);

#endif
