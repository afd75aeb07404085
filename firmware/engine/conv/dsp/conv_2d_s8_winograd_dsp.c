/* CONV_2D, int8, 3 x 3 taps at stride 1: transforms and multiplies three tiles of two outputs at a time. */
#include "conv_2d_winograd_dsp.h"

#include "affine_requant.h"
#include "winograd3_s8_dsp.h"
#include "winograd_rows_dsp.h"

/* Computes the outputs of one image. */
static void compute_image(const ar_conv_2d_winograd_params *p, const int8_t *image, int8_t *out)
{
    const int32_t in_c = p->in_c;
    const int32_t row = (p->out_w + 2) * in_c;
    const int32_t row_tiles = p->out_w / 2; /* tiles in a row */
    const int32_t tiles = row_tiles * p->out_h;
    const int32_t plane = 18 * in_c / 4; /* number of words in a plane */
    uint32_t *const x = p->scratch;
    int8_t *const lines = (int8_t *)(x + 4 * plane); /* padded row k is in slot k % 4 */
    int32_t ready = 0;                               /* number of padded rows written so far */
    ar_winograd_s8_dsp d;
    d.rounding = p->rounding;
    d.shift = p->shift;
    d.tile = 2 * p->out_c;
    d.x = (const int32_t *)x;
    d.groups = in_c / 4;
    d.pair = p->filters;
    d.end = p->filters + p->out_c / 2 * (2 + 12 * in_c);
    d.requant = p->requant;
    for (int32_t done = 0; done < tiles; done += 3) {
        /* Some of the last three tiles may be computed twice. */
        const int32_t first = done + 3 <= tiles ? done : tiles - 3;
        for (int32_t k = 0; k < 3; k++) {
            const int32_t y = (first + k) / row_tiles;
            const int32_t column = 2 * ((first + k) - y * row_tiles);
            uint32_t *to = x + k;
            for (; ready < y + 3; ready++) {
                padded_row(p, image, ready - p->pad_top, lines + (ready & 3) * row);
            }
            for (int32_t ky = y; ky < y + 3; ky++) {
                to = ar_winograd_tile_s8_dsp(lines + (ky & 3) * row + column * in_c, in_c, to, plane);
            }
        }
        d.out = out + first * d.tile;
        ar_winograd3_s8_dsp(&d);
    }
    ar_clamp_s8(out, tiles * d.tile, p->act_min, p->act_max);
}

void ar_conv_2d_s8_winograd_dsp(const ar_conv_2d_winograd_params *p)
{
    for (int32_t b = 0; b < p->batches; b++) {
        compute_image(p, p->input + b * p->in_h * p->in_w * p->in_c,
                      p->output + b * p->out_h * p->out_w * p->out_c);
    }
}
