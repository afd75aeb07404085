/* A cascade: the events of a small model wake a large one, whose events are those of the application. Both take the
 * same samples. app_cascade.h names the functions of the two models. */
#ifndef ARENITE_CASCADE_H
#define ARENITE_CASCADE_H

#include <stdint.h>

#include "app_cascade.h"

/* Takes up to `count` samples and returns how many it took: all, or fewer if a window of the small model is complete.
 * They must stay in memory until the call of cascade_window(). */
uint32_t cascade_feed(const int16_t *samples, uint32_t count);

/* Takes a complete window of the small model, which runs if `is_open`. If its events keep the large model awake, and a
 * window of that ends too, the large model runs. It writes the events of the large model, and returns their number. */
uint32_t cascade_window(uint32_t is_open, ar_event *events);

/* Returns whether the large model ran in the last window. */
uint32_t cascade_has_scores(void);

/* Forgets all samples, scores and states; the next sample has the index `position`. */
void cascade_restart(uint64_t position);

/* Appends how often each model ran and slept to the line that is being written. */
void cascade_print_runs(void);

#endif
