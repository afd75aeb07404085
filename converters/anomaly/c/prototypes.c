#include "anomaly.h"

uint32_t ar_anomaly_teach(ar_anomaly *a, uint32_t index, const int8_t *embedding)
{
    const uint32_t size = a->params->size;
    if (index >= a->params->classes) {
        return 0;
    }
    if (a->taught[index] < AR_ANOMALY_MAX_EXAMPLES) {
        a->taught[index]++;
    }
    const int32_t n = (int32_t)a->taught[index];
    int16_t *prototype = a->prototypes + index * size;
    for (uint32_t i = 0; i < size; i++) {
        /* The difference divided by n, rounded to the nearest integer; halves are rounded up. */
        const int32_t sum = embedding[i] * 256 - prototype[i] + (n >> 1), quotient = sum / n;
        prototype[i] = (int16_t)(prototype[i] + quotient - (sum - quotient * n < 0));
    }
    return a->taught[index];
}

void ar_anomaly_forget(ar_anomaly *a, uint32_t index)
{
    if (index >= a->params->classes) {
        return;
    }
    a->taught[index] = 0;
    for (uint32_t i = 0; i < a->params->size; i++) {
        a->prototypes[index * a->params->size + i] = 0;
    }
}

int32_t ar_anomaly_classify(const ar_anomaly *a, const int8_t *embedding, uint32_t *distance)
{
    const uint32_t size = a->params->size;
    uint32_t nearest = UINT32_MAX;
    int32_t best = -1;
    for (uint32_t k = 0; k < a->params->classes; k++) {
        const int16_t *prototype = a->prototypes + k * size;
        uint64_t sum = 0;
        if (a->taught[k] == 0) {
            continue;
        }
        for (uint32_t i = 0; i < size; i++) {
            const int32_t difference = embedding[i] * 256 - prototype[i];
            const uint32_t magnitude = (uint32_t)(difference < 0 ? -difference : difference);
            sum += (uint64_t)magnitude * magnitude;
        }
        const uint32_t mean = (uint32_t)(sum / size);
        if (best < 0 || mean < nearest) {
            nearest = mean;
            best = (int32_t)k;
        }
    }
    if (distance != 0) {
        *distance = nearest;
    }
    return nearest > a->params->limit ? -1 : best;
}
