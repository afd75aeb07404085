/* The memories of an ESP32 for update_main.c and update_glue.c: they have no boot loader of ours, and the model is data in
 * a partition. */
#ifndef ARENITE_ESP_MEMORIES_H
#define ARENITE_ESP_MEMORIES_H

#include "boot.h"
#include "model_data.h"

/* The model that runs. Without one, it has no layers, and its self-test fails. */
extern model_data memories_model;
#define model (*memories_model.model)
#define golden (*memories_model.golden)

/* Chooses firmware and model, starts the watchdog if they are on trial, and loads the model. Fills `memories` with what
 * ar_update_board needs. Returns 1, or 0 if the device takes no update: the partitions are others, the flash
 * memory does not work, or the chip does not start the firmware that the record names. */
int memories_start(ar_boot *memories);

/* Returns 1 if the program judges images on trial. */
int memories_are_on_trial(void);

/* Called before the images are confirmed. Returns 0, or 1 if they cannot be. */
int memories_confirm(void);

#endif
