/* Outputs to answers: classes, boxes, anomaly scores. Integers throughout, except for the one product that
 * turns an anomaly score into a real number. Real numbers have 16 fractional bits,
 * coordinates are fractions of the input's sides. */
#ifndef ARENITE_POST_H
#define ARENITE_POST_H

#include <stdint.h>

#include "affine.h"

/* Element types; the values are those of the TFLite schema's TensorType. */
enum { AR_POST_FLOAT32 = 0, AR_POST_UINT8 = 3, AR_POST_INT16 = 7, AR_POST_INT8 = 9 };

/* Element `index` as a number in the order of the elements: integers themselves, of float the bits, those of negative
 * ones turned. */
static inline int32_t ar_key(const void *data, uint32_t dtype, uint32_t index)
{
    switch (dtype) {
    case AR_POST_INT8:
        return ((const int8_t *)data)[index];
    case AR_POST_UINT8:
        return ((const uint8_t *)data)[index];
    case AR_POST_INT16:
        return ((const int16_t *)data)[index];
    default: {
        const union {
            float value;
            int32_t bits;
        } u = {((const float *)data)[index]};
        /* A NaN is below everything. */
        return u.value != u.value ? INT32_MIN : u.bits < 0 ? INT32_MIN - (u.bits + 1) : u.bits;
    }
    }
}

/* ar_key of `count` elements, the first at `first`, `step` apart. */
void ar_keys(const void *data, uint32_t dtype, uint32_t first, uint32_t step, uint32_t count, int32_t *keys);

/* Element `index` as a real number, times the multiplier of channel `channel` of `affine`. */
int32_t ar_real(const ar_affine *affine, uint32_t channel, const void *data, uint32_t dtype, uint32_t index);

/* The value of an ar_key, as ar_real. */
int32_t ar_real_of_key(const ar_affine *affine, uint32_t dtype, int32_t key);

/* e^value with 16 fractional bits, value cut to [-10, 10]. `powers`: 2^(k / 128), k to 128, 30 fractional bits. */
int32_t ar_exponential(const uint32_t *powers, int32_t value);

/* 1 / (1 + e^-value). */
int32_t ar_sigmoid(const uint32_t *powers, int32_t value);

/* The positions of numbers in a tensor: field `f` of row `i` is element first + i * step + f * field. */
typedef struct {
    uint32_t first;
    uint32_t step;
    uint32_t field;
} ar_layout;

/* The largest number of rows in one step. */
enum { AR_POST_BLOCK = 32 };

/* For rows `start` to `start` + `count` the largest of the fields `first` to `last` - 1, of equal ones the lowest. */
void ar_best(const void *data, uint32_t dtype, const ar_layout *layout, uint32_t start, uint32_t count,
             uint32_t first, uint32_t last, int32_t *keys, uint32_t *best);

/* A class and its score as ar_key gives it: the stored score, if that is an integer. */
typedef struct {
    int32_t key;
    uint32_t index;
} ar_scored;

/* The best k of `count` scores, best first, of equal ones the lower, none below `least`; returns their number. */
uint32_t ar_top_k(const void *scores, uint32_t dtype, uint32_t count, uint32_t k, int32_t least,
                  ar_scored *best);

typedef struct {
    const uint32_t *powers;
    ar_affine values;
    uint32_t dtype;
    uint32_t count;
    uint32_t k;
    int32_t least; /* probability, 16 fractional bits */
} ar_softmax;

/* The same; the keys are the softmax of the scores, with 16 fractional bits. */
uint32_t ar_top_k_softmax(const ar_softmax *p, const void *scores, ar_scored *best);

typedef struct {
    int32_t top;
    int32_t left;
    int32_t bottom;
    int32_t right;
    int32_t key;    /* of its score */
    uint16_t index; /* class */
    uint16_t anchor;
} ar_box;

enum { AR_POST_MAX_POINTS = 32 };

/* Affines have channel 0 for y and height, 1 for x and width. */
typedef struct {
    const uint16_t *anchors; /* centre y, x, height, width, 1 as 2^15; 0 for none */
    const uint32_t *powers;  /* see ar_exponential; 0 where nothing needs them */
    ar_affine centres;
    ar_affine sizes;
    ar_affine weights; /* channel 0: of keys; 1: of given classes and their number */
    ar_layout box;
    ar_layout score;
    ar_layout object; /* field 0: objectness, in the scores' tensor */
    ar_layout label;  /* field 0: class */
    int32_t least;    /* key that a score has to reach */
    int32_t least_object;
    int32_t iou;
    uint32_t boxes_dtype;
    uint32_t scores_dtype;
    uint32_t labels_dtype;
    uint16_t count;
    uint16_t classes;
    uint16_t first_class;
    uint16_t candidates;
    uint16_t most;
    uint16_t points;       /* landmarks of a box */
    uint16_t point_first;  /* field of the first */
    uint16_t point_values; /* fields of each */
    int32_t object_zero;   /* zero point of the scores, with objectness */
    uint8_t x_first;       /* x, y, width, height */
    uint8_t corners;       /* two corners, not centre and size */
    uint8_t exponential;   /* sizes */
    uint8_t by_class;
    uint8_t average; /* boxes that overlap are averaged by their scores, not dropped */
    uint8_t logits;  /* scores come before their sigmoid */
    uint8_t objectness;
    uint8_t labelled; /* classes are given */
} ar_boxes;

/* Returns the number of boxes, best first. `found` has room for p->candidates, `points` for as many times
 * 2 * p->points: x and y of each landmark. `labels`: classes where p->labelled, `count`: a number of
 * rows, or 0 for all; both of p->labels_dtype. */
uint32_t ar_detect(const ar_boxes *p, const void *boxes, const void *scores, const void *labels,
                   const void *count, ar_box *found, int32_t *points);

typedef struct {
    ar_affine input;
    ar_affine output;
    float unit;
    uint32_t input_dtype;
    uint32_t output_dtype;
    uint32_t count;
} ar_squares;

/* Mean squared error. */
float ar_mse(const ar_squares *p, const void *input, const void *output);

/* Affines have channel 0 for y, 1 for x, 2 for the score. */
typedef struct {
    const uint32_t *powers; /* where scores are logits, else 0 */
    ar_affine values;
    uint32_t dtype;
    uint16_t count;
    uint16_t step; /* values of a point */
    uint8_t y;     /* which of them */
    uint8_t x;
    uint8_t score; /* 255 for none: then it is 1 */
} ar_landmarks;

/* x, y and score of each point to `found`, 16 fractional bits. */
void ar_points(const ar_landmarks *p, const void *data, int32_t *found);

typedef struct {
    ar_layout pixel; /* fields are channels */
    uint32_t dtype;
    uint32_t count; /* pixels */
    int32_t least;  /* key that the only channel has to reach */
    uint16_t first; /* channels `first` to `last` - 1 */
    uint16_t last;
    uint8_t given; /* the tensor holds classes, whose lowest byte is read */
} ar_segments;

/* The class of each pixel: the channel with the largest value, counted from the first; for one channel, whether it
 * reaches p->least, or the class that it holds. */
void ar_mask(const ar_segments *p, const void *data, uint8_t *found);

#endif
