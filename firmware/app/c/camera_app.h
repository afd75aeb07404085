/* An application: camera, model, decision. Call app_start() once. Then repeat: app_next_event() until it returns 0, and
 * app_sleep(). Time is counted in frames, so that a computer can repeat every decision. */
#ifndef ARENITE_CAMERA_APP_H
#define ARENITE_CAMERA_APP_H

#include <stdint.h>

#include "app_model.h"

/* The message HEALTH begins with these counts up to `silent`, in this order (app_put_health, docs/protocol.md). */
typedef struct {
    uint64_t frames;     /* frames of which a row arrived, or that are missing */
    uint64_t busy;       /* ticks from decision to decision, without sleep, of all frames */
    uint32_t worst_busy; /* the most */
    uint32_t inferences; /* frames that the model has answered */
    uint32_t late;       /* answers that came after the last row of the next frame to be answered */
    uint32_t lost;       /* frames that the model did not answer because rows were lost, and missing frames */
    uint32_t stuck;      /* times that the picture did not change */
    uint32_t silent;     /* times that no rows arrived */
    uint32_t missing;    /* frames of which no row arrived */
    uint64_t latency;    /* ticks from the last row that the model needs to the decision, of all frames */
    uint32_t worst_latency; /* the longest one */
} camera_counts;

extern camera_counts app_state;

/* Starts the camera, and prints whether that worked. */
void app_start(void);

/* Takes the rows that have arrived. Returns 1 and an event, or 0 if there is none yet. The event's `at` is the number of
 * the frame. */
uint32_t app_next_event(ar_event *event);

/* Prints an event as a line of text. */
void app_print(const ar_event *event);

/* Sleeps until there may be more rows. */
void app_sleep(void);

#endif
