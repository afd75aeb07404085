/* An application: sensor, features, model, decision. Call app_start() once. Then repeat: app_next_event() until it
 * returns 0, and app_sleep(). Time is counted in samples, so that a computer can repeat every decision. */
#ifndef ARENITE_APP_H
#define ARENITE_APP_H

#include <stdint.h>

#include "app_model.h"

/* The message HEALTH begins with these counts up to `silent`, in this order (app_put_health, docs/protocol.md). */
typedef struct {
    uint64_t samples; /* index of the next sample; lost ones count */
    uint64_t busy;    /* ticks of all windows but the first ones, without sleep */
    uint32_t worst;   /* ticks of the slowest of these windows, without sleep */
    uint32_t windows; /* inferences, and windows that a gate left out */
    uint32_t late;    /* windows that ended only after all samples of the next window had arrived */
    uint32_t lost;    /* samples that the sensor or its driver lost */
    uint32_t stuck;   /* times that the samples did not change for a second */
    uint32_t silent;  /* times that no samples arrived for a second */
    uint32_t gated;   /* windows in which the gate was closed, so that the model did not run */
    uint32_t
        starts; /* first windows: after the start and after each gap, all samples of a window arrive before it */
    uint32_t first; /* ticks of the slowest first window, without sleep */
} app_counts;

extern app_counts app_state;

/* Starts the sensor, and prints whether that worked. */
void app_start(void);

/* Takes the samples that have arrived. Returns 1 and an event, or 0 if there is none yet. */
uint32_t app_next_event(ar_event *event);

/* Prints an event as a line of text. */
void app_print(const ar_event *event);

/* Sleeps until there may be more samples. */
void app_sleep(void);

#endif
