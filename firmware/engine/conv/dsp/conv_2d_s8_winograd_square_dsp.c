/* CONV_2D, int8, 3 x 3 taps at stride 1: transforms and multiplies three tiles of 2 x 2 outputs at a time. */
#include "affine_requant.h"
#include "conv_2d_winograd_dsp.h"
#include "winograd_rows_dsp.h"
#include "winograd_square3_s8_dsp.h"

/* Computes the outputs of one image. */
static void compute_image(const ar_conv_2d_winograd_params *p, const int8_t *image, int8_t *out)
{
    const int32_t in_c = p->in_c;
    const int32_t row = (p->out_w + 2) * in_c;
    const int32_t row_tiles = p->out_w / 2; /* tiles in a row */
    const int32_t tiles = row_tiles * (p->out_h / 2);
    uint32_t *const x = p->scratch;
    int8_t *const lines = (int8_t *)p->scratch + 96 * in_c; /* padded row k is in slot k % 4 */
    int32_t ready = 0;                                      /* number of padded rows written so far */
    ar_winograd_square_s8 d = {.pixel = p->out_c,
                               .rounding = p->rounding,
                               .requant = p->requant,
                               .x = (const int32_t *)x,
                               .rounds = in_c / 16,
                               .pair = p->filters,
                               .end = p->filters + p->out_c / 2 * (2 + 16 * in_c),
                               .out_row = p->out_w * p->out_c};
    ar_winograd_square_tile t = {.pixel = in_c, .plane = 6 * in_c};
    for (int32_t done = 0; done < tiles; done += 3) {
        /* Some of the last three tiles may be computed twice. They are in the last row of tiles, whose inputs are still
         * there. */
        const int32_t first = done + 3 <= tiles ? done : tiles - 3;
        for (int32_t k = 0; k < 3; k++) {
            const int32_t y = (first + k) / row_tiles;
            const int32_t column = 2 * (first + k - y * row_tiles);
            for (; ready < 2 * y + 4; ready++) {
                padded_row(p, image, ready - p->pad_top, lines + (ready & 3) * row);
            }
            for (int32_t i = 0; i < 4; i++) {
                t.row[i] = lines + ((2 * y + i) & 3) * row + column * in_c;
            }
            t.x = x + k;
            ar_winograd_square_tile_s8_dsp(&t);
            d.out[k] = out + 2 * y * d.out_row + column * p->out_c;
        }
        ar_winograd_square3_s8_dsp(&d);
    }
    ar_clamp_s8(out, p->out_h * d.out_row, p->act_min, p->act_max);
}

void ar_conv_2d_s8_winograd_square_dsp(const ar_conv_2d_winograd_params *p)
{
    for (int32_t b = 0; b < p->batches; b++) {
        compute_image(p, p->input + b * p->in_h * p->in_w * p->in_c,
                      p->output + b * p->out_h * p->out_w * p->out_c);
    }
}
