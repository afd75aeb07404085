/* CONV_2D, int8, on cores with the DSP extension, with little code and few bytes per channel: for builds for small
 * flash.
 *
 * Filters are stored in pairs, two output channels in one int16, as in dot_s8_dsp.h. A pair has two words with the
 * biases and parts of the multipliers, both entries of the table (compact_scale.h), then a word for every two inputs. The inputs are widened to
 * int16, minus their zero point, so padding is 0 and biases are those of the model. */
#ifndef ARENITE_CONV_2D_S8_COMPACT_DSP_H
#define ARENITE_CONV_2D_S8_COMPACT_DSP_H

#include <stdint.h>

#include "compact_scale.h"

enum { AR_COMPACT_PIXELS = 3 }; /* pixels of a block, which are computed together */

typedef struct {
    const int8_t *input;     /* [batches][in_h][in_w][in_c] */
    int8_t *output;          /* [batches][out_h][out_w][out_c] */
    const uint32_t *filters; /* [out_c / 2][2 + (format.spare ? 1 : 2) + 2 * k_h * groups]; out_c is even */
    /* Scratch: a copy of a row of a window, int8 [4 * groups], then the widened inputs of `blocks` blocks, int16
     * [blocks][2 * k_h * groups][AR_COMPACT_PIXELS][2]. */
    int8_t *scratch;
    ar_compact_format format;
    uint16_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    uint16_t groups; /* number of groups of four inputs of a row of a window; the last one may be filled up */
    uint8_t pad_top, pad_left;
    uint8_t k_h, k_w, stride_h, stride_w; /* no dilation */
    uint8_t blocks;
    int8_t zero_point; /* of the input */
} ar_conv_2d_compact_params;

void ar_conv_2d_s8_compact_dsp(const ar_conv_2d_compact_params *p);

/* The work for blocks of pixels whose inputs are widened, in the order in which the assembly reads it. */
typedef struct {
    const uint32_t *filters;
    int32_t groups;
    int8_t *out;        /* address of the first channel of the first pixel */
    const int32_t *x;   /* the widened inputs of the first block */
    const int32_t *end; /* after those of the last block; there is at least one */
    int32_t pixel;      /* bytes from one pixel to the next; 0 if the pixels of a block are the same one */
    int32_t pairs;      /* of filters, at least 1 */
    uint32_t spare;
    uint32_t room; /* 32 - spare */
    uint32_t mask; /* has shift_bits ones */
    uint32_t shift_bits, dropped;
    int32_t shift_base, zero_twice;
} ar_compact_work;

/* Computes the outputs of all pairs of filters for all blocks. The function changes `work`. */
void ar_compact_pairs_s8_dsp(ar_compact_work *work);

#endif
