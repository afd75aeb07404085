#include "post.h"

#define MOST (16 << 16)
#define LOG2E 387270501 /* 28 fractional bits */

/* e^value, value cut to [-10, 10]. */
static int32_t exponential(const uint32_t *powers, int32_t value)
{
    const int32_t most = 10 << 16;
    const int32_t cut = value < -most ? -most : value > most ? most : value;
    const int32_t power = (int32_t)(((int64_t)cut * LOG2E) >> 28);
    const uint32_t step = (uint32_t)power >> 9 & 127u;
    const uint64_t rise = (uint64_t)(powers[step + 1] - powers[step]) * ((uint32_t)power & 511u) >> 9;
    return (int32_t)((powers[step] + rise) >> (14 - (power >> 16)));
}

static int32_t clamp(int64_t value, int32_t low)
{
    return (int32_t)(value < low ? low : value > MOST ? MOST : value);
}

/* One side of a box: where it starts and ends. */
static void side(const ar_boxes *p, int64_t middle, int32_t raw, const uint16_t *anchor, int32_t *start,
                 int32_t *end)
{
    int64_t size = p->powers ? exponential(p->powers, raw) : raw;
    if (anchor) {
        middle = ((middle * anchor[2]) >> 15) + anchor[0] * 2;
        size = (size * anchor[2]) >> 15;
    }
    const int32_t wide = clamp(size, 0);
    *start = clamp(middle, -MOST) - (wide >> 1);
    *end = *start + wide;
}

static void decode(const ar_boxes *p, const void *boxes, uint32_t i, ar_box *box)
{
    const uint32_t at = i * p->stride;
    const uint32_t x = p->x_first ? 0 : 1;
    const uint16_t *anchor = p->anchors ? p->anchors + 4 * i : 0;
    const int32_t middle_y = ar_real(&p->centres, boxes, p->boxes_dtype, at + 1 - x);
    const int32_t middle_x = ar_real(&p->centres, boxes, p->boxes_dtype, at + x);
    const int32_t height = ar_real(&p->sizes, boxes, p->boxes_dtype, at + 3 - x);
    const int32_t width = ar_real(&p->sizes, boxes, p->boxes_dtype, at + 2 + x);
    side(p, middle_y, height, anchor, &box->top, &box->bottom);
    side(p, middle_x, width, anchor ? anchor + 1 : 0, &box->left, &box->right);
}

static int overlap(const ar_boxes *p, const ar_box *a, const ar_box *b)
{
    const int32_t bottom = a->bottom < b->bottom ? a->bottom : b->bottom;
    const int32_t right = a->right < b->right ? a->right : b->right;
    const int32_t height = bottom - (a->top > b->top ? a->top : b->top);
    const int32_t width = right - (a->left > b->left ? a->left : b->left);
    if (height <= 0 || width <= 0) {
        return 0;
    }
    const int64_t both = (int64_t)height * width;
    const int64_t all = (int64_t)(a->bottom - a->top) * (a->right - a->left) +
                        (int64_t)(b->bottom - b->top) * (b->right - b->left) - both;
    return (both >> 1) * (1 << 16) > (all >> 1) * p->iou;
}

/* Each anchor's best class among the best candidates, sorted; how many there are. */
static uint32_t candidates(const ar_boxes *p, const void *scores, ar_box *found)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t best = p->first_class;
        int32_t key = ar_key(scores, p->scores_dtype, i * p->classes + best);
        for (uint32_t c = best + 1; c < p->classes; c++) {
            const int32_t other = ar_key(scores, p->scores_dtype, i * p->classes + c);
            if (other > key) {
                key = other;
                best = c;
            }
        }
        if (key < p->least || (count == p->candidates && key <= found[count - 1].key)) {
            continue;
        }
        uint32_t at = count < p->candidates ? count++ : count - 1;
        for (; at > 0 && found[at - 1].key < key; at--) {
            found[at] = found[at - 1];
        }
        found[at].key = key;
        found[at].index = (uint16_t)best;
        found[at].anchor = (uint16_t)i;
    }
    return count;
}

uint32_t ar_detect(const ar_boxes *p, const void *boxes, const void *scores, ar_box *found)
{
    const uint32_t count = candidates(p, scores, found);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count && kept < p->most; i++) {
        ar_box box = found[i];
        decode(p, boxes, box.anchor, &box);
        uint32_t k = 0;
        while (k < kept && ((p->by_class && found[k].index != box.index) || !overlap(p, &box, &found[k]))) {
            k++;
        }
        if (k == kept) {
            found[kept++] = box;
        }
    }
    return kept;
}
