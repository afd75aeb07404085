/* FULLY_CONNECTED with one row, int8, int4 weights: the row is widened once, then multiplied with quads of filters. */
#include "fully_connected_w4_dsp.h"

#include "affine_requant.h"
#include "row_dot_w4_dsp.h"
#include "widen_row_dsp.h"

void ar_fully_connected_w4_dsp(const ar_fully_connected_dsp_params *p)
{
    widen_row(p->scratch, p->input, p->depth);
    int32_t sums[3];
    ar_sum8_dsp(p->scratch, p->groups * 2, 2, sums); /* the even words and the odd ones */

    const int32_t quads = p->units / 4;
    const int32_t size = 4 + p->groups * 4;
    ar_row_dot_w4_dsp d = {p->output, p->requant, p->rounding,
                           p->shift,  p->scratch, p->filters + quads * size,
                           p->groups, p->filters, sums[0] + sums[1]};
    if (quads) {
        ar_row_dot4_w4_dsp(&d);
    }
    const int32_t rest = p->units & 3;
    if (rest) { /* the last quad has fewer channels: its outputs go through a buffer */
        int8_t last[4];
        d.out = last;
        d.requant += 8 * quads;
        d.quad = d.end;
        d.end += size;
        ar_row_dot4_w4_dsp(&d);
        for (int32_t i = 0; i < rest; i++) {
            p->output[4 * quads + i] = last[i];
        }
    }
    ar_clamp_s8(p->output, p->units, p->act_min, p->act_max);
}
