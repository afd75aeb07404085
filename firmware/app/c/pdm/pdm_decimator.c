#include "pdm_decimator.h"
#include "pdm_tables.h"

/* The values of the sinc filter, twice, so that the last PDM_TAPS are always in one piece. */
static int16_t values[2 * PDM_TAPS];
static uint32_t position;      /* of the next value */
static uint32_t older, newest; /* the 32 bits before the newest 16 */
static int32_t mean;

static int16_t sinc(uint32_t bits)
{
    const uint32_t parts[3] = {bits, newest, older};
    int32_t sum = 0;
    for (uint32_t k = 0; k < 3; k++) {
        const int16_t (*table)[16] = &pdm_sinc[4u * k];
        sum += table[0][parts[k] & 15u] + table[1][parts[k] >> 4 & 15u] + table[2][parts[k] >> 8 & 15u] +
               table[3][parts[k] >> 12];
    }
    older = newest;
    newest = bits;
    return (int16_t)sum;
}

static void put(uint32_t bits)
{
    const int16_t value = sinc(bits);
    values[position] = value;
    values[position + PDM_TAPS] = value;
    position = position + 1u < PDM_TAPS ? position + 1u : 0;
}

static int16_t lowpass(void)
{
    const int16_t *oldest = &values[position];
    int32_t sum = 1 << (PDM_LOWPASS_SHIFT - 1);
    for (uint32_t k = 0; k < PDM_TAPS; k++) {
        sum += pdm_lowpass[k] * oldest[k];
    }
    sum >>= PDM_LOWPASS_SHIFT;
    mean += sum - (mean >> PDM_OFFSET_SHIFT);
    sum -= mean >> PDM_OFFSET_SHIFT;
    return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

void pdm_decimate(const uint32_t *words, uint32_t count, int16_t *samples)
{
    for (uint32_t k = 0; k < count; k++, words += PDM_WORDS) {
        put(words[0] >> 16);
        put(words[0] & 0xFFFFu);
        put(words[1] >> 16);
        put(words[1] & 0xFFFFu);
        samples[k] = lowpass();
    }
}
