/* Turns the scores of a classifier into events. */
#include "decision.h"

enum { AR_LOWEST_SCORE = -128, AR_SMOOTHED_ONE = 1 << 15 };

static void smooth(ar_decision *d, const int8_t *scores)
{
    const ar_decision_plan *p = d->plan;
    int8_t *oldest = p->factor == 0 ? d->history + (uint32_t)p->classes * d->next : 0;
    for (uint32_t c = 0; c < p->classes; c++) {
        const int8_t score = scores != 0 ? (int8_t)((uint8_t)scores[c] ^ p->flip) : (int8_t)AR_LOWEST_SCORE;
        if (oldest != 0) {
            d->smoothed[c] += score - oldest[c];
            oldest[c] = score;
        } else {
            const int64_t step = (int64_t)(score * AR_SMOOTHED_ONE - d->smoothed[c]) * p->factor;
            d->smoothed[c] += (int32_t)((step + AR_SMOOTHED_ONE / 2) >> 15);
        }
    }
    if (oldest != 0) {
        d->next = d->next + 1u == p->hops ? 0 : d->next + 1u;
    }
}

/* Rounds the smoothed score of class `c` to a stored score. */
static int8_t score_of(const ar_decision *d, uint32_t c)
{
    const uint32_t one = d->plan->factor == 0 ? d->plan->hops : (uint32_t)AR_SMOOTHED_ONE;
    const uint32_t above_lowest = (uint32_t)(d->smoothed[c] - AR_LOWEST_SCORE * (int32_t)one);
    return (int8_t)((int32_t)((above_lowest + one / 2) / one) + AR_LOWEST_SCORE);
}

static uint32_t write_event(const ar_decision *d, uint32_t c, uint64_t at, uint8_t kind, ar_event *event)
{
    event->at = at;
    event->index = (uint16_t)c;
    event->score = score_of(d, c);
    event->kind = kind;
    return 1;
}

/* Counts a hop of class `c`, which has no event, and returns whether the hops are enough for an event. */
static uint32_t is_ready(ar_decision *d, uint32_t c)
{
    const uint16_t minimum = d->plan->minimum;
    if (d->smoothed[c] < d->plan->on[c]) {
        d->heard[c] = 0;
    } else if (d->heard[c] < minimum) {
        d->heard[c]++;
    }
    return d->heard[c] == minimum;
}

/* Starts an event of class `c` unless the refractory time in `quiet_until` has not passed. */
static uint32_t start(ar_decision *d, uint32_t c, uint64_t at, uint64_t *quiet_until, ar_event *event)
{
    if (at < *quiet_until) {
        return 0;
    }
    d->heard[c] = AR_DECISION_ACTIVE;
    *quiet_until = at + d->plan->refractory;
    return write_event(d, c, at, AR_EVENT_START, event);
}

uint32_t ar_decide(ar_decision *d, const int8_t *scores, uint64_t at, ar_event *events)
{
    const ar_decision_plan *p = d->plan;
    uint32_t count = 0;
    uint32_t best = p->classes; /* the ready class with the highest smoothed score */
    uint32_t is_active = 0;
    smooth(d, scores);
    for (uint32_t c = 0; c < p->classes; c++) {
        if (d->heard[c] == AR_DECISION_ACTIVE) {
            if (d->smoothed[c] < p->off[c]) {
                d->heard[c] = 0;
                count += write_event(d, c, at, AR_EVENT_END, events + count);
            } else {
                is_active = 1;
            }
        } else if (is_ready(d, c)) {
            if (p->exclusive == 0) {
                count += start(d, c, at, d->quiet_until + c, events + count);
            } else if (best == p->classes || d->smoothed[c] > d->smoothed[best]) {
                best = c;
            }
        }
    }
    if (best < p->classes && is_active == 0) {
        count += start(d, best, at, d->quiet_until, events + count);
    }
    return count;
}

uint32_t ar_decision_end(ar_decision *d, uint64_t at, ar_event *events)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < d->plan->classes; c++) {
        if (d->heard[c] == AR_DECISION_ACTIVE) {
            d->heard[c] = 0;
            count += write_event(d, c, at, AR_EVENT_END, events + count);
        }
    }
    return count;
}

uint32_t ar_decision_active(const ar_decision *d)
{
    for (uint32_t c = 0; c < d->plan->classes; c++) {
        if (d->heard[c] == AR_DECISION_ACTIVE) {
            return 1;
        }
    }
    return 0;
}

void ar_decision_reset(ar_decision *d)
{
    const ar_decision_plan *p = d->plan;
    const int32_t one = p->factor == 0 ? p->hops : AR_SMOOTHED_ONE;
    d->next = 0;
    for (uint32_t c = 0; c < p->classes; c++) {
        d->smoothed[c] = AR_LOWEST_SCORE * one;
        d->heard[c] = 0;
        if (c == 0 || p->exclusive == 0) {
            d->quiet_until[c] = 0;
        }
    }
    if (p->factor == 0) {
        for (uint32_t k = 0; k < (uint32_t)p->hops * p->classes; k++) {
            d->history[k] = AR_LOWEST_SCORE;
        }
    }
}
