/* The frames that an application sends after the command "binary"; docs/protocol.md describes them. */
#ifndef ARENITE_APP_STREAM_H
#define ARENITE_APP_STREAM_H

#include "app_model.h"

/* Answers the commands "binary", "binary samples", "binary hold" and "text". Returns 0 for another command. */
uint32_t app_stream_command(const char *command);

/* Sends what is due: the description of the application, and its health once per second. */
void app_stream_serve(void);

/* Sends `count` samples of each of `channels` channels, interleaved; `at` is the index of the first one. If the port has
 * no room for them and for an event, they are dropped. */
void app_stream_samples(uint64_t at, const int16_t *samples, uint32_t count, uint32_t channels);

/* Returns whether a frame with `bytes` bytes of samples or pixels may be sent now. If the port has no room for it and for
 * an event, the frame counts as dropped. */
uint32_t app_stream_may_send(uint32_t bytes);

/* Sends that `count` samples from index `at` on were lost. Returns 0 if the application sends lines of text. */
uint32_t app_stream_lost(uint64_t at, uint32_t count);

/* Sends the scores of the window whose last sample has the index `at`, and the `ticks` that it took. */
void app_stream_scores(uint64_t at, uint32_t ticks);

/* Sends the events of a window, or those that end before a gap. */
void app_stream_events(const ar_event *events, uint32_t count);

/* Returns whether the samples must wait, because the command "binary hold" was sent, and the port has no room or the
 * description was not sent yet. The virtual sensor of an emulated board then stops its time. */
uint32_t app_stream_holds(void);

/* Returns whether the command "binary hold" was sent, so that no sample may be dropped. */
uint32_t app_stream_keeps_all(void);

/* Each kind of application defines these functions. app_period() returns the ticks from one window, or inference, to the
 * next. app_put_health() appends the data of the message HEALTH to the frame that is being written. */
uint64_t app_period(void);
void app_put_health(void);

#endif
