/* What a device tells the agent of its fleet: how long it runs, why it started, and the histograms of observations.h. A
 * client reads the histograms of a window of time, and then closes the window with its number and the inferences that it
 * has seen: an inference in between keeps the window open. A close that is repeated, because its answer was lost, changes
 * nothing.
 *
 * docs/fleet.md describes the requests. They belong to the group of device.h. */
#ifndef ARENITE_DEVICE_AGENT_H
#define ARENITE_DEVICE_AGENT_H

#include "observations.h"
#include "smp.h"

enum { AR_AGENT_GROUP = 64, AR_AGENT_STATE = 1, AR_AGENT_HISTOGRAM = 2, AR_AGENT_WINDOW = 3 };

/* Why the device started. */
enum {
    AR_CAUSE_UNKNOWN = 0,
    AR_CAUSE_POWER_ON = 1,
    AR_CAUSE_PIN = 2,
    AR_CAUSE_WATCHDOG = 3,
    AR_CAUSE_SOFTWARE = 4,
    AR_CAUSE_FAULT = 5
};

/* All members but `observations` belong to the library. */
typedef struct {
    ar_observations observations;
    uint32_t window; /* its number: 1 after a start */
    uint32_t cause, boot;
    uint32_t uptime_s, ticks, rest; /* `rest`: ticks that are less than a second */
} ar_agent;

/* `boot` is a number that another start of the device does not have, as far as possible. `ticks` is the counter of time. */
void ar_agent_start(ar_agent *agent, uint32_t cause, uint32_t boot, uint32_t ticks);

/* Counts the time. `ticks` is the counter, which wraps at 32 bits. Call it at least once in that time. */
void ar_agent_tick(ar_agent *agent, uint32_t ticks, uint32_t ticks_per_s);

/* Answers a request of AR_AGENT_GROUP, as the action `group` of smp.h does. */
int ar_agent_answer(ar_agent *agent, const ar_smp *smp, ar_cbor_writer *answer);

#endif
