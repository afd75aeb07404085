/* Updates of an application: its model proves itself after each start, and the serial port takes new images. */
#ifndef ARENITE_APP_UPDATE_H
#define ARENITE_APP_UPDATE_H

#include <stdint.h>

/* Reads the state of updates, runs the self-test and reports it. If the images are on trial, begins to confirm them, or
 * rejects them and resets the device. The self-test overwrites the memory of the model. */
void app_update_start(void);

/* Does a small part of the work for updates, and feeds the watchdog. Call it in each round of the loop. */
void app_update_serve(void);

/* Answers the command `update`. Returns 0 for another one. */
uint32_t app_update_command(const char *command);

#endif
