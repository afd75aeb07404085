#include "observations.h"

enum { MAX_COUNT = 0xFFFF };
static const uint32_t classes = AR_AGENT_CLASSES, input_statistics = AR_AGENT_INPUT ? 2 : 0;

void ar_observations_clear(ar_observations *observations)
{
    observations->inferences = 0;
    for (uint32_t i = 0; i < AR_OBSERVATION_COUNTS; i++) {
        observations->counts[i] = 0;
    }
}

static void count(ar_observations *observations, uint32_t at)
{
    uint16_t *counter = &observations->counts[at];
    *counter = (uint16_t)(*counter + (*counter < MAX_COUNT));
}

/* A bucket is a quarter of an octave. */
static uint32_t latency_bucket(uint32_t us)
{
    uint32_t shift = 0;
    if (us < 4) {
        return us;
    }
    while (us >> shift >= 8) {
        shift++;
    }
    const uint32_t bucket = 4 * (shift + 1) + (us >> shift & 3u);
    return bucket < AR_LATENCY_BUCKETS ? bucket : AR_LATENCY_BUCKETS - 1u;
}

/* A value plus 128 is never negative, so the quotients are rounded down as in Python. */
void ar_observe_input(ar_observations *observations, const uint8_t *values, uint32_t bytes, uint32_t sign)
{
    uint32_t sum = 0, distances = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        sum += values[i] ^ sign;
    }
    const uint32_t mean = sum / bytes;
    for (uint32_t i = 0; i < bytes; i++) {
        const uint32_t value = values[i] ^ sign;
        distances += value > mean ? value - mean : mean - value;
    }
    const uint32_t deviation = distances / bytes >> 3;
    observations->input_bins[0] = (uint8_t)(mean >> 4);
    observations->input_bins[1] =
        (uint8_t)(deviation < AR_OBSERVATION_BINS ? deviation : AR_OBSERVATION_BINS - 1u);
}

void ar_observe_output(ar_observations *observations, uint32_t latency_us, const uint8_t *scores,
                       uint32_t sign)
{
    uint32_t best = 0;
    observations->inferences++;
    count(observations, latency_bucket(latency_us));
    for (uint32_t i = 1; i < classes; i++) {
        if ((scores[i] ^ sign) > (scores[best] ^ sign)) {
            best = i;
        }
    }
    if (classes) {
        count(observations, AR_FIRST_CLASS + best);
        count(observations, AR_FIRST_CONFIDENCE + ((scores[best] ^ sign) >> 4));
    }
    for (uint32_t i = 0; i < input_statistics; i++) {
        count(observations, AR_FIRST_INPUT + AR_OBSERVATION_BINS * i + observations->input_bins[i]);
    }
}

uint32_t ar_histogram(const ar_observations *observations, uint32_t number, const uint16_t **counts)
{
    uint32_t first = 0, buckets = AR_OBSERVATION_BINS;
    if (number == AR_HISTOGRAM_LATENCY) {
        buckets = AR_LATENCY_BUCKETS;
    } else if (number == AR_HISTOGRAM_CLASSES) {
        first = AR_FIRST_CLASS;
        buckets = classes;
    } else if (number == AR_HISTOGRAM_CONFIDENCE && classes) {
        first = AR_FIRST_CONFIDENCE;
    } else if (number - AR_HISTOGRAM_INPUT < input_statistics) {
        first = AR_FIRST_INPUT + AR_OBSERVATION_BINS * (number - AR_HISTOGRAM_INPUT);
    } else {
        return 0;
    }
    *counts = observations->counts + first;
    return buckets;
}
