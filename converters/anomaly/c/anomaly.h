/* Learns which embeddings are normal, and classes from a few examples. All arithmetic is in integers.
 *
 * An embedding is `size` values of type int8_t, such as the output of a model. The head learns the mean and the
 * variance of each value. The score of an embedding is the mean of its squared deviations, each divided by the
 * variance: about 1 for embeddings like those that it learned. The threshold follows the scores: mean and standard
 * deviation of their logarithm.
 *
 * Formulas: mean += (x - mean) / n; variance += ((x - old mean) * (x - new mean) - variance) / n, after Welford (1962).
 * n counts the embeddings up to `memory`; from then on old embeddings are forgotten exponentially (Finch 2009). */
#ifndef ARENITE_ANOMALY_H
#define ARENITE_ANOMALY_H

#include <stdint.h>

typedef struct {
    uint32_t size;       /* values of an embedding */
    uint32_t warmup;     /* embeddings before the first alarm, at most 2^memory_bits */
    uint32_t floor;      /* number that is added to each variance, 16 fractional bits, at least 1 */
    uint32_t sigmas;     /* standard deviations of the threshold, 8 fractional bits */
    uint32_t limit;      /* largest distance to a class, 16 fractional bits */
    uint16_t classes;    /* classes that can be taught */
    uint8_t memory_bits; /* n is at most 2^memory_bits, at most 12 */
    uint8_t learn_all;   /* 1: learn also from embeddings that raise an alarm */
    uint32_t rank;       /* directions of the low-rank covariance; 0 for a diagonal one */
} ar_anomaly_params;

/* The start of the state. 0 everywhere in the state is a head that has learned nothing. */
typedef struct {
    uint32_t count;          /* embeddings that were learned, at most 2^memory_bits */
    uint32_t scores;         /* scores that were learned, at most 2^memory_bits */
    int32_t score_mean;      /* of the logarithms of scores, 16 fractional bits */
    uint32_t score_variance; /* 16 fractional bits */
    uint32_t frozen;         /* 1: learn nothing */
} ar_anomaly_head;

typedef struct ar_anomaly ar_anomaly;

/* The low-rank covariance: `ar_low_rank` of low_rank.h. */
typedef struct {
    uint32_t (*score)(const ar_anomaly *a, const int8_t *embedding);
    /* Learns an embedding, the `n`-th one, whose mean and variances are learned already. */
    void (*learn)(ar_anomaly *a, const int8_t *embedding, uint32_t n);
} ar_anomaly_low_rank;

/* The state has no pointers, so it can be saved and loaded as bytes. */
struct ar_anomaly {
    const ar_anomaly_params *params;
    ar_anomaly_head *head;
    int32_t *mean;       /* `size` values, 16 fractional bits */
    uint32_t *variance;  /* `size` values, 16 fractional bits */
    uint32_t *taught;    /* `classes` values: examples of each class, at most AR_ANOMALY_MAX_EXAMPLES */
    int16_t *prototypes; /* `classes` x `size` values, 8 fractional bits */
    uint32_t threshold;  /* with which the last embedding was compared; 2^32 - 1 during warm-up */
    uint32_t alarm;      /* 1 if the score of the last embedding was larger */
    const ar_anomaly_low_rank *low_rank; /* 0 for a diagonal covariance; then the rest is not used */
    uint32_t *trace;                     /* mean of the squared values, 16 fractional bits */
    int32_t *components;                 /* `rank` x `size` values, 16 fractional bits */
    int32_t *row;                        /* scratch: `size` values */
};

enum { AR_ANOMALY_MAX_EXAMPLES = 256 };

/* Returns the score of an embedding with 16 fractional bits, 2^32 - 1 if it is larger; 0 if nothing was learned yet. */
uint32_t ar_anomaly_score(const ar_anomaly *a, const int8_t *embedding);

/* Returns the largest score that is normal, 16 fractional bits; 2^32 - 1 during warm-up. */
uint32_t ar_anomaly_threshold(const ar_anomaly *a);

/* Returns the score of an embedding, sets `threshold` and `alarm`, and then learns the embedding, unless the head is
 * frozen or the embedding raised an alarm. */
uint32_t ar_anomaly_update(ar_anomaly *a, const int8_t *embedding);

/* Forgets the statistics and the scores, but not the classes. Ends a freeze. */
void ar_anomaly_reset(ar_anomaly *a);

/* Learns an example of class `index`. Returns the number of its examples, 0 if there is no such class. */
uint32_t ar_anomaly_teach(ar_anomaly *a, uint32_t index, const int8_t *embedding);

/* Forgets class `index`. */
void ar_anomaly_forget(ar_anomaly *a, uint32_t index);

/* Returns the class with the nearest prototype (of equally near ones, the first); -1 if none was taught or the distance
 * is larger than the limit. `distance`, if it is not 0, receives the mean squared difference to the nearest prototype,
 * 16 fractional bits; 2^32 - 1 if none was taught. */
int32_t ar_anomaly_classify(const ar_anomaly *a, const int8_t *embedding, uint32_t *distance);

/* For low_rank.c: value / n, rounded to the nearest integer, halves up; and the square root, rounded down. */
int64_t ar_anomaly_divide(int64_t value, uint32_t n);
uint32_t ar_anomaly_root(uint64_t value);

/* The difference between the output of an autoencoder and its input, in units of the input. */
typedef struct {
    int32_t multiplier; /* unit of the output / unit of the input, 16 fractional bits, below 2^23 */
    int32_t output_zero;
    int32_t input_zero;
} ar_anomaly_units;

/* Writes the difference of `size` values, clipped to int8_t. `output` and `difference` may be the same. */
void ar_anomaly_difference(const ar_anomaly_units *units, uint32_t size, const int8_t *input,
                           const int8_t *output, int8_t *difference);

#endif
