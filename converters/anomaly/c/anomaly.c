#include "anomaly.h"

/* A sample that deviates no more than the average one is never an anomaly. */
#define MIN_THRESHOLD 65536u

int64_t ar_anomaly_divide(int64_t value, uint32_t n)
{
    const int64_t sum = value + (n >> 1);
    const int64_t quotient = sum / (int64_t)n;
    return quotient - (sum - quotient * (int64_t)n < 0);
}

/* Returns the logarithm to base 2 with 16 fractional bits, a straight line between powers of two (Mitchell 1962). That
 * of 0 is 0. */
static int32_t logarithm(uint32_t value)
{
    if (value == 0) {
        return 0;
    }
    uint32_t exponent = 31;
    while (!(value & 0x80000000u)) {
        value <<= 1;
        exponent--;
    }
    return (int32_t)(exponent << 16 | (value & 0x7FFFFFFFu) >> 15);
}

/* The inverse of `logarithm`. */
static uint32_t exponential(int32_t value)
{
    if (value < 0) {
        return 0;
    }
    const uint32_t exponent = (uint32_t)value >> 16, mantissa = 65536u | ((uint32_t)value & 65535u);
    if (exponent > 31) {
        return UINT32_MAX;
    }
    return exponent < 16 ? mantissa >> (16 - exponent) : mantissa << (exponent - 16);
}

uint32_t ar_anomaly_root(uint64_t value)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 62; bit != 0; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = root >> 1 | bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)root;
}

/* Updates a mean and a variance with `value`, the `n`-th one. All have 16 fractional bits. */
static void learn(int32_t *mean, uint32_t *variance, int32_t value, uint32_t n)
{
    const int32_t before = value - *mean;
    *mean += (int32_t)ar_anomaly_divide(before, n);
    const int64_t product = (int64_t)before * (value - *mean) >> 16;
    *variance = (uint32_t)(*variance + ar_anomaly_divide(product - *variance, n));
}

uint32_t ar_anomaly_score(const ar_anomaly *a, const int8_t *embedding)
{
    const ar_anomaly_params *p = a->params;
    if (a->head->count == 0) {
        return 0;
    }
    if (a->low_rank != 0) {
        return a->low_rank->score(a, embedding);
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->size; i++) {
        const int64_t deviation = (int64_t)embedding[i] * 65536 - a->mean[i];
        const uint32_t variance = a->variance[i] + p->floor;
        const uint64_t ratio = ((uint64_t)(deviation * deviation) + (variance >> 1)) / variance;
        sum += ratio > UINT32_MAX ? UINT32_MAX : ratio;
    }
    return (uint32_t)(sum / p->size);
}

uint32_t ar_anomaly_threshold(const ar_anomaly *a)
{
    const ar_anomaly_head *head = a->head;
    if (head->count < a->params->warmup) {
        return UINT32_MAX;
    }
    const uint32_t deviation = ar_anomaly_root((uint64_t)head->score_variance << 16);
    const int64_t sum = head->score_mean + ((int64_t)deviation * a->params->sigmas >> 8);
    const uint32_t threshold = exponential(sum > INT32_MAX ? INT32_MAX : (int32_t)sum);
    return threshold < MIN_THRESHOLD ? MIN_THRESHOLD : threshold;
}

/* Returns the number of the next value: it counts up to 2^memory_bits. */
static uint32_t next(const ar_anomaly *a, uint32_t count)
{
    return count >> a->params->memory_bits ? count : count + 1;
}

uint32_t ar_anomaly_update(ar_anomaly *a, const int8_t *embedding)
{
    const ar_anomaly_params *p = a->params;
    ar_anomaly_head *head = a->head;
    const uint32_t score = ar_anomaly_score(a, embedding);
    a->threshold = ar_anomaly_threshold(a);
    a->alarm = score > a->threshold;
    if (head->frozen || (a->alarm && !p->learn_all)) {
        return score;
    }
    /* The first scores are large, because mean and variance are not yet known. */
    if (head->count >= p->warmup >> 1) {
        head->scores = next(a, head->scores);
        learn(&head->score_mean, &head->score_variance, logarithm(score), head->scores);
    }
    /* Values are divided by their deviations, which must be known. */
    const uint32_t learned = head->count, divided = p->warmup >> 2;
    head->count = next(a, head->count);
    for (uint32_t i = 0; i < p->size; i++) {
        learn(&a->mean[i], &a->variance[i], embedding[i] * 65536, head->count);
    }
    if (a->low_rank != 0 && learned > divided) {
        a->low_rank->learn(a, embedding, learned - divided);
    }
    return score;
}

void ar_anomaly_reset(ar_anomaly *a)
{
    a->head->count = a->head->scores = a->head->score_variance = a->head->frozen = 0;
    a->head->score_mean = 0;
    a->threshold = UINT32_MAX;
    a->alarm = 0;
    for (uint32_t i = 0; i < a->params->size; i++) {
        a->mean[i] = 0;
        a->variance[i] = 0;
    }
    if (a->low_rank != 0) {
        *a->trace = 0;
        for (uint32_t i = 0; i < a->params->rank * a->params->size; i++) {
            a->components[i] = 0;
        }
    }
}

void ar_anomaly_difference(const ar_anomaly_units *units, uint32_t size, const int8_t *input,
                           const int8_t *output, int8_t *difference)
{
    for (uint32_t i = 0; i < size; i++) {
        const int32_t scaled = (output[i] - units->output_zero) * units->multiplier;
        const int32_t value = ((scaled + 32768) >> 16) - (input[i] - units->input_zero);
        difference[i] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
    }
}
