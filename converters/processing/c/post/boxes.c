/* Finds the boxes of a detector: decodes boxes with their anchors, and drops or averages boxes that overlap. */
#include "post.h"

/* 16 times the input's side, with 16 fractional bits. */
#define MAX_COORDINATE (16 << 16)

/* Returns `value`, limited to `low` and MAX_COORDINATE. */
static int32_t clamp(int64_t value, int32_t low)
{
    return (int32_t)(value < low ? low : value > MAX_COORDINATE ? MAX_COORDINATE : value);
}

/* Converts `middle`, a coordinate relative to an anchor, to an absolute coordinate. anchor[0] is the anchor's center on
 * this axis, anchor[2] its size. Without an anchor, returns `middle`. */
static int64_t placed(int64_t middle, const uint16_t *anchor)
{
    return anchor ? ((middle * anchor[2]) >> 15) + anchor[0] * 2 : middle;
}

/* Computes where a box starts and ends on one axis. `first` and `second` are the two corners on this axis if p->corners
 * is set, otherwise the center and the size. */
static void side(const ar_boxes *p, int32_t first, int32_t second, const uint16_t *anchor, int32_t *start,
                 int32_t *end)
{
    if (p->corners) {
        *start = clamp(first, -MAX_COORDINATE);
        *end = clamp(second, *start);
        return;
    }
    int64_t size = p->exponential ? ar_exponential(p->powers, second) : second;
    if (anchor) {
        size = (size * anchor[2]) >> 15;
    }
    const int32_t wide = clamp(size, 0);
    *start = clamp(placed(first, anchor), -MAX_COORDINATE) - (wide >> 1);
    *end = *start + wide;
}

/* Writes the coordinates of the row box->anchor to `box`, and x and y of its landmarks to `points`. */
static void decode(const ar_boxes *p, const void *boxes, ar_box *box, int32_t *points)
{
    const uint32_t at = p->box.first + box->anchor * p->box.step;
    const uint32_t x = p->x_first ? 0 : 1;
    const uint32_t field = p->box.field;
    const uint16_t *anchor_y = p->anchors ? p->anchors + 4 * box->anchor : 0;
    const uint16_t *anchor_x = anchor_y ? anchor_y + 1 : 0;
    const ar_affine *second = p->corners ? &p->centres : &p->sizes;
    side(p, ar_real(&p->centres, 0, boxes, p->boxes_dtype, at + (1 - x) * field),
         ar_real(second, 0, boxes, p->boxes_dtype, at + (3 - x) * field), anchor_y, &box->top, &box->bottom);
    side(p, ar_real(&p->centres, 1, boxes, p->boxes_dtype, at + x * field),
         ar_real(second, 1, boxes, p->boxes_dtype, at + (2 + x) * field), anchor_x, &box->left, &box->right);
    for (uint32_t k = 0; k < p->points; k++) {
        const uint32_t point = at + (p->point_first + k * p->point_values) * field;
        const int32_t across = ar_real(&p->centres, 1, boxes, p->boxes_dtype, point + x * field);
        const int32_t down = ar_real(&p->centres, 0, boxes, p->boxes_dtype, point + (1 - x) * field);
        points[2 * k] = clamp(placed(across, anchor_x), -MAX_COORDINATE);
        points[2 * k + 1] = clamp(placed(down, anchor_y), -MAX_COORDINATE);
    }
}

/* Returns whether two boxes overlap by more than p->iou. With p->by_class, boxes of different classes never
 * overlap. */
static int overlap(const ar_boxes *p, const ar_box *a, const ar_box *b)
{
    const int32_t bottom = a->bottom < b->bottom ? a->bottom : b->bottom;
    const int32_t right = a->right < b->right ? a->right : b->right;
    const int32_t height = bottom - (a->top > b->top ? a->top : b->top);
    const int32_t width = right - (a->left > b->left ? a->left : b->left);
    if ((p->by_class && a->index != b->index) || height <= 0 || width <= 0) {
        return 0;
    }
    const int64_t both = (int64_t)height * width;
    const int64_t all = (int64_t)(a->bottom - a->top) * (a->right - a->left) +
                        (int64_t)(b->bottom - b->top) * (b->right - b->left) - both;
    return (both >> 1) * (1 << 16) > (all >> 1) * p->iou;
}

/* Returns the key of objectness times score. The zero point is subtracted from integers before the product,
 * of which the lowest two bits are dropped so that it fits 32 bits. */
static int32_t times(const ar_boxes *p, int32_t object, int32_t score)
{
    if (p->scores_dtype == AR_POST_FLOAT32) {
        union {
            int32_t bits;
            float value;
        } a, b;
        a.bits = object < 0 ? INT32_MIN - (object + 1) : object;
        b.bits = score < 0 ? INT32_MIN - (score + 1) : score;
        a.value *= b.value;
        return ar_key(&a.value, AR_POST_FLOAT32, 0);
    }
    const int64_t one = object > p->object_zero ? object - p->object_zero : 0;
    const int64_t other = score > p->object_zero ? score - p->object_zero : 0;
    return (int32_t)(one * other >> 2);
}

/* Returns the integer nearest to a real number; 0 for negative numbers. */
static uint32_t rounded(int32_t real)
{
    const int64_t whole = ((int64_t)real + (1 << 15)) >> 16;
    return (uint32_t)(whole < 0 ? 0 : whole);
}

/* Returns the class that the model outputs for row `i`. */
static uint16_t label(const ar_boxes *p, const void *labels, uint32_t i)
{
    const int32_t whole =
        (ar_real(&p->numbers, 1, labels, p->labels_dtype, p->label.first + i * p->label.step) + (1 << 15)) >>
        16;
    return (uint16_t)(whole < 0 ? 0 : whole);
}

/* Inserts row `i` with class `index` into `found`, which holds the best boxes so far, at most p->candidates, sorted by
 * key. If keys are equal, the first row is kept. Returns the new number of boxes. */
static uint32_t insert(const ar_boxes *p, ar_box *found, uint32_t count, int32_t key, uint32_t i,
                       uint16_t index)
{
    if (key < p->least || (count == p->candidates && key <= found[count - 1].key)) {
        return count;
    }
    uint32_t at = count < p->candidates ? count++ : count - 1;
    for (; at > 0 && found[at - 1].key < key; at--) {
        found[at] = found[at - 1];
    }
    found[at].key = key;
    found[at].index = index;
    found[at].anchor = (uint16_t)i;
    return count;
}

/* Writes the objectness of `block` rows from row `start` to `objects`. Returns whether any of these rows reaches the
 * threshold. */
static int promising(const ar_boxes *p, const void *scores, uint32_t start, uint32_t block, int32_t *objects)
{
    int any = 0;
    ar_keys(scores, p->scores_dtype, p->object.first + start * p->object.step, p->object.step, block,
            objects);
    for (uint32_t i = 0; i < block; i++) {
        any |= objects[i] >= p->least_object;
    }
    return any;
}

/* Finds each row's best class, and writes the best rows to `found`, best first. Returns their number. */
static uint32_t candidates(const ar_boxes *p, const void *scores, const void *labels, uint32_t rows,
                           ar_box *found)
{
    uint32_t count = 0;
    /* If the scores of a row are adjacent in memory, rows are examined one by one, because most rows have a score that
     * is too small and need no further work. */
    const int singly = p->objectness && p->score.field == 1;
    for (uint32_t start = 0; start < rows; start += AR_POST_BLOCK) {
        int32_t keys[AR_POST_BLOCK];
        int32_t objects[AR_POST_BLOCK];
        uint32_t best[AR_POST_BLOCK];
        const uint32_t block = rows - start < AR_POST_BLOCK ? rows - start : AR_POST_BLOCK;
        if (p->objectness && !promising(p, scores, start, block, objects)) {
            continue;
        }
        if (!singly) {
            ar_best(scores, p->scores_dtype, &p->score, start, block, p->first_class, p->classes, keys, best);
        }
        for (uint32_t i = 0; i < block; i++) {
            if (p->objectness && objects[i] < p->least_object) {
                continue;
            }
            if (singly) {
                ar_best(scores, p->scores_dtype, &p->score, start + i, 1, p->first_class, p->classes,
                        &keys[i], &best[i]);
            }
            const int32_t key = p->objectness ? times(p, objects[i], keys[i]) : keys[i];
            if (key >= p->least) {
                const uint32_t index = p->labelled ? label(p, labels, start + i) : best[i];
                count = insert(p, found, count, key, start + i, (uint16_t)index);
            }
        }
    }
    return count;
}

static void copy(int32_t *to, const int32_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

/* Drops boxes that overlap a better box. Returns the number of boxes that are kept. */
static uint32_t drop(const ar_boxes *p, const void *boxes, ar_box *found, uint32_t count, int32_t *points)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count && kept < p->most; i++) {
        ar_box box = found[i];
        /* Row `kept` of the points is free, because at most as many boxes were kept as examined. */
        decode(p, boxes, &box, points + kept * 2 * p->points);
        uint32_t k = 0;
        while (k < kept && !overlap(p, &box, &found[k])) {
            k++;
        }
        if (k == kept) {
            found[kept++] = box;
        }
    }
    return kept;
}

/* Returns sum / total, rounded to nearest with ties upwards. */
static int32_t quotient(int64_t sum, int64_t total)
{
    const int64_t moved = sum + (total >> 1);
    return (int32_t)(moved >= 0 ? moved / total : -((-moved + total - 1) / total));
}

/* Returns the score of a key as a weight for the average. It is at least 1 unit, so that no sum of weights is 0. */
static int32_t weight(const ar_boxes *p, int32_t key)
{
    int32_t real = ar_real_of_key(&p->numbers, p->scores_dtype, key);
    real = p->logits ? ar_sigmoid(p->powers, real) : real;
    return real < 1 ? 1 : real > MAX_COORDINATE ? MAX_COORDINATE : real;
}

/* Replaces boxes that overlap by their average, weighted by their scores. Returns the number of remaining boxes. */
static uint32_t average(const ar_boxes *p, const void *boxes, ar_box *found, uint32_t count, int32_t *points)
{
    const uint32_t row = 2u * p->points;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        decode(p, boxes, &found[i], points + i * row);
    }
    for (; kept < count && kept < p->most; kept++) {
        const ar_box best = found[kept];
        int64_t sums[4 + 2 * AR_POST_MAX_POINTS] = {0};
        int64_t total = 0;
        uint32_t rest = kept + 1;
        for (uint32_t i = kept; i < count; i++) {
            const ar_box box = found[i];
            const int32_t *landmarks = points + i * row;
            if (i == kept || overlap(p, &box, &best)) {
                const int64_t share = weight(p, box.key);
                const int32_t edges[4] = {box.top, box.left, box.bottom, box.right};
                total += share;
                for (uint32_t k = 0; k < 4 + row; k++) {
                    sums[k] += share * (k < 4 ? edges[k] : landmarks[k - 4]);
                }
            } else {
                found[rest] = box;
                copy(points + rest * row, landmarks, row);
                rest++;
            }
        }
        found[kept].top = quotient(sums[0], total);
        found[kept].left = quotient(sums[1], total);
        found[kept].bottom = quotient(sums[2], total);
        found[kept].right = quotient(sums[3], total);
        for (uint32_t k = 0; k < row; k++) {
            points[kept * row + k] = quotient(sums[4 + k], total);
        }
        count = rest;
    }
    return kept;
}

uint32_t ar_detect(const ar_boxes *p, const void *boxes, const void *scores, const void *labels,
                   const void *count, ar_box *found, int32_t *points)
{
    uint32_t rows = p->count;
    if (count) {
        const uint32_t stated = rounded(ar_real(&p->numbers, 1, count, p->labels_dtype, 0));
        rows = stated < rows ? stated : rows;
    }
    const uint32_t found_count = candidates(p, scores, labels, rows, found);
    return p->average ? average(p, boxes, found, found_count, points)
                      : drop(p, boxes, found, found_count, points);
}
