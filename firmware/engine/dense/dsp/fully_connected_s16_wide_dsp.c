/* FULLY_CONNECTED with int16 activations, for layers whose sums need 64 bits. The file fully_connected_s16_body_dsp.h
 * contains the code. */
#include "fully_connected_s16_dsp.h"

#include "row_dot4_s16_dsp.h"

/* Computes the sums of four units, block by block, and adds the biases of those that exist. */
static const int32_t *wide_sums(const ar_fully_connected_s16_dsp_params *p, int32_t unit, int64_t *sums,
                                const int32_t *row, const int32_t *quad)
{
    for (int32_t k = 0; k < 4; k++) {
        sums[k] = p->bias && unit + k < p->units ? p->bias[unit + k] : 0;
    }
    for (uint32_t left = p->groups; left != 0;) {
        const uint32_t groups = left < AR_S16_BLOCK ? left : AR_S16_BLOCK;
        int32_t block[4];
        quad = ar_row_dot4_s16_dsp(block, row, quad, groups);
        for (int32_t k = 0; k < 4; k++) {
            sums[k] += block[k];
        }
        row += 4 * groups;
        left -= groups;
    }
    return quad;
}

#define FULLY_CONNECTED ar_fully_connected_s16_wide_dsp
#define SUM int64_t
#define SUMS wide_sums

#include "fully_connected_s16_body_dsp.h"
