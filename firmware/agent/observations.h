/* Counts what a device observes of its inferences, in histograms of fixed size: the latency, the class with the largest
 * output, that output (the confidence), and two statistics of the input. The bins are those of the fleet's agent in Python
 * (host/fleet/observations.py and latency_histogram.py).
 *
 * Counts are 16 bits and stay at 65,535. The code uses no 64-bit numbers and needs no memory besides the structure. */
#ifndef ARENITE_OBSERVATIONS_H
#define ARENITE_OBSERVATIONS_H

#include <stdint.h>

/* The number of classes of the model, up to 64; 0 if its first output is not a vector of 8-bit scores. Then classes and
 * confidence have no histogram. */
#ifndef AR_AGENT_CLASSES
#define AR_AGENT_CLASSES 0
#endif
/* 1 if the first input has 8-bit values; 0: its statistics have no histogram. */
#ifndef AR_AGENT_INPUT
#define AR_AGENT_INPUT 0
#endif
#if AR_AGENT_CLASSES > 64
#error "AR_AGENT_CLASSES must be 64 or less."
#endif

/* Numbers of histograms. The statistics of the input are AR_HISTOGRAM_INPUT (mean), and the next (mean distance from the
 * mean). */
enum {
    AR_HISTOGRAM_LATENCY = 0,
    AR_HISTOGRAM_CLASSES = 1,
    AR_HISTOGRAM_CONFIDENCE = 2,
    AR_HISTOGRAM_INPUT = 16
};
enum {
    AR_LATENCY_BUCKETS = 96,
    AR_OBSERVATION_BINS = 16,
    AR_FIRST_CLASS = AR_LATENCY_BUCKETS,
    AR_FIRST_CONFIDENCE = AR_FIRST_CLASS + AR_AGENT_CLASSES,
    AR_FIRST_INPUT = AR_FIRST_CONFIDENCE + (AR_AGENT_CLASSES ? AR_OBSERVATION_BINS : 0),
    AR_OBSERVATION_COUNTS = AR_FIRST_INPUT + (AR_AGENT_INPUT ? 2 * AR_OBSERVATION_BINS : 0)
};

typedef struct {
    uint32_t inferences;
    uint16_t counts[AR_OBSERVATION_COUNTS];
    uint8_t input_bins[2]; /* of the input that ar_observe_input saw last */
} ar_observations;

/* Sets all counts to 0. */
void ar_observations_clear(ar_observations *observations);

/* Computes the statistics of an input of `bytes` values, from 1 to 2^24. `sign` is 128 if they are int8, or 0 if they are
 * uint8, which count as int8 values that are 128 smaller. Call it before the inference, which may overwrite the input.
 * Nothing is counted before ar_observe_output. */
void ar_observe_input(ar_observations *observations, const uint8_t *values, uint32_t bytes, uint32_t sign);

/* Counts the inference: its latency in microseconds, and the AR_AGENT_CLASSES scores from `scores` on, with `sign` as
 * above. The first one of equal scores is the class. */
void ar_observe_output(ar_observations *observations, uint32_t latency_us, const uint8_t *scores,
                       uint32_t sign);

/* Returns the number of buckets of a histogram, and sets `counts` to the first one. Returns 0 if there is no such
 * histogram. */
uint32_t ar_histogram(const ar_observations *observations, uint32_t number, const uint16_t **counts);

#endif
