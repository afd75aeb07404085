/* Convert outputs to answers: classes, boxes, anomaly scores. All arithmetic is in integers, except for the product
 * that converts an anomaly score to a real number. Real numbers have 16 fractional bits. Coordinates are fractions of
 * the input's sides. */
#ifndef ARENITE_POST_H
#define ARENITE_POST_H

#include <stdint.h>

#include "affine.h"

/* Element types. The values are those of the TFLite schema's TensorType. */
enum { AR_POST_FLOAT32 = 0, AR_POST_UINT8 = 3, AR_POST_INT16 = 7, AR_POST_INT8 = 9 };

/* Returns the key of element `index`. Keys have the same order as the elements. The key of an integer is the integer;
 * the key of a float is its bit pattern, with the lower bits inverted if it is negative. */
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
        /* NaN has the smallest key. */
        return u.value != u.value ? INT32_MIN : u.bits < 0 ? INT32_MIN - (u.bits + 1) : u.bits;
    }
    }
}

/* Writes the keys of `count` elements: of element `first`, and of every `step`-th element after it. */
void ar_keys(const void *data, uint32_t dtype, uint32_t first, uint32_t step, uint32_t count, int32_t *keys);

/* Returns element `index` as a real number, converted with channel `channel` of `affine`. */
int32_t ar_real(const ar_affine *affine, uint32_t channel, const void *data, uint32_t dtype, uint32_t index);

/* Returns the real number of a key, converted with channel 0 of `affine`. */
int32_t ar_real_of_key(const ar_affine *affine, uint32_t dtype, int32_t key);

/* Returns e^value with 16 fractional bits. The value is clipped to [-10, 10]. `powers` has 2^(k / 128) for k from 0
 * to 128, with 30 fractional bits. */
int32_t ar_exponential(const uint32_t *powers, int32_t value);

/* Returns 1 / (1 + e^-value). */
int32_t ar_sigmoid(const uint32_t *powers, int32_t value);

/* The positions of numbers in a tensor: field `f` of row `i` is element first + i * step + f * field. */
typedef struct {
    uint32_t first;
    uint32_t step;
    uint32_t field;
} ar_layout;

/* The largest number of rows that are processed in one step. */
enum { AR_POST_BLOCK = 32 };

/* Finds the largest of the fields `first` to `last` - 1 for each of `count` rows from row `start`, and writes its key
 * and its number. If fields are equal, the first one is taken. */
void ar_best(const void *data, uint32_t dtype, const ar_layout *layout, uint32_t start, uint32_t count,
             uint32_t first, uint32_t last, int32_t *keys, uint32_t *best);

/* A class (`index`), and its score as a key (see ar_key). The key of an integer score is the stored score. */
typedef struct {
    int32_t key;
    uint32_t index;
} ar_scored;

/* Writes the best k of `count` scores that are at least `least`, best first; of equal scores, the lower class is
 * first. Returns their number. */
uint32_t ar_top_k(const void *scores, uint32_t dtype, uint32_t count, uint32_t k, int32_t least,
                  ar_scored *best);

typedef struct {
    const uint32_t *powers; /* see ar_exponential */
    ar_affine values;
    uint32_t dtype;
    uint32_t count; /* number of classes */
    uint32_t k;     /* number of classes to return */
    int32_t least;  /* the smallest probability to return, 16 fractional bits */
} ar_softmax;

/* Does the same as ar_top_k, but the keys are the softmax of the scores with 16 fractional bits. */
uint32_t ar_top_k_softmax(const ar_softmax *p, const void *scores, ar_scored *best);

typedef struct {
    int32_t top;
    int32_t left;
    int32_t bottom;
    int32_t right;
    int32_t key;    /* key of the score */
    uint16_t index; /* class */
    uint16_t anchor;
} ar_box;

/* The largest number of landmarks per box. */
enum { AR_POST_MAX_POINTS = 32 };

/* Parameters of a detector, whose tensors have one row for each anchor. `centres` and `sizes` have channel 0 for y and
 * height, and channel 1 for x and width. */
typedef struct {
    const uint16_t *anchors; /* center y, center x, height, width, 2^15 is 1; 0 for none */
    const uint32_t *powers;  /* see ar_exponential; 0 if not needed */
    ar_affine centres;
    ar_affine sizes;
    ar_affine numbers; /* channel 0: keys of scores; channel 1: classes, and the count of boxes */
    ar_layout box;
    ar_layout score;
    ar_layout object;     /* field 0: objectness, in the scores' tensor */
    ar_layout label;      /* field 0: class */
    int32_t least;        /* the smallest key of a score */
    int32_t least_object; /* the smallest key of an objectness */
    int32_t iou;          /* boxes with a larger intersection over union overlap; 16 fractional bits */
    uint32_t boxes_dtype;
    uint32_t scores_dtype;
    uint32_t labels_dtype;
    uint16_t count;        /* rows of the tensors */
    uint16_t classes;      /* the last class, plus 1 */
    uint16_t first_class;  /* the first class that is not the background */
    uint16_t candidates;   /* the largest number of boxes that are compared */
    uint16_t most;         /* the largest number of boxes to return */
    uint16_t points;       /* landmarks per box */
    uint16_t point_first;  /* field of the first landmark */
    uint16_t point_values; /* fields of each landmark */
    int32_t object_zero;   /* zero point of the scores; used with objectness */
    uint8_t x_first;       /* whether x is before y, and width before height */
    uint8_t corners;       /* whether a box is two corners instead of center and size */
    uint8_t exponential;   /* whether sizes are exponents of e */
    uint8_t by_class;      /* whether only boxes of the same class can overlap */
    uint8_t average;       /* whether overlapping boxes are averaged by their scores instead of dropped */
    uint8_t logits;        /* whether scores are values before the sigmoid */
    uint8_t objectness;    /* whether the model outputs objectness */
    uint8_t labelled;      /* whether the model outputs classes */
} ar_boxes;

/* Writes the boxes, best first, and returns their number. `found` must have p->candidates elements, and `points`
 * p->candidates * 2 * p->points elements, for x and y of each landmark. `labels` has the classes if p->labelled.
 * `count` points to the number of rows, or is 0 for all rows. Both have the type p->labels_dtype. */
uint32_t ar_detect(const ar_boxes *p, const void *boxes, const void *scores, const void *labels,
                   const void *count, ar_box *found, int32_t *points);

typedef struct {
    ar_affine input;
    ar_affine output;
    float unit; /* converts a sum of squared differences to their mean */
    uint32_t input_dtype;
    uint32_t output_dtype;
    uint32_t count;
} ar_squares;

/* Returns the mean squared error between input and output. */
float ar_mse(const ar_squares *p, const void *input, const void *output);

/* Parameters of landmarks. `values` has channel 0 for y, 1 for x and 2 for the score. */
typedef struct {
    const uint32_t *powers; /* see ar_exponential; 0 if scores are not logits */
    ar_affine values;
    uint32_t dtype;
    uint16_t count;
    uint16_t step; /* values per point */
    uint8_t y;     /* index of y in a point */
    uint8_t x;
    uint8_t score; /* index of the score; 255 for none, then the score is 1 */
} ar_landmarks;

/* Writes x, y and score of each point to `found`, with 16 fractional bits. */
void ar_points(const ar_landmarks *p, const void *data, int32_t *found);

typedef struct {
    ar_layout pixel; /* fields are channels */
    uint32_t dtype;
    uint32_t count; /* pixels */
    int32_t least;  /* the smallest key of the only channel for class 1 */
    uint16_t first; /* the channels are `first` to `last` - 1 */
    uint16_t last;
    uint8_t given; /* whether the tensor holds classes; only their lowest byte is read */
} ar_segments;

/* Writes the class of each pixel: the channel with the largest value, counted from p->first. If there is only one
 * channel, the class is 1 where its value reaches p->least, otherwise 0; with p->given, it is the stored class. */
void ar_mask(const ar_segments *p, const void *data, uint8_t *found);

#endif
