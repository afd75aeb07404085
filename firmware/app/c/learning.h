/* The part of an application that learns what is normal, and classes that a user teaches. Every function returns at
 * once: the state goes to flash in small steps. */
#ifndef ARENITE_LEARNING_H
#define ARENITE_LEARNING_H

#include <stdint.h>

#include "arenite/decision.h"
#include "arenite/flash.h"

/* Loads the state from flash, and prints whether there was one. */
void learning_start(void);

/* Forgets the events that have started. */
void learning_restart(void);

/* Ends the events that have started, before a gap after sample `at`, and returns their number. */
uint32_t learning_end_events(uint64_t at, ar_event *events);

/* Takes the output of the last inference, of which `at` is the last sample. `input` is the input of an autoencoder
 * before its inference, otherwise 0. Writes the events that start or end, at most APP_LEARNING_EVENTS, and returns
 * their number. */
uint32_t learning_window(const int8_t *input, uint64_t at, ar_event *events);

/* Answers the commands teach, forget, freeze, learn, reset, learned and save. Returns 0 for another command. */
uint32_t learning_command(const char *command);

/* Does a small part of a save. */
void learning_serve(void);

/* Appends the score of the last window and the largest normal score, or the distance to the nearest class if
 * `is_class` is not 0, to the line that is being written. */
void learning_print_score(uint32_t is_class);

/* Returns the score of the last window in percent of the threshold for index 0, and 100 for the nearest class. */
uint32_t learning_percent(uint32_t index);

/* Returns the name that a user gave to class `index`, or "". */
const char *learning_name(uint32_t index);

/* The flash memory for the state. The board's file defines it. Returns 0 if there is none. */
uint32_t learning_flash(ar_flash *flash);

#endif
