#include "dot4_s8.h"

void ar_dot4_s8(const int8_t *in, const int8_t *w, int32_t next, int32_t length, int32_t offset,
                int32_t *sums)
{
    const int8_t *w1 = w + next, *w2 = w1 + next, *w3 = w2 + next, *end = in + length;
    int32_t sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];

    /* The values in this loop just fit into the registers of a Cortex-M3. */
    do {
        const int32_t value = *in++ + offset;
        sum0 += value * *w++;
        sum1 += value * *w1++;
        sum2 += value * *w2++;
        sum3 += value * *w3++;
    } while (in != end);
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}
