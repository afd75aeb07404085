/* Landmarks: the points that a network reports, in coordinates of the picture. */
#include "post.h"

void ar_points(const ar_landmarks *p, const void *data, int32_t *found)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t at = i * p->step;
        int32_t score = 1 << 16;
        if (p->score < p->step) {
            score = ar_real(&p->values, 2, data, p->dtype, at + p->score);
            score = p->powers ? ar_sigmoid(p->powers, score) : score;
        }
        found[3 * i] = ar_real(&p->values, 1, data, p->dtype, at + p->x);
        found[3 * i + 1] = ar_real(&p->values, 0, data, p->dtype, at + p->y);
        found[3 * i + 2] = score;
    }
}
