#include "low_rank.h"

enum {
    MAX_VALUE = 32767,      /* of a divided value, 8 fractional bits */
    MAX_COMPONENT = 1 << 23 /* 16 fractional bits */
};
/* Least variance in a direction, 16 fractional bits. */
#define MIN_VARIANCE 256u

static int32_t clip(int64_t value, int32_t limit)
{
    return (int32_t)(value > limit ? limit : value < -limit ? -limit : value);
}

static int64_t dot(const int32_t *a, const int32_t *b, uint32_t size)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < size; i++) {
        sum += (int64_t)a[i] * b[i];
    }
    return sum;
}

/* Writes the deviations divided by the standard deviations to `row`, with 8 fractional bits. */
static void divide(const ar_anomaly *a, const int8_t *embedding)
{
    for (uint32_t i = 0; i < a->params->size; i++) {
        const int64_t deviation = (int64_t)embedding[i] * 65536 - a->mean[i];
        const uint32_t root = ar_anomaly_root((uint64_t)(a->variance[i] + a->params->floor) << 16);
        a->row[i] = clip(ar_anomaly_divide(deviation * 256, root), MAX_VALUE);
    }
}

static uint32_t score(const ar_anomaly *a, const int8_t *embedding)
{
    const ar_anomaly_params *p = a->params;
    const int32_t *row = a->row;
    divide(a, embedding);
    uint64_t rest = (uint64_t)dot(row, row, p->size), known = 0, sum = 0;
    uint32_t directions = 0;
    for (uint32_t k = 0; k < p->rank; k++) {
        const int32_t *component = a->components + k * p->size;
        const uint64_t square = (uint64_t)dot(component, component, p->size), variance = square >> 16;
        if (variance < MIN_VARIANCE) {
            break;
        }
        const int64_t across = dot(row, component, p->size), length = ar_anomaly_root(square);
        const int64_t along = across * 256 / length;
        const uint64_t energy = (uint64_t)(along * along);
        sum += energy / variance;
        rest -= energy >> 16 < rest ? energy >> 16 : rest;
        known += variance;
        directions++;
    }
    const uint64_t all = (uint64_t)*a->trace * p->size;
    const uint64_t left = all > known ? (all - known) / (p->size - directions) : 0;
    sum += (rest << 16) / (left < MIN_VARIANCE ? MIN_VARIANCE : left);
    sum /= p->size;
    return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* Returns value * factor for a factor with 30 fractional bits. */
static int64_t scaled(int64_t value, int32_t factor) { return (value * factor + (1 << 29)) >> 30; }

/* Rotates two rows in their plane so that they are orthogonal, and the first one is at least as long. */
static void rotate(int32_t *x, int32_t *y, uint32_t size)
{
    int64_t apart = dot(x, x, size) - dot(y, y, size), twice = 2 * dot(x, y, size);
    while (apart >= 1 << 30 || apart <= -(1 << 30) || twice >= 1 << 30 || twice <= -(1 << 30)) {
        apart >>= 1;
        twice >>= 1;
    }
    const int64_t hypotenuse = ar_anomaly_root((uint64_t)(apart * apart + twice * twice));
    if (hypotenuse == 0 || (twice == 0 && apart >= 0)) {
        return;
    }
    /* Half of the sine and the cosine of the doubled angle, 30 fractional bits; then those of the angle. */
    const int64_t half_sine = twice * (1 << 29) / hypotenuse;
    const int64_t larger = apart < 0 ? hypotenuse - apart : hypotenuse + apart;
    const int64_t root = ar_anomaly_root((uint64_t)(larger * (1 << 29) / hypotenuse) << 30);
    const int64_t smaller = half_sine * (1 << 30) / root;
    int64_t cosine = root, sine = smaller;
    if (apart < 0) {
        cosine = smaller < 0 ? -smaller : smaller;
        sine = smaller < 0 ? -root : root;
    }
    for (uint32_t i = 0; i < size; i++) {
        const int64_t first = x[i], second = y[i];
        x[i] = clip((first * cosine + second * sine + (1 << 29)) >> 30, MAX_COMPONENT);
        y[i] = clip((second * cosine - first * sine + (1 << 29)) >> 30, MAX_COMPONENT);
    }
}

/* Mean and variances have learned the embedding already. Its deviation from the mean that includes it is too small by
 * (count - 1) / count; with the mean before, it would be too large by the inverse. The variance that Welford's formula
 * learns is the product of both, so the square takes count / (count - 1). */
static void learn(ar_anomaly *a, const int8_t *embedding, uint32_t n)
{
    const uint32_t size = a->params->size, rank = a->params->rank, others = a->head->count - 1;
    const uint64_t one = UINT64_C(1) << 60, part = one / n;
    const int32_t of_new = (int32_t)ar_anomaly_root(part + part / others),
                  of_old = (int32_t)ar_anomaly_root(one - part);
    int32_t *row = a->row;
    divide(a, embedding);
    const int64_t square = dot(row, row, size) / size, energy = square + square / others;
    *a->trace = (uint32_t)(*a->trace + ar_anomaly_divide(energy - *a->trace, n));
    for (uint32_t i = 0; i < size; i++) {
        row[i] = (int32_t)scaled((int64_t)row[i] * 256, of_new);
    }
    for (uint32_t i = 0; i < rank * size; i++) {
        a->components[i] = (int32_t)scaled(a->components[i], of_old);
    }
    for (uint32_t k = 0; k < rank; k++) {
        for (uint32_t j = k + 1; j <= rank; j++) {
            rotate(a->components + k * size, j < rank ? a->components + j * size : row, size);
        }
    }
}

const ar_anomaly_low_rank ar_low_rank = {score, learn};
