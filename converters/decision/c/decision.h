/* Turn the scores of a classifier into events. A hop is one inference; each hop gives one int8 score per class. All
 * arithmetic is in integers, on the stored scores. Before the first hop, every class had the lowest score, -128. */
#ifndef ARENITE_DECISION_H
#define ARENITE_DECISION_H

#include <stdint.h>

typedef struct {
    const int32_t
        *on; /* per class: the smallest smoothed score that can start an event; INT32_MAX for never */
    const int32_t *off;  /* per class: an event ends at a smoothed score below this */
    uint32_t refractory; /* samples after the start of an event in which no further event starts */
    uint16_t classes;
    uint16_t hops; /* the smoothed score is the sum of the scores of this many hops */
    uint16_t
        factor; /* weight of the newest score, 15 fractional bits, in an exponential average; 0 for a sum */
    uint16_t minimum;  /* consecutive hops that must reach `on`, 1 to 32,767 */
    uint8_t exclusive; /* whether only one class can have an event at a time */
    uint8_t flip;      /* 0x80 for uint8 scores: the score is then 128 less than the stored number */
} ar_decision_plan;

/* Memory that the caller provides; call ar_decision_reset() before the first hop. */
typedef struct {
    const ar_decision_plan *plan;
    int32_t *smoothed; /* [classes]: sums, or exponential averages with 15 fractional bits */
    uint16_t *heard;   /* [classes]: consecutive hops that reached `on`; AR_DECISION_ACTIVE during an event */
    uint64_t *quiet_until; /* [classes], or [1] if exclusive: no event starts before this sample */
    int8_t *history;       /* [hops][classes], the last scores; 0 for an exponential average */
    uint32_t next;         /* row of `history` that the next hop replaces */
} ar_decision;

enum { AR_DECISION_ACTIVE = 0xFFFF };
enum { AR_EVENT_START = 0, AR_EVENT_END = 1 };

typedef struct {
    uint64_t at;    /* index of the last sample that the decision depends on */
    uint16_t index; /* class */
    int8_t score;   /* smoothed score, rounded to the scale of the output */
    uint8_t kind;   /* AR_EVENT_START or AR_EVENT_END */
} ar_event;

/* Forgets all scores and events. */
void ar_decision_reset(ar_decision *d);

/* Takes the scores of one hop and returns the number of events that it starts or ends. `at` is the index of the last
 * sample of the hop. `events` has room for 2 events if d->plan->exclusive, otherwise for one per class; they are
 * sorted by class, except that an exclusive event starts last. If no scores were computed because a gate was closed,
 * pass 0 for `scores`: then every class has the lowest score. Pass the address of uint8 scores as it is. */
uint32_t ar_decide(ar_decision *d, const int8_t *scores, uint64_t at, ar_event *events);

/* Ends all events without scores, because samples are missing, and returns their number. `at` is the index of the last
 * sample before the gap. `events` has room for 1 event if d->plan->exclusive, otherwise for one per class. Call
 * ar_decision_reset() after it. */
uint32_t ar_decision_end(ar_decision *d, uint64_t at, ar_event *events);

/* Returns whether an event has started and not ended. */
uint32_t ar_decision_active(const ar_decision *d);

#endif
