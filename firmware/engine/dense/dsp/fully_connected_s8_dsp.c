/* FULLY_CONNECTED with one row, int8: the row is widened once, then multiplied with quads of filters. */
#include "fully_connected_s8_dsp.h"

#include "affine_requant.h"
#include "row_dot_s8_dsp.h"
#include "widen_row_dsp.h"

void ar_fully_connected_s8_dsp(const ar_fully_connected_dsp_params *p)
{
    widen_row(p->scratch, p->input, p->depth);

    const int32_t quads = p->units / 4;
    const int32_t size = 4 + p->groups * 8;
    ar_row_dot_s8_dsp d = {p->output, p->requant, p->rounding,
                           p->shift,  p->scratch, p->filters + quads * size,
                           p->groups, p->filters};
    if (quads) {
        ar_row_dot4_s8_dsp(&d);
    }
    const int32_t rest = p->units & 3;
    if (rest) { /* the last quad has fewer channels: its outputs go through a buffer */
        int8_t last[4];
        d.out = last;
        d.requant += 6 * quads;
        d.quad = d.end;
        d.end += size;
        ar_row_dot4_s8_dsp(&d);
        for (int32_t i = 0; i < rest; i++) {
            p->output[4 * quads + i] = last[i];
        }
    }
    ar_clamp_s8(p->output, p->units, p->act_min, p->act_max);
}
