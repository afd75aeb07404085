/* The lines of text that an application with a camera prints, besides events. */
#ifndef ARENITE_CAMERA_REPORT_H
#define ARENITE_CAMERA_REPORT_H

#include <stdint.h>

/* Whether the scores of each frame are printed; the command "scores" changes it. */
extern uint32_t app_shows_scores;

/* Prints that the camera started, or its problem if that is not 0. */
void app_report_start(uint32_t problem);

/* Prints that a frame was dropped, whose row `row` is the first one that is lost. */
void app_report_dropped(uint32_t frame, uint32_t row);

/* Prints that `count` frames before `frame` are missing. */
void app_report_missing(uint32_t frame, uint32_t count);

/* Checks that pictures change: `sum` is a checksum of a frame. */
void app_watch_picture(uint32_t sum);

/* Checks that rows arrive. */
void app_watch_rows(uint32_t has_arrived);

/* Prints the scores of a frame, if app_shows_scores is not 0, or sends them as a message. The frame took `ticks`. */
void app_report_scores(uint32_t frame, uint32_t ticks);

/* Prints all counts, as the command "status" does. */
void app_report_counts(void);

/* Sends and receives bytes, and answers commands. */
void app_serve(void);

#endif
