/* The parameters of convolutions on cores with the DSP extension, for int8 and int4 weights. */
#ifndef ARENITE_CONV_2D_DSP_PARAMS_H
#define ARENITE_CONV_2D_DSP_PARAMS_H

#include <stdint.h>

/* The largest number of rows of a kernel. */
#define AR_CONV_DSP_ROWS 16

/* The taps of one kernel row are `runs` runs of contiguous bytes in the image: one run of k_w * in_c bytes, or, with
 * dilation, k_w runs of in_c bytes. The bytes of a run are read in groups of four. The last bytes that fill no group,
 * `rest` of them, are collected after the groups of all runs; or `rest` is 0, and the last group reads the bytes behind
 * the run, which are multiplied with zero weights. So the filters' inputs are first the groups, then the rests, both
 * ordered by run, then by row. */
typedef struct {
    const int8_t *input;    /* [batches][in_h][in_w][in_c] */
    int8_t *output;         /* [batches][out_h][out_w][out_c] */
    const int32_t *filters; /* [(out_c + 1) / 2][2 + groups * 2], see dot_s8_dsp.h */
    const int32_t *requant; /* the table of the requantization, see dot_s8_dsp.h */
    void *
        scratch; /* int16 [groups * 4][pixels], then the window of `pixels` pixels or [k_h][padded_w][in_c] */
    int32_t rounding;
    uint16_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    uint16_t groups;     /* inputs of a filter / 4 */
    uint16_t run_groups; /* groups in one run */
    uint16_t pad_top, pad_left;
    uint16_t padded_w; /* if not 0: each row is first copied with its padding, and this is its width */
    uint8_t k_h, stride_h, stride_w, dilation_h, dilation_w;
    uint8_t runs, run_width; /* runs in a kernel row; pixels in a run */
    uint8_t rest;            /* bytes of a run after its groups, 0 to 3 */
    uint8_t shift, form;
    int8_t zero_point;       /* of the input, the value of padding */
    int8_t act_min, act_max; /* -128 and 127 when there is nothing to clamp */
} ar_conv_2d_dsp_params;

#endif
