/* The front end of micro_speech and microWakeWord; see micro.h. */
#include "micro.h"
#include "fft16.h"

#define WINDOW_BITS 12
#define FILTER_BITS 12

/* Writes the windowed samples in the order that ar_fft16 expects. Returns the shift that makes the largest one a number
 * of 15 bits. A sample of -32768 does not count, as in the original code. */
static int load(const ar_micro *p, const int16_t *samples, uint32_t count, ar_complex16 *z)
{
    const uint32_t half = p->fft / 2u, used = count < p->length ? count : p->length;
    uint32_t at = 0, top = 0;
    for (uint32_t n = 0; n < half; n++) {
        int16_t pair[2] = {0, 0};
        for (uint32_t k = 0; k < 2 && 2 * n + k < used; k++) {
            const int32_t value = (samples[2 * n + k] * p->window[2 * n + k]) >> WINDOW_BITS;
            pair[k] = (int16_t)value;
            top |= (uint32_t)(value < 0 ? -value : value) & 0x7FFFu; /* only the highest bit counts */
        }
        z[at].re = pair[0];
        z[at].im = pair[1];
        at = n + 1 < half ? ar_fft16_next(at, half) : 0;
    }
    return 15 - ar_bits32(top);
}

/* Writes the channels' filter sums, as roots, shifted right by `shift`. */
static void filter(const ar_micro *p, const ar_complex16 *z, int shift, uint32_t *signal)
{
    const uint16_t *weight = p->weights, *rest = p->rests;
    uint64_t before = 0;
    z += p->first;
    for (uint32_t part = 0; part <= p->channels; part++) {
        uint64_t own = 0, all = 0;
        for (uint32_t k = p->count[part]; k > 0; k--, z++) {
            const uint32_t energy = (uint32_t)(z->re * z->re) + (uint32_t)(z->im * z->im);
            own += (uint64_t)energy * *weight++;
            all += rest ? (uint64_t)energy * *rest++ : energy;
        }
        if (part > 0) {
            signal[part - 1] = ar_rounded_root(before + own) >> shift;
        }
        before = rest ? all : (all << FILTER_BITS) - own;
    }
}

void ar_micro_features(const ar_micro *p, const int16_t *samples, uint32_t count, uint32_t *noise,
                       uint32_t *features, void *scratch)
{
    ar_complex16 *z = scratch;
    const int shift = load(p, samples, count, z);
    ar_fft16(z, p->fft, p->wave, shift);
    filter(p, z, shift, features);
    ar_noise_reduce(&p->noise, p->channels, features, features, noise);
    if (p->gains) {
        ar_gain_control(p->gains, p->gain_shift, p->channels, features, noise, features);
    }
    for (uint32_t c = 0; c < p->channels; c++) {
        uint32_t value = features[c];
        if (p->logs) {
            value = p->correction < 0 ? value >> -p->correction : value << p->correction;
            value = ar_scaled_log(p->logs, 1u << p->log_shift, value);
        }
        features[c] = value < 65535u ? value : 65535u;
    }
}

/* Converts one window and writes its row, which begins with element `out` of `to`. */
static void convert(const ar_micro *p, const int16_t *samples, uint32_t count, uint32_t *noise, void *to,
                    uint32_t out, void *scratch)
{
    uint32_t *features = (uint32_t *)scratch + (p->fft / 2u + 1u);
    ar_micro_features(p, samples, count, noise, features, scratch);
    for (uint32_t c = 0; c < p->channels; c++) {
        ar_affine_store(&p->affine, 0, (int64_t)features[c] << 16, to, out + c);
    }
}

void ar_micro_frame(const void *front, void *memory, const int16_t *frame, void *row, void *scratch)
{
    const ar_micro *p = front;
    convert(p, frame, p->length, memory, row, 0, scratch);
}

void ar_micro_run(const ar_micro *p, const int16_t *samples, uint32_t count, void *to, void *scratch)
{
    uint32_t *noise = (uint32_t *)scratch + (p->fft / 2u + 1u) + p->channels;
    const uint32_t there = count < p->samples ? count : p->samples;
    for (uint32_t c = 0; c < p->channels; c++) {
        noise[c] = 0;
    }
    for (uint32_t frame = 0; frame < p->frames; frame++) {
        const uint32_t from = frame * p->step;
        const uint32_t begin = from < there ? from : there;
        convert(p, samples + begin, there - begin, noise, to, frame * p->channels, scratch);
    }
}
