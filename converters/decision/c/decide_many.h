/* Decisions about many hops in one call. Only the host's library contains this file. */
#ifndef ARENITE_DECIDE_MANY_H
#define ARENITE_DECIDE_MANY_H

#include "decision.h"

/* Takes `count` hops with p->classes scores each, calls ar_decide() for each hop, and returns the number of all events.
 * Hop k has the sample index `at[k]`; its scores are missing if has_scores[k] is 0. The first `room` events are written
 * to `events`; `scratch` has room for the events of one hop. */
uint32_t ar_decide_many(ar_decision *d, const int8_t *scores, const uint64_t *at, const uint8_t *has_scores,
                        uint32_t count, ar_event *scratch, ar_event *events, uint32_t room);

#endif
