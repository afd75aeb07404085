/* The body of FULLY_CONNECTED with one row of inputs, on cores with the DSP extension. It widens the row to int16 once,
 * then multiplies it with quads of filters. A quad is the filters of four units, see row_dot_s8_dsp.h. The file that
 * includes this file must first define:
 *     FULLY_CONNECTED     the name of the function
 *     dot_work            the parameter structure of the inner product; all variants have the fields below
 *     DOT_WORK_MORE       the initial value of another field
 *     DOT4                the function that computes the outputs of quads
 *     QUAD_WORDS          the number of words of a quad in addition to its filters
 *     GROUP_WORDS         the number of words of a quad's filters for a group of eight inputs
 *     QUAD_REQUANT_WORDS  the number of words of a quad in the table of the requantization
 *     WIDEN(p)            code that widens the row and computes the values of DOT_WORK_MORE
 */
#include "affine_requant.h"
#include "widen_row_dsp.h"

void FULLY_CONNECTED(const ar_fully_connected_dsp_params *p)
{
    WIDEN(p);

    const int32_t quads = p->units / 4;
    const int32_t size = QUAD_WORDS + p->groups * GROUP_WORDS;
    dot_work d = {.out = p->output,
                  .requant = p->requant,
                  .rounding = p->rounding,
                  .shift = p->shift,
                  .x = p->scratch,
                  .end = p->filters + quads * size,
                  .groups = p->groups,
                  .quad = p->filters,
                  DOT_WORK_MORE};
    if (quads) {
        DOT4(&d);
    }
    const int32_t rest = p->units & 3;
    if (rest) { /* the last quad has fewer units: its outputs are first written to `last` */
        int8_t last[4];
        d.out = last;
        d.requant += QUAD_REQUANT_WORDS * quads;
        d.quad = d.end;
        d.end += size;
        DOT4(&d);
        for (int32_t i = 0; i < rest; i++) {
            p->output[4 * quads + i] = last[i];
        }
    }
    ar_clamp_s8(p->output, p->units, p->act_min, p->act_max);
}
