/* The parameters of convolutions on cores with the DSP extension, for int8 and int4 weights. */
#ifndef ARENITE_CONV_2D_DSP_PARAMS_H
#define ARENITE_CONV_2D_DSP_PARAMS_H

#include <stdint.h>

/* The largest height of a filter. */
#define AR_CONV_DSP_ROWS 16

/* The taps of one kernel row are `runs` runs of contiguous bytes in the image. Without horizontal dilation there is one
 * run of k_w * in_c bytes; with it there are k_w runs of in_c bytes. The bytes of a run are read in groups of four.
 *
 * There are two ways to read the last bytes of a run if they do not fill a group. If `rest` is not 0, it is the number
 * of these bytes; they follow after the groups of all runs. If `rest` is 0, the last group of a run includes bytes
 * after the run, which are multiplied with weights of zero. So the inputs of a filter are first all groups, then all
 * rests; both are ordered by run, then by kernel row.
 *
 * `scratch` has the widened inputs of a block of pixels, int16 [groups * 2][pixels][2]. After them it has copies with
 * padding: the part of one row under the block's windows or, if padded_w is not 0, the rows [k_h][padded_w][in_c]. */
typedef struct {
    const int8_t *input;    /* [batches][in_h][in_w][in_c] */
    int8_t *output;         /* [batches][out_h][out_w][out_c] */
    const int32_t *filters; /* [(out_c + 1) / 2][2 + groups * 2] for int8, see dot_s8_dsp.h */
    const int32_t *requant; /* the table of the requantization, see dot_s8_dsp.h */
    void *
        scratch; /* the widened inputs of a block, followed by a copy of rows with their padding, see above */
    int32_t rounding; /* of the requantization, see dot_s8_dsp.h */
    uint16_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    uint16_t groups;     /* number of inputs of a filter / 4 */
    uint16_t run_groups; /* number of groups in one run */
    uint16_t pad_top, pad_left;
    uint16_t padded_w; /* if not 0: each row is first copied with its padding, to this width */
    uint8_t k_h, stride_h, stride_w, dilation_h, dilation_w;
    uint8_t runs, run_width; /* number of runs in a kernel row; number of pixels in a run */
    uint8_t rest;            /* number of bytes of a run after its groups, 0 to 3 */
    uint8_t shift, form;     /* of the requantization, see dot_s8_dsp.h */
    int8_t zero_point;       /* of the input, the value of padding */
    int8_t act_min, act_max; /* -128 and 127 when there is nothing to clamp */
} ar_conv_2d_dsp_params;

#endif
