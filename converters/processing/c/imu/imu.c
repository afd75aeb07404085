/* Converts windows of a motion sensor to a tensor; see imu.h. */
#include "imu.h"

#define FRACTION_BITS 16

typedef struct {
    int64_t sum;
    uint64_t squares;
    uint32_t zero_crossings;
    int32_t low;
    int32_t high;
} sums;

/* Returns a / b with FRACTION_BITS fractional bits, rounded down, for b below 2^47. */
static int64_t quotient(int64_t a, int64_t b)
{
    int64_t whole = a / b;
    int64_t rest = a % b;
    if (rest < 0) {
        whole--;
        rest += b;
    }
    return whole * (1 << FRACTION_BITS) + (rest << FRACTION_BITS) / b;
}

/* Returns the square root of a value below 2^62, rounded down. */
static int64_t root(uint64_t value)
{
    uint64_t result = 0;
    for (uint64_t bit = (uint64_t)1 << 60; bit > 0; bit >>= 2) {
        if (value >= result + bit) {
            value -= result + bit;
            result = (result >> 1) + bit;
        } else {
            result >>= 1;
        }
    }
    return (int64_t)result;
}

/* Returns the root of a quotient with FRACTION_BITS fractional bits. */
static int64_t root_of(int64_t value) { return root((uint64_t)value << FRACTION_BITS); }

/* Copies the samples of an axis to `axis` and returns their sums. */
static sums gather(const ar_imu *p, const int16_t *samples, int16_t *axis)
{
    sums s = {0, 0, 0, samples[0], samples[0]};
    int32_t before = samples[0];
    for (uint32_t k = 0; k < p->window; k++) {
        const int32_t x = samples[k * p->axes];
        axis[k] = (int16_t)x;
        s.sum += x;
        s.squares += (uint32_t)(x * x);
        s.low = x < s.low ? x : s.low;
        s.high = x > s.high ? x : s.high;
        s.zero_crossings += (uint32_t)(x ^ before) >> 31;
        before = x;
    }
    return s;
}

/* Returns how many neighbors are on different sides of sum / count. */
static uint32_t mean_crossings(const int16_t *axis, int32_t count, int64_t sum)
{
    uint32_t crossings = 0;
    int before = axis[0] * count >= sum;
    for (int32_t k = 1; k < count; k++) {
        const int above = axis[k] * count >= sum;
        crossings += above != before;
        before = above;
    }
    return crossings;
}

static int64_t statistic(const ar_imu *p, uint32_t kind, const sums *s, const int16_t *axis)
{
    const int64_t count = p->window;
    const int64_t squares = (int64_t)s->squares;
    switch (kind) {
    case AR_IMU_MEAN:
        return quotient(s->sum, count);
    case AR_IMU_STD:
        return root_of(quotient(count * squares - s->sum * s->sum, count * count));
    case AR_IMU_RMS:
        return root_of(quotient(squares, count));
    case AR_IMU_MIN:
        return (int64_t)s->low * (1 << FRACTION_BITS);
    case AR_IMU_MAX:
        return (int64_t)s->high * (1 << FRACTION_BITS);
    case AR_IMU_PEAK_TO_PEAK:
        return (int64_t)(s->high - s->low) * (1 << FRACTION_BITS);
    case AR_IMU_ZERO_CROSSINGS:
        return quotient(s->zero_crossings, count - 1);
    case AR_IMU_MEAN_CROSSINGS:
        return quotient(mean_crossings(axis, p->window, s->sum), count - 1);
    default:
        return quotient(squares, count * p->unit);
    }
}

/* Subtracts the mean, rounded down, from the samples of an axis. */
static void remove_mean(const ar_imu *p, int16_t *axis, int64_t sum)
{
    const int32_t mean = (int32_t)(quotient(sum, p->window) >> FRACTION_BITS);
    for (uint32_t k = 0; k < p->window; k++) {
        const int32_t x = axis[k] - mean;
        axis[k] = (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
    }
}

void ar_imu_frame(const void *front, void *memory, const int16_t *samples, void *to, void *scratch)
{
    const ar_imu *p = front;
    int16_t *axis = scratch;
    uint32_t out = 0;
    (void)memory;
    if (p->statistics_count == 0 && !p->bands) {
        for (; out < (uint32_t)p->window * p->axes; out++) {
            ar_affine_store(&p->affine, 0, (int64_t)samples[out] * (1 << FRACTION_BITS), to, out);
        }
        return;
    }
    for (uint32_t a = 0; a < p->axes; a++) {
        const sums s = gather(p, samples + a, axis);
        for (uint32_t k = 0; k < p->statistics_count; k++, out++) {
            const uint32_t kind = p->statistics[k];
            const int64_t value = statistic(p, kind, &s, axis);
            const int is_share = kind == AR_IMU_ZERO_CROSSINGS || kind == AR_IMU_MEAN_CROSSINGS;
            ar_affine_store(&p->affine, is_share ? 1 : 0,
                            value < INT32_MIN   ? INT32_MIN
                            : value > INT32_MAX ? INT32_MAX
                                                : value,
                            to, out);
        }
        if (p->bands) {
            if (p->remove_mean) {
                remove_mean(p, axis, s.sum);
            }
            ar_audio_frame(p->bands, 0, axis, (uint8_t *)to + out * p->affine.element_bytes,
                           (uint8_t *)scratch + (p->window * 2u + 7u) / 8u * 8u);
            out += p->bands->features;
        }
    }
}
