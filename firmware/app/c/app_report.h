/* The lines of text that an application prints, besides events. */
#ifndef ARENITE_APP_REPORT_H
#define ARENITE_APP_REPORT_H

#include <stdint.h>

/* Prints that the sensor started, or its problem if that is not 0. */
void app_report_start(uint32_t problem);

/* Prints that `count` samples were lost. */
void app_report_lost(uint32_t count);

/* Checks whether samples arrive, and whether they change: `count` samples were read, at `samples`. */
void app_watch(const int16_t *samples, uint32_t count);

/* Sends and receives bytes, and answers the command "status". */
void app_serve(void);

#endif
