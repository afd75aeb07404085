/* FULLY_CONNECTED, int8, for Helium: four units at a time.
 *
 * FULLY_CONNECTED rounds once, like ar_requant_once. For a sum x and a right shift `right` (which is -shift) its result
 * is floor((x * multiplier + 2^(30 + right)) / 2^(31 + right)). VQDMULH gives floor(x * multiplier / 2^31), and VRSHL
 * adds 2^(right - 1) and shifts to the right by `right`, which is at least 1. The result is the same. The generator has
 * proven that it is LiteRT's result in double precision, for every sum that can occur. */
#include "fully_connected_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

/* Multiplies one row of inputs with four rows of weights. Returns their four sums, one in each lane. The last round of
 * the loop is predicated (LETP), so `depth` need not be a multiple of 16. */
static inline int32x4_t dot4(const int8_t *x, const int8_t *w0, const int8_t *w1, const int8_t *w2,
                             const int8_t *w3, int32_t depth)
{
    int32_t a = 0, b = 0, c = 0, d = 0;
    int32x4_t sums;
    __asm__ volatile("dlstp.8 lr, %[depth]\n"
                     "1:\n"
                     "vldrb.8 q0, [%[x]], #16\n"
                     "vldrb.8 q1, [%[w0]], #16\n"
                     "vmladava.s8 %[a], q0, q1\n"
                     "vldrb.8 q2, [%[w1]], #16\n"
                     "vmladava.s8 %[b], q0, q2\n"
                     "vldrb.8 q1, [%[w2]], #16\n"
                     "vmladava.s8 %[c], q0, q1\n"
                     "vldrb.8 q2, [%[w3]], #16\n"
                     "vmladava.s8 %[d], q0, q2\n"
                     "letp lr, 1b\n"
                     : [x] "+r"(x), [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [a] "+Te"(a),
                       [b] "+Te"(b), [c] "+Te"(c), [d] "+Te"(d)
                     : [depth] "r"(depth)
                     : "lr", "q0", "q1", "q2", "memory");
    /* A VMOV of two core registers moves the first one to the lower lane. */
    __asm__("vmov %q[v][2], %q[v][0], %[a], %[c]\n"
            "vmov %q[v][3], %q[v][1], %[b], %[d]\n"
            : [v] "=w"(sums)
            : [a] "r"(a), [b] "r"(b), [c] "r"(c), [d] "r"(d));
    return sums;
}

void ar_fully_connected_s8_mve(const ar_fully_connected_mve_params *p)
{
    const int32_t depth = p->depth;
    const int32_t units = p->units;
    const int32_t step = p->scale_step;
    const int32_t group = units < 4 ? units : 4;
    /* The rows of weights after the first one of a group, which ends with the last unit. */
    const int32_t second = group > 1 ? depth : 0;
    const int32_t third = group > 2 ? 2 * depth : second;
    const int32_t fourth = group > 3 ? 3 * depth : third;
    const mve_pred16_t lanes = vctp32q((uint32_t)group);
    const int32x4_t low = vdupq_n_s32(p->act_min);
    const int32x4_t high = vdupq_n_s32(p->act_max);
    const int8_t *x = p->input;
    int8_t *out = p->output;

    for (uint32_t b = 0; b < p->batches; b++, x += depth, out += units) {
        for (int32_t next = group, c = 0;; next += 4) {
            const int8_t *w = p->weights + c * depth;
            const int32x4_t sums = dot4(x, w, w + second, w + third, w + fourth, depth);
            int32x4_t v = vaddq_s32(sums, vldrwq_z_s32(p->bias + c, lanes));
            const int32x4_t multiplier = vldrwq_s32(p->multiplier + c * step);
            if (p->twice) {
                v = vqrdmulhq_s32(v, multiplier);
                v = p->two_sided ? vaddq_s32(v, vshrq_n_s32(v, 31)) : v;
            } else {
                v = vqdmulhq_s32(v, multiplier);
            }
            v = vrshlq_s32(v, vldrbq_s32(p->shift + c * step));
            v = vaddq_n_s32(v, p->output_zero);
            vstrbq_p_s32(out + c, vminq_s32(vmaxq_s32(v, low), high), lanes);
            if (next >= units) {
                break;
            }
            /* The last four units end with the last unit, so some units may be computed again. */
            c = next + 4 <= units ? next : units - 4;
        }
    }
}

#else

#include "fixed_point.h"

void ar_fully_connected_s8_mve(const ar_fully_connected_mve_params *p)
{
    const int8_t *x = p->input;
    int8_t *out = p->output;

    for (uint32_t b = 0; b < p->batches; b++, x += p->depth) {
        const int8_t *w = p->weights;
        for (int32_t c = 0; c < p->units; c++) {
            const int32_t k = c * p->scale_step;
            uint32_t sum = (uint32_t)p->bias[c];
            for (int32_t i = 0; i < p->depth; i++) {
                sum += (uint32_t)(*w++ * x[i]);
            }
            const int32_t v = p->twice ? ar_requant((int32_t)sum, p->multiplier[k], p->shift[k])
                                       : ar_requant_once((int32_t)sum, p->multiplier[k], p->shift[k]);
            *out++ = (int8_t)ar_clamp(v + p->output_zero, p->act_min, p->act_max);
        }
    }
}

#endif
