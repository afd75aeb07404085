/* Converts a recording to a tensor; see audio.h. */
#include "audio.h"
#include "logarithm.h"

#define FRAME_BITS 29    /* bits of the largest value of a scaled frame */
#define POWER_SHIFT 13   /* bits by which powers are shifted right */
#define MAX_BITS 62      /* bits of a sum before its logarithm is computed */
#define EMPHASIS_BITS 12 /* fractional bits of p->preemphasis, which pre-emphasis adds to a sample */
/* The shift from the product of a logarithm and p->factor to 16 fractional bits. */
#define FEATURE_SHIFT (AR_LOG2_BITS + 28 - 16)

/* Returns sample `at` of the recording, which is padded before and after. */
static int32_t sample(const ar_audio *p, const int16_t *samples, uint32_t count, int32_t at)
{
    const int32_t all = (int32_t)p->samples;
    if (p->pad == AR_PAD_REFLECT) {
        at = at < 0 ? -at : at;
        at = at >= all ? 2 * (all - 1) - at : at;
    }
    return at >= 0 && at < all && (uint32_t)at < count ? samples[at] : 0;
}

/* Returns the largest sample of the recording, or its largest magnitude. */
static int32_t peak_of(const ar_audio *p, const int16_t *samples, uint32_t count)
{
    /* The peak is at least 1, so that a silent recording is not divided by 0. */
    int32_t peak = 1;
    for (uint32_t k = 0; k < count && k < p->samples; k++) {
        int32_t value = samples[k];
        if (p->peak == AR_PEAK_SIZE && value < 0) {
            value = -value;
        }
        peak = value > peak ? value : peak;
    }
    return peak;
}

/* Returns `raw` after pre-emphasis, if there is one. `before` is the sample before it, which `raw` replaces. */
static inline int32_t emphasize(const ar_audio *p, int32_t raw, int32_t *before)
{
    if (p->preemphasis == 0) {
        return raw;
    }
    const int32_t value = raw * (1 << EMPHASIS_BITS) - p->preemphasis * *before;
    *before = raw;
    return value;
}

/* Writes a frame, windowed and scaled, in the order that ar_fft expects. Returns the power of two by which it was
 * scaled. `before` is the sample before the frame; only pre-emphasis needs it. */
static int load(const ar_audio *p, const int16_t *samples, uint32_t count, int32_t from, int32_t before,
                int32_t *values)
{
    const int32_t length = p->length;
    const uint32_t there = count < p->samples ? count : p->samples;
    /* A frame inside the recording is read without a check for each sample. */
    const int16_t *inside = from >= 0 && (uint32_t)from + p->length <= there ? samples + from : 0;
    int32_t top = 0, last = before;
    for (int32_t n = 0; n < length; n++) {
        const int32_t raw = inside ? inside[n] : sample(p, samples, count, from + n);
        const int32_t value = emphasize(p, raw, &last);
        const int32_t size = value < 0 ? -value : value;
        top |= size; /* only the highest bit counts */
    }
    const int bits = ar_bit_length((uint32_t)top);
    uint32_t reversed = 0;
    last = before;
    for (uint32_t n = 0; n < p->fft; n++) {
        const int32_t k = (int32_t)n - p->inset;
        int32_t value = 0;
        if (k >= 0 && k < length) {
            const int32_t raw = inside ? inside[k] : sample(p, samples, count, from + k);
            const int32_t other = p->mirror - k;
            value = emphasize(p, raw, &last) * (1 << (FRAME_BITS + 1 - bits));
            value =
                p->window ? (int32_t)(((int64_t)value * p->window[k < other ? k : other]) >> 32) : value >> 1;
        }
        values[2 * reversed + (n & 1u)] = value;
        if (n & 1u) { /* the next number of a counter with reversed bits */
            uint32_t bit = p->fft / 4u;
            while (reversed & bit) {
                reversed ^= bit;
                bit >>= 1;
            }
            reversed |= bit;
        }
    }
    return FRAME_BITS - bits;
}

/* Converts the complex numbers of a spectrum to magnitudes, or to powers shifted right by POWER_SHIFT. */
static void sizes(const ar_audio *p, int32_t *values)
{
    uint64_t *spectrum = (uint64_t *)(void *)values;
    for (uint32_t k = 0; k < p->last_bin; k++) {
        const int64_t re = values[2 * k], im = values[2 * k + 1];
        const uint64_t power = (uint64_t)(re * re + im * im);
        spectrum[k] = p->power == 2 ? power >> POWER_SHIFT : ar_root(p->roots, power);
    }
}

/* Returns log2(sum * 2^exponent / peak + offset), or log2(max(sum * 2^exponent / peak, floor)), with AR_LOG2_BITS
 * fractional bits. */
static int64_t logarithm(const ar_audio *p, uint64_t sum, int32_t exponent, int64_t peak)
{
    const int64_t mantissa = p->mantissa * peak;
    int32_t at = p->exponent - exponent; /* exponent of the offset, in units of the sum */
    int32_t cut = at + ar_bit_length((uint64_t)mantissa) - MAX_BITS;
    cut = cut < 0 ? 0 : cut;
    at -= cut;
    uint64_t other;
    if (at >= 0) {
        other = (uint64_t)mantissa << at;
    } else {
        other = at > -64 ? (uint64_t)mantissa >> -at : 0;
    }
    sum = cut < 64 ? sum >> cut : 0;
    if (p->is_floor) {
        sum = sum > other ? sum : other;
    } else {
        const uint64_t limit = ((uint64_t)1 << MAX_BITS) - 1;
        sum = (sum < limit ? sum : limit) + other;
    }
    const int64_t log_sum = ar_log2(p->logs, sum ? sum : 1);
    return log_sum + (int64_t)(exponent + cut) * (1 << AR_LOG2_BITS) - ar_log2(p->logs, (uint64_t)peak);
}

static int32_t saturated(int64_t value)
{
    return (int32_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
}

/* Converts the frame that begins at sample `from` to features, and writes them from element `out` of `to` on. `before` is
 * the sample before the frame, and `top` is the peak to divide by. */
static void convert(const ar_audio *p, const int16_t *samples, uint32_t count, int32_t from, int32_t before,
                    int64_t top, void *to, uint32_t out, void *scratch)
{
    int32_t *values = scratch;
    int32_t *features = values + (p->fft + 2u);
    const int64_t peak = p->power == 2 ? top * top : top;
    const int32_t exponent = p->base_exponent - p->power * load(p, samples, count, from, before, values);
    ar_fft(values, p->fft, p->sines);
    sizes(p, values);
    const uint64_t *spectrum = (const uint64_t *)(const void *)values;
    const uint16_t *weight = p->weights;
    for (uint32_t b = 0; b < p->bins; b++) {
        const uint64_t *bin = spectrum + p->first[b];
        uint64_t sum = 0;
        if (p->power == 2) {
            for (uint32_t k = p->count[b]; k > 0; k--) {
                sum += *bin++ * *weight++;
            }
        } else { /* magnitudes have 32 bits */
            for (uint32_t k = p->count[b]; k > 0; k--) {
                sum += (uint64_t)(uint32_t)*bin++ * *weight++;
            }
        }
        const int64_t product = logarithm(p, sum, exponent, peak) * p->factor;
        features[b] = saturated((product + ((int64_t)1 << (FEATURE_SHIFT - 1))) >> FEATURE_SHIFT);
    }
    for (uint32_t f = 0; f < p->features; f++, out++) {
        int32_t value = features[f];
        if (p->cosines) {
            const int32_t *row = p->cosines + f * p->bins;
            int64_t sum = 1 << 29; /* rounds the 30 fractional bits of the cosines */
            for (uint32_t b = 0; b < p->bins; b++) {
                sum += (int64_t)row[b] * features[b];
            }
            value = saturated(sum >> 30);
        }
        ar_affine_store(&p->affine, 0, value, to, out);
    }
}

void ar_audio_run(const ar_audio *p, const int16_t *samples, uint32_t count, void *to, void *scratch)
{
    const int64_t top = p->peak == AR_PEAK_NONE ? 1 : peak_of(p, samples, count);
    for (uint32_t frame = 0; frame < p->frames; frame++) {
        const int32_t from = (int32_t)(frame * p->step) - p->lead;
        const int32_t before = from > 0 ? sample(p, samples, count, from - 1) : 0;
        convert(p, samples, count, from, before, top, to, frame * p->features, scratch);
    }
}

void ar_audio_frame(const void *front, void *memory, const int16_t *frame, void *row, void *scratch)
{
    const ar_audio *p = front;
    int32_t *before = memory;
    convert(p, frame, p->length, 0, p->preemphasis ? *before : 0, 1, row, 0, scratch);
    if (p->preemphasis) {
        *before = frame[p->step - 1u];
    }
}
