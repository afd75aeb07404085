/* Outputs to answers: classes, boxes, anomaly scores. Integers throughout, but for the one product that makes an
 * anomaly score a real number. Real numbers have 16 fractional bits, coordinates are fractions of the input's sides. */
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
        return u.bits < 0 ? INT32_MIN - (u.bits + 1) : u.bits;
    }
    }
}

/* Element `index` as a real number, times the multiplier of `affine`. */
int32_t ar_real(const ar_affine *affine, const void *data, uint32_t dtype, uint32_t index);

/* A class and its score as ar_key gives it: the stored score, if that is an integer. */
typedef struct {
    int32_t key;
    uint32_t index;
} ar_scored;

/* The best k of `count` scores, best first, of equal ones the lower, none below `least`; how many there are. */
uint32_t ar_top_k(const void *scores, uint32_t dtype, uint32_t count, uint32_t k, int32_t least,
                  ar_scored *best);

typedef struct {
    int32_t top;
    int32_t left;
    int32_t bottom;
    int32_t right;
    int32_t key;    /* of its score */
    uint16_t index; /* class */
    uint16_t anchor;
} ar_box;

typedef struct {
    const uint16_t *anchors; /* centre y, x, height, width, 1 as 2^15; 0 for none */
    const uint32_t *powers;  /* 2^(k / 128), 30 fractional bits; 0 when sizes are not exponential */
    ar_affine centres;
    ar_affine sizes;
    int32_t least; /* key that a score has to reach */
    int32_t iou;
    uint32_t boxes_dtype;
    uint32_t scores_dtype;
    uint16_t count;
    uint16_t stride; /* numbers of a box */
    uint16_t classes;
    uint16_t first_class;
    uint16_t candidates;
    uint16_t most;
    uint8_t x_first; /* x, y, width, height */
    uint8_t by_class;
} ar_boxes;

/* `found` has room for p->candidates boxes; how many of them are answers, best first. */
uint32_t ar_detect(const ar_boxes *p, const void *boxes, const void *scores, ar_box *found);

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

#endif
