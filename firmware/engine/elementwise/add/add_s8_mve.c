/* ADD and SUB, int8, for Helium. add_s8_mve.h describes the arithmetic. */
#include "add_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)

/* Computes `count` outputs, four per loop round. q1 and q2 are elements of a and b, q3 is multiplier1, q4 and q5
 * are the limits of the output. In the last round, LETP disables the lanes after the last element. */
static void sums(const ar_add_mve_params *p, const int8_t *a, const int8_t *b, int8_t *out, uint32_t count)
{
    __asm__ volatile("vdup.32 q3, %[m1]\n"
                     "vdup.32 q4, %[low]\n"
                     "vdup.32 q5, %[high]\n"
                     "wlstp.32 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.s32 q1, [%[a]], #4\n"
                     "vldrb.s32 q2, [%[b]], #4\n"
                     "vmlas.s32 q1, q3, %[constant]\n" /* a * multiplier1 + constant */
                     "vmla.s32 q1, q2, %[m2]\n"
                     "vshl.s32 q1, %[shift]\n"
                     "vmax.s32 q1, q1, q4\n"
                     "vmin.s32 q1, q1, q5\n"
                     "vstrb.32 q1, [%[out]], #4\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [a] "+l"(a), [b] "+l"(b), [out] "+l"(out)
                     : [m1] "r"(p->multiplier1), [m2] "r"(p->multiplier2), [constant] "r"(p->constant),
                       [shift] "r"(-(int32_t)p->shift), [low] "r"((int32_t)p->act_min),
                       [high] "r"((int32_t)p->act_max), [count] "r"(count)
                     : "lr", "q1", "q2", "q3", "q4", "q5", "memory");
}

#else

#include "fixed_point.h"

static void sums(const ar_add_mve_params *p, const int8_t *a, const int8_t *b, int8_t *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const int32_t sum = a[i] * p->multiplier1 + b[i] * p->multiplier2 + p->constant;
        out[i] = (int8_t)ar_clamp(sum >> p->shift, p->act_min, p->act_max);
    }
}

#endif

void ar_add_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_add_mve_params *p = params;
    sums(p, rows[0], rows[1], out, p->row);
}

void ar_add_s8_mve(const ar_add_mve_params *p) { sums(p, p->input1, p->input2, p->output, p->count); }
