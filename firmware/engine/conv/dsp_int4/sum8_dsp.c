/* Computes eight times the sum of the widened inputs of each pixel, for weights that are stored with 8 added. The file
 * dot_s8_dsp.h describes the layout of the inputs. */
#include "dot_w4_dsp.h"

#ifdef __ARM_FEATURE_DSP
/* Returns `sum` plus the products of the lower and of the upper halfwords of a and b. */
static inline uint32_t smlad(uint32_t sum, int32_t a, int32_t b)
{
    uint32_t result;
    __asm__("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}
#else
#include "dot_s8_plain.h"
#define smlad ar_dot_smlad
#endif

void ar_sum8_dsp(const int32_t *x, int32_t words, int32_t pixels, int32_t *sums)
{
    const int32_t eights = 0x00080008;
    uint32_t s0 = 0;
    uint32_t s1 = 0;
    uint32_t s2 = 0;
    if (pixels == 3) {
        for (; words > 0; words -= 2, x += 6) {
            s0 = smlad(s0, x[0], eights);
            s1 = smlad(s1, x[1], eights);
            s2 = smlad(s2, x[2], eights);
            s0 = smlad(s0, x[3], eights);
            s1 = smlad(s1, x[4], eights);
            s2 = smlad(s2, x[5], eights);
        }
        sums[2] = (int32_t)s2;
    } else {
        for (; words > 0; words -= 2, x += 4) {
            s0 = smlad(s0, x[0], eights);
            s1 = smlad(s1, x[1], eights);
            s0 = smlad(s0, x[2], eights);
            s1 = smlad(s1, x[3], eights);
        }
    }
    sums[0] = (int32_t)s0;
    sums[1] = (int32_t)s1;
}
